import { BACKSLASH } from '../rules/json-bytes.ts'
import { decodeJsonString } from './json-string.ts'
import { KeptBytes } from './kept-bytes.ts'

/** What the top-level `model` holds; offsets in bytes from the start of the text, `end` exclusive, quotes included. */
export type ModelValue =
  | { readonly kind: 'string'; readonly start: number; readonly end: number; readonly value: string }
  | { readonly kind: 'null'; readonly start: number; readonly end: number }
  | { readonly kind: 'other'; readonly start: number }

/** What the top-level `chat_template_kwargs` holds; offsets as in `ModelValue`. */
export type KwargsValue =
  | {
      readonly kind: 'object'
      readonly start: number
      readonly end: number
      readonly hasKeys: boolean
      /** It has `enable_thinking` among its own keys, whatever the value. */
      readonly hasThinking: boolean
    }
  | { readonly kind: 'null'; readonly start: number; readonly end: number }
  | { readonly kind: 'other' }

/** A longer key is none of those that matter, not even written entirely in escapes. */
const MAX_KEY_BYTES = 128
/** Longest model name that is looked at. */
export const MAX_MODEL_BYTES = 4096

interface KnownKey {
  readonly name: string
  readonly bytes: Buffer
}
const knownKey = (name: string): KnownKey => ({ name, bytes: Buffer.from(name) })
const MODEL = knownKey('model')
const STREAM = knownKey('stream')
const STREAM_OPTIONS = knownKey('stream_options')
const KWARGS = knownKey('chat_template_kwargs')
const THINKING = knownKey('enable_thinking')
/** Shortest first. */
const TOP_KEYS = [MODEL, STREAM, STREAM_OPTIONS, KWARGS] as const
const KWARGS_KEYS = [THINKING] as const

/**
 * What a JSON text says at its top level about the keys the gateway knows; the last of duplicate keys counts, as in
 * JSON.parse. The scanner tells it of keys and values at depth 1, and of the keys of `chat_template_kwargs`. `piece` is the part of the text at hand, `from` and
 * `to` are indexes into it; `at`, `start` and `end` count from the start of the text.
 */
export class TopLevelFacts {
  /** Of the last `model` whose value is complete (`other`: begun); undefined = none so far. */
  model: ModelValue | undefined
  /** Start of a `model` string that has begun and not ended yet. */
  openModelAt: number | undefined
  /** Every `model` string that ended within the latest piece of the text. */
  closed: Extract<ModelValue, { kind: 'string' }>[] = []
  /** Of the last `chat_template_kwargs` whose value is complete (`other`: begun); undefined = none so far. */
  kwargs: KwargsValue | undefined
  /** A `chat_template_kwargs` object has begun and not ended yet. */
  looksInside = false
  /** The last `stream` was `true`. */
  stream = false
  hasStreamOptions = false
  /** Where the text's value begins; undefined = nothing but white space came yet. */
  rootAt: number | undefined
  /** Offset just behind the opening `{`; undefined = the text is no object (or nothing came yet). */
  objectAt: number | undefined
  hasKeys = false
  #key: KnownKey | undefined
  #insideAt = 0
  #insideHasKeys = false
  #insideHasThinking = false
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
    this.#key = this.#readKey(TOP_KEYS, piece, to)
    if (this.#key === STREAM_OPTIONS) this.hasStreamOptions = true
  }

  /** A key of the object that `looksInside` is about; as `endKey`. */
  endInnerKey(piece: Uint8Array, to: number): void {
    this.#insideHasKeys = true
    if (this.#readKey(KWARGS_KEYS, piece, to) === THINKING) this.#insideHasThinking = true
  }

  beginString(at: number, from: number): void {
    this.#notStream()
    if (this.#key === KWARGS) this.kwargs = { kind: 'other' }
    if (this.#key !== MODEL) return
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
    if (this.#key === MODEL) this.model = { kind: 'other', start: at }
    else if (this.#key === KWARGS) this.kwargs = { kind: 'other' }
  }

  /** The value at `at`, told to `beginOther` already, is an object. */
  beginObject(at: number): void {
    if (this.#key !== KWARGS) return
    this.looksInside = true
    this.#insideAt = at
    this.#insideHasKeys = false
    this.#insideHasThinking = false
  }

  /** A list or an object that is a value of the top level ends. */
  endContainer(end: number): void {
    if (!this.looksInside) return
    this.looksInside = false
    const [hasKeys, hasThinking] = [this.#insideHasKeys, this.#insideHasThinking]
    this.kwargs = { kind: 'object', start: this.#insideAt, end, hasKeys, hasThinking }
  }

  endWord(word: string, start: number, end: number): void {
    if (this.#key === STREAM) this.stream = word === 'true'
    if (word !== 'null') return
    if (this.#key === MODEL) this.model = { kind: 'null', start, end }
    else if (this.#key === KWARGS) this.kwargs = { kind: 'null', start, end }
  }

  #notStream(): void {
    if (this.#key === STREAM) this.stream = false
  }
  /** Which of these does the key that ends before `to` spell, escapes resolved? `keys`: shortest first. */
  #readKey(keys: readonly [KnownKey, ...KnownKey[]], piece: Uint8Array, to: number): KnownKey | undefined {
    // Nearly every key is told apart by its length: looking closer is what costs.
    const length = this.#keyBytes.lengthUpTo(to)
    if (length < keys[0].bytes.length || length > MAX_KEY_BYTES) {
      this.#keyBytes.drop()
      return undefined
    }
    const bytes = this.#keyBytes.end(piece, to)
    if (bytes === undefined) return undefined
    // Only a key with escapes has to be decoded.
    const written = bytes.includes(BACKSLASH) ? decodeJsonString(bytes) : undefined
    for (const key of keys) {
      if (written === undefined ? key.bytes.equals(bytes) : key.name === written) return key
    }
    return undefined
  }
}
