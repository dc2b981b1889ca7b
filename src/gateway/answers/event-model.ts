import type { ApiDialect } from '../../contract/api-dialect.ts'
import { decodeJsonString, encodeJsonString } from '../json/json-string.ts'
import { findValue } from '../rules/find-value.ts'
import { asciiBytes, BACKSLASH, type ByteRange, QUOTE, standsAt } from '../rules/json-bytes.ts'
import { NOTHING } from './answer-filter.ts'

const MODEL = asciiBytes('model')
const TYPE = asciiBytes('type')
const MESSAGE = asciiBytes('message')
const RESPONSE = asciiBytes('response')
const MESSAGE_START = asciiBytes('"message_start"')
/** Types of the events that end a response, as JSON. */
export const RESPONSE_ENDS: readonly Uint8Array[] = ['completed', 'incomplete', 'failed'].map((word) =>
  asciiBytes(`"response.${word}"`),
)
const MAX_HEAD_BYTES = 1024

/** What stands in every event that has a model in this dialect: lines without it are not looked at. */
const NEEDLES: Readonly<Record<ApiDialect, Buffer>> = {
  openai: Buffer.from('"model"'),
  responses: Buffer.from('"response"'),
  anthropic: Buffer.from('"message_start"'),
}

/**
 * Where the events of a stream name their model: at the top level (`openai`), in `response` (`responses`; llama-server only in the last one), or in
 * `message` of the first event (`anthropic`). Source: SPEC 11 "`model` in an answer is the name that was asked for".
 */
export class EventModel {
  /** The asked name as JSON. */
  readonly name: Buffer
  /** No later event has to be looked at: the engine uses the asked name itself, or names its model once. */
  isSettled = false
  /** An event passed that ends the answer (`responses` only). */
  isDone = false
  /** The first event, its data line up to 1 KiB (`anthropic` only). */
  head: Buffer = NOTHING
  readonly #dialect: ApiDialect
  readonly #askedName: string
  readonly #needle: Buffer

  constructor(dialect: ApiDialect, askedName: string) {
    this.#dialect = dialect
    this.#askedName = askedName
    this.#needle = NEEDLES[dialect]
    this.name = encodeJsonString(askedName)
  }

  /** Could there be a name to replace in these lines? One byte search. */
  mayBeIn(lines: Buffer): boolean {
    return !this.isSettled && lines.includes(this.#needle)
  }

  /** The name that has to be replaced in the data of one event: `lines` from `from`, behind `data:`, to before `end`. Undefined = none. */
  find(lines: Buffer, from: number, end: number): ByteRange | undefined {
    if (this.isSettled) return undefined
    switch (this.#dialect) {
      case 'openai': {
        const range = nameAt(lines, findValue(lines, from, end, MODEL))
        if (range === undefined || !this.#isAsked(lines, range)) return range
        this.isSettled = true
        return undefined
      }
      case 'anthropic': {
        const type = findValue(lines, from, end, TYPE)
        if (type === undefined || !standsAt(lines, type.start, MESSAGE_START)) return undefined
        this.isSettled = true
        const lineAt = from - 'data:'.length
        // A copy: the stream may be long, and what it came in is larger.
        this.head = Buffer.from(lines.subarray(lineAt, Math.min(end, lineAt + MAX_HEAD_BYTES)))
        return this.#inside(lines, findValue(lines, from, end, MESSAGE))
      }
      case 'responses': {
        const holder = findValue(lines, from, end, RESPONSE)
        if (holder === undefined) return undefined
        const type = findValue(lines, from, end, TYPE)
        if (type !== undefined && RESPONSE_ENDS.some((ending) => standsAt(lines, type.start, ending)))
          this.isDone = true
        return this.#inside(lines, holder)
      }
    }
  }

  /** An event of this name was passed unread. */
  noteUnread(eventName: string): void {
    const json = Buffer.from(`"${eventName}"`)
    if (this.#dialect === 'responses' && RESPONSE_ENDS.some((ending) => json.equals(ending))) this.isDone = true
  }

  #inside(lines: Buffer, holder: ByteRange | undefined): ByteRange | undefined {
    if (holder === undefined) return undefined
    const range = nameAt(lines, findValue(lines, holder.start, holder.end, MODEL))
    return range === undefined || this.#isAsked(lines, range) ? undefined : range
  }

  #isAsked(lines: Buffer, range: ByteRange): boolean {
    return isJsonName(lines, range, this.name, this.#askedName)
  }
}

/** The range, if a JSON string stands there. */
function nameAt(bytes: Buffer, range: ByteRange | undefined): ByteRange | undefined {
  return range !== undefined && bytes[range.start] === QUOTE ? range : undefined
}

/** Is the JSON string at this range this name? `json`: the name as hal0 writes it; others may escape more. */
function isJsonName(bytes: Buffer, { start, end }: ByteRange, json: Buffer, name: string): boolean {
  if (end - start === json.length && standsAt(bytes, start, json)) return true
  const inner = bytes.subarray(start + 1, end - 1)
  return inner.includes(BACKSLASH) && decodeJsonString(inner) === name
}
