import { fieldOf, parseJson } from '../../kernel/read-json.ts'
/** What an engine has said so far. */
export interface SaidSoFar {
  /** The answer; for a model that only thought, its thoughts. */
  readonly text: string
  /** The engine's own error within an answer that began well; undefined = none. */
  readonly error: string | undefined
  /** The end came: of the answer, not only of the connection. Text that is no answer of this kind at all is complete too. */
  readonly isComplete: boolean
  /** The head of what came, when none of it could be read as an answer. */
  readonly unread: string
}

/** Of an answer that cannot be read, so much is kept to be shown. */
const KEPT_CHARS = 512

/**
 * Reads an OpenAI-shaped completion or chat completion, piece by piece: events of a stream, or one JSON document (an engine that does not
 * stream). Unknown events are passed over.
 */
export class SanityAnswer {
  #content = ''
  #reasoning = ''
  #error: string | undefined
  #isRead = false
  #isDone = false
  /** An unfinished line of a stream, or the document so far. */
  #rest = ''
  #head = ''
  #isDocument: boolean | undefined

  get said(): SaidSoFar {
    return {
      text: this.#content.trim() === '' ? this.#reasoning : this.#content,
      error: this.#error,
      isComplete: this.#isDone || !this.#isRead,
      unread: this.#isRead ? '' : this.#head,
    }
  }

  push(piece: string): void {
    if (this.#head.length < KEPT_CHARS) this.#head += piece.slice(0, KEPT_CHARS - this.#head.length)
    this.#rest += piece
    this.#isDocument ??= this.#rest.trim() === '' ? undefined : this.#rest.trimStart().startsWith('{')
    if (this.#isDocument === true) return
    const lines = this.#rest.split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#readLine(line)
  }

  /** Nothing more comes. */
  end(): void {
    if (this.#isDocument === true) {
      this.#readJson(this.#rest)
      this.#isDone = true
    } else this.#readLine(this.#rest)
    this.#rest = ''
  }

  #readLine(line: string): void {
    const data = /^data: ?(.*)/s.exec(line)?.[1]?.trim()
    if (data === undefined || data === '') return
    if (data === '[DONE]') {
      this.#isDone = true
      this.#isRead = true
    } else this.#readJson(data)
  }

  #readJson(text: string): void {
    const json = parseJson(text)
    const error = fieldOf(json, 'error')
    if (error !== undefined && error !== null) {
      const message = typeof error === 'string' ? error : fieldOf(error, 'message')
      this.#error ??= typeof message === 'string' ? message : 'an error without words'
      this.#isRead = true
    }
    const choices = fieldOf(json, 'choices')
    if (!Array.isArray(choices)) return
    this.#isRead = true
    const choice: unknown = choices[0]
    const finish = fieldOf(choice, 'finish_reason')
    if (typeof finish === 'string' && finish !== '') this.#isDone = true
    for (const part of [choice, fieldOf(choice, 'delta'), fieldOf(choice, 'message')]) {
      this.#content += textOf(part, 'text') + textOf(part, 'content')
      // Two names for one thing; nobody sends both.
      this.#reasoning += textOf(part, 'reasoning_content') || textOf(part, 'reasoning')
    }
  }
}

function textOf(part: unknown, key: string): string {
  const value = fieldOf(part, key)
  return typeof value === 'string' ? value : ''
}
