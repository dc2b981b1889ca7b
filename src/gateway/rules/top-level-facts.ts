import { decodeJsonString, PLAIN_IN_STRING } from './json-bytes.ts'

/** What the top-level `model` holds; offsets in bytes from the start of the text, `end` exclusive, quotes included. */
export type ModelValue =
  | { readonly kind: 'string'; readonly start: number; readonly end: number; readonly value: string }
  | { readonly kind: 'null'; readonly start: number; readonly end: number }
  | { readonly kind: 'other'; readonly start: number }

/** A longer key is neither `model` nor `stream`, not even written entirely in escapes. */
const MAX_KEY_BYTES = 64
/** Longest model name that is looked at. */
const MAX_MODEL_BYTES = 4096

/**
 * What a JSON text says at its top level about `model` and `stream`; the last of duplicate keys counts, as in JSON.parse.
 * The scanner tells it of keys and values at depth 1, and of nothing deeper.
 */
export class TopLevelFacts {
  /** Of the last `model` whose value is complete (`other`: begun); undefined = none so far. */
  model: ModelValue | undefined
  /** Start of a `model` string that has begun and not ended yet. */
  openModelAt: number | undefined
  /** Every `model` string that ended within the latest piece of the text. */
  closed: Extract<ModelValue, { kind: 'string' }>[] = []
  /** The last `stream` was `true`. */
  stream = false
  /** Offset just behind the opening `{`; undefined = the text is no object (or nothing came yet). */
  objectAt: number | undefined
  hasKeys = false
  #key: string | undefined
  /** Bytes between the quotes of the string at hand, when it matters. */
  #kept: number[] | undefined

  /** Must the bytes of the string at hand be kept? */
  get isKeeping(): boolean {
    return this.#kept !== undefined
  }

  beginKey(): void {
    this.#kept = []
  }

  endKey(): void {
    const kept = this.#kept ?? []
    this.#kept = undefined
    this.hasKeys = true
    this.#key = kept.length > MAX_KEY_BYTES ? undefined : decodeJsonString(kept)
  }

  beginString(at: number): void {
    this.#notStream()
    if (this.#key !== 'model') return
    this.openModelAt = at
    this.#kept = []
  }

  /** `end` is behind the closing quote. The answer is what was expected instead. */
  endString(end: number): string | undefined {
    if (this.openModelAt === undefined) return undefined
    const kept = this.#kept ?? []
    const value = kept.length > MAX_MODEL_BYTES ? undefined : decodeJsonString(kept)
    if (value === undefined) return `a model name of at most ${MAX_MODEL_BYTES} bytes of valid UTF-8`
    const found = { kind: 'string', start: this.openModelAt, end, value } as const
    this.#kept = undefined
    this.openModelAt = undefined
    this.model = found
    this.closed.push(found)
    return undefined
  }

  /** A number, list, object, true, false or null begins. */
  beginOther(at: number): void {
    this.#notStream()
    if (this.#key === 'model') this.model = { kind: 'other', start: at }
  }

  endWord(word: string, start: number, end: number): void {
    if (this.#key === 'stream') this.stream = word === 'true'
    if (this.#key === 'model' && word === 'null') this.model = { kind: 'null', start, end }
  }

  /** Keeps a run of plain bytes; the answer is where it ends. */
  keepText(bytes: Uint8Array, from: number): number {
    let at = from
    while (at < bytes.length && PLAIN_IN_STRING[bytes[at] ?? 0] === 1) this.keepByte(bytes[at++] ?? 0)
    return at
  }

  keepByte(byte: number): void {
    // One byte past the limit is enough to know that it was passed.
    if (this.#kept !== undefined && this.#kept.length <= MAX_MODEL_BYTES) this.#kept.push(byte)
  }

  #notStream(): void {
    if (this.#key === 'stream') this.stream = false
  }
}
