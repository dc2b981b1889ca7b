import { BACKSLASH, decodeJsonString } from './json-bytes.ts'
import { KeptBytes } from './kept-bytes.ts'

/** What the top-level `model` holds; offsets in bytes from the start of the text, `end` exclusive, quotes included. */
export type ModelValue =
  | { readonly kind: 'string'; readonly start: number; readonly end: number; readonly value: string }
  | { readonly kind: 'null'; readonly start: number; readonly end: number }
  | { readonly kind: 'other'; readonly start: number }

/** A longer key is neither `model` nor `stream`, not even written entirely in escapes. */
const MAX_KEY_BYTES = 64
/** Longest model name that is looked at. */
const MAX_MODEL_BYTES = 4096

type KnownKey = 'model' | 'stream'
const MODEL_BYTES = Buffer.from('model')
const STREAM_BYTES = Buffer.from('stream')

/**
 * What a JSON text says at its top level about `model` and `stream`; the last of duplicate keys counts, as in JSON.parse.
 * The scanner tells it of keys and values at depth 1, and of nothing deeper. `piece` is the part of the text at hand, `from` and
 * `to` are indexes into it; `at`, `start` and `end` count from the start of the text.
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
  /** Where the text's value begins; undefined = nothing but white space came yet. */
  rootAt: number | undefined
  /** Offset just behind the opening `{`; undefined = the text is no object (or nothing came yet). */
  objectAt: number | undefined
  hasKeys = false
  #key: KnownKey | undefined
  readonly #keyBytes = new KeptBytes(MAX_KEY_BYTES)
  readonly #modelBytes = new KeptBytes(MAX_MODEL_BYTES)

  /** Another piece of the text begins. */
  beginPiece(): void {
    if (this.closed.length > 0) this.closed = []
  }

  /** The piece is over; a string may go on in the next one. */
  endPiece(piece: Uint8Array): void {
    this.#keyBytes.carryOver(piece)
    this.#modelBytes.carryOver(piece)
  }

  /** `from` is behind the opening quote. */
  beginKey(from: number): void {
    this.#keyBytes.begin(from)
  }

  /** `to` is the closing quote. */
  endKey(piece: Uint8Array, to: number): void {
    this.hasKeys = true
    // Nearly every key is told apart by its length: looking closer is what costs.
    const length = this.#keyBytes.lengthUpTo(to)
    if (length < MODEL_BYTES.length || length > MAX_KEY_BYTES) {
      this.#key = undefined
      this.#keyBytes.drop()
    } else this.#key = keyOf(this.#keyBytes.end(piece, to))
  }

  beginString(at: number, from: number): void {
    this.#notStream()
    if (this.#key !== 'model') return
    this.openModelAt = at
    this.#modelBytes.begin(from)
  }

  /** `to` is the closing quote, `end` behind it. The answer is what was expected instead. */
  endString(piece: Uint8Array, to: number, end: number): string | undefined {
    if (this.openModelAt === undefined) return undefined
    const kept = this.#modelBytes.end(piece, to)
    const value = kept === undefined ? undefined : decodeJsonString(kept)
    if (value === undefined) return `a model name of at most ${MAX_MODEL_BYTES} bytes of valid UTF-8`
    const found = { kind: 'string', start: this.openModelAt, end, value } as const
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

  #notStream(): void {
    if (this.#key === 'stream') this.stream = false
  }
}

/** Only a key with escapes has to be decoded. */
function keyOf(bytes: Uint8Array | undefined): KnownKey | undefined {
  if (bytes === undefined) return undefined
  if (bytes.includes(BACKSLASH)) {
    const key = decodeJsonString(bytes)
    return key === 'model' || key === 'stream' ? key : undefined
  }
  if (bytes.length === MODEL_BYTES.length) return MODEL_BYTES.equals(bytes) ? 'model' : undefined
  return STREAM_BYTES.equals(bytes) ? 'stream' : undefined
}
