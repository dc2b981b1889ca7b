import {
  BACKSLASH,
  COLON,
  COMMA,
  decodeJsonString,
  isDigit,
  isHex,
  isSimpleEscape,
  isSpace,
  LBRACE,
  LBRACKET,
  literalOf,
  MINUS,
  PLAIN_IN_STRING,
  QUOTE,
  RBRACE,
  RBRACKET,
  ZERO,
} from './json-bytes.ts'
import { isNumberEnd, NUM_INT, NUM_SIGN, NUM_ZERO, nextNumberState } from './json-number.ts'

/** Where the text stops being JSON, in bytes from its start, and what should have stood there. */
export interface ScanFault {
  readonly offset: number
  readonly expected: string
}

/** What the top-level `model` holds; offsets in bytes from the start of the text, `end` exclusive, quotes included. */
export type ModelValue =
  | { readonly kind: 'string'; readonly start: number; readonly end: number; readonly value: string }
  | { readonly kind: 'null'; readonly start: number; readonly end: number }
  | { readonly kind: 'other'; readonly start: number }

/** Deeper nesting is refused: no request of any client comes near, and engines parse recursively. */
export const MAX_DEPTH = 512
/** A top-level key longer than `model` or `stream` can be, written entirely in escapes, need not be kept. */
const MAX_KEY_BYTES = 64
/** Longest model name that is looked at. */
export const MAX_MODEL_BYTES = 4096

const [VALUE, ITEM_OR_END, KEY_OR_END, KEY, AFTER_KEY, AFTER, STRING, ESCAPE, HEX, WORD] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
]

/**
 * Reads JSON in pieces, in one pass, without recursion and without building it: is it well-formed, and what do the top-level
 * `model` and `stream` say? The last of duplicate keys counts, as in JSON.parse. Invalid UTF-8 inside strings is the engine's to
 * judge, except in the model's name. Source: SPEC 11 "Bodies".
 */
export class JsonScanner {
  /** Of the last top-level `model` whose value is complete (`other`: begun); undefined = none so far. */
  model: ModelValue | undefined
  /** Start of a top-level `model` string that has begun and not ended yet. */
  openModelAt: number | undefined
  /** Every top-level `model` string that ended within the latest `push`. */
  closed: Extract<ModelValue, { kind: 'string' }>[] = []
  /** The last top-level `stream` was `true`. */
  stream = false
  /** Offset just behind the top-level `{`; undefined = the text is no object (or nothing came yet). */
  objectAt: number | undefined
  /** The top-level object has at least one key. */
  hasKeys = false

  #state = VALUE
  #depth = 0
  readonly #isObject = new Uint8Array(MAX_DEPTH + 1)
  #base = 0
  #inKey = false
  #key: string | undefined
  #kept: number[] | undefined
  #hexLeft = 0
  #word = 'true'
  #wordAt = 0
  #valueAt = 0

  /** Takes the next bytes. After a fault the scanner is spent. */
  push(bytes: Uint8Array): ScanFault | undefined {
    this.closed = []
    const length = bytes.length
    for (let i = 0; i < length; i++) {
      if (this.#state === STRING) {
        const from = i
        while (i < length && PLAIN_IN_STRING[bytes[i] ?? 0] === 1) i++
        if (this.#kept !== undefined) this.#keep(bytes.subarray(from, i))
        if (i === length) break
      }
      const expected = this.#step(bytes[i] ?? 0, this.#base + i)
      if (expected !== undefined) return { offset: this.#base + i, expected }
    }
    this.#base += length
    return undefined
  }

  /** The text is over: is it complete? */
  end(): ScanFault | undefined {
    const state = this.#state
    const complete = this.#depth === 0 && (state === AFTER || isNumberEnd(state))
    if (complete) return undefined
    const inString = state === STRING || state === ESCAPE || state === HEX
    return { offset: this.#base, expected: inString ? 'the end of a string' : 'more: the text ends too early' }
  }

  /** One byte; the answer is what was expected instead of it. */
  #step(byte: number, at: number): string | undefined {
    switch (this.#state) {
      case VALUE:
        return isSpace(byte) ? undefined : this.#beginValue(byte, at)
      case ITEM_OR_END:
        if (byte === RBRACKET) return this.#close()
        return isSpace(byte) ? undefined : this.#beginValue(byte, at)
      case KEY_OR_END:
      case KEY:
        if (isSpace(byte)) return undefined
        if (byte === RBRACE && this.#state === KEY_OR_END) return this.#close()
        if (byte !== QUOTE) return this.#state === KEY ? 'a key in double quotes' : "a key in double quotes or '}'"
        this.#inKey = true
        this.#kept = this.#depth === 1 ? [] : undefined
        this.#state = STRING
        return undefined
      case AFTER_KEY:
        if (isSpace(byte)) return undefined
        if (byte !== COLON) return "':' after a key"
        this.#state = VALUE
        return undefined
      case AFTER:
        return isSpace(byte) ? undefined : this.#afterValue(byte)
      case STRING:
        if (byte === QUOTE) return this.#endString(at)
        if (byte !== BACKSLASH) return 'an escape such as \\n instead of a bare control character'
        this.#keepByte(byte)
        this.#state = ESCAPE
        return undefined
      case ESCAPE:
        this.#keepByte(byte)
        this.#hexLeft = 4
        this.#state = byte === 0x75 ? HEX : STRING
        return byte === 0x75 || isSimpleEscape(byte) ? undefined : 'one of " \\ / b f n r t u after a backslash'
      case HEX:
        this.#keepByte(byte)
        if (--this.#hexLeft === 0) this.#state = STRING
        return isHex(byte) ? undefined : 'four hexadecimal digits after \\u'
      case WORD:
        if (byte !== this.#word.charCodeAt(this.#wordAt++)) return `the word ${this.#word}`
        if (this.#wordAt === this.#word.length) this.#endWord(at + 1)
        return undefined
      default:
        return this.#number(byte)
    }
  }

  #beginValue(byte: number, at: number): string | undefined {
    this.#valueAt = at
    const topModel = this.#depth === 1 && this.#key === 'model'
    if (byte === QUOTE) {
      this.#inKey = false
      this.#kept = topModel ? [] : undefined
      if (topModel) this.openModelAt = at
      this.#state = STRING
      return undefined
    }
    const word = literalOf(byte)
    if (topModel && word !== 'null') this.model = { kind: 'other', start: at }
    if (this.#depth === 1 && this.#key === 'stream') this.stream = false
    if (byte === LBRACE || byte === LBRACKET) {
      if (this.#depth === MAX_DEPTH) return `at most ${MAX_DEPTH} levels of nesting`
      this.#isObject[++this.#depth] = byte === LBRACE ? 1 : 0
      if (this.#depth === 1 && byte === LBRACE) this.objectAt = at + 1
      this.#state = byte === LBRACE ? KEY_OR_END : ITEM_OR_END
    } else if (word !== undefined) {
      this.#word = word
      this.#wordAt = 1
      this.#state = WORD
    } else if (byte === MINUS) this.#state = NUM_SIGN
    else if (byte === ZERO) this.#state = NUM_ZERO
    else if (isDigit(byte)) this.#state = NUM_INT
    else return 'a value'
    return undefined
  }

  #endString(at: number): string | undefined {
    const kept = this.#kept
    this.#kept = undefined
    this.#state = this.#inKey ? AFTER_KEY : AFTER
    if (this.#inKey) {
      if (this.#depth !== 1) return undefined
      this.hasKeys = true
      this.#key = kept === undefined || kept.length > MAX_KEY_BYTES ? undefined : decodeJsonString(kept)
      return undefined
    }
    if (this.openModelAt === undefined) {
      if (this.#depth === 1 && this.#key === 'stream') this.stream = false
      return undefined
    }
    const value = kept === undefined || kept.length > MAX_MODEL_BYTES ? undefined : decodeJsonString(kept)
    if (value === undefined) return `a model name of at most ${MAX_MODEL_BYTES} bytes of valid UTF-8`
    const found = { kind: 'string', start: this.openModelAt, end: at + 1, value } as const
    this.openModelAt = undefined
    this.model = found
    this.closed.push(found)
    return undefined
  }

  #endWord(end: number): void {
    this.#state = AFTER
    if (this.#depth !== 1) return
    if (this.#key === 'stream') this.stream = this.#word === 'true'
    if (this.#key === 'model' && this.#word === 'null') this.model = { kind: 'null', start: this.#valueAt, end }
  }

  #afterValue(byte: number): string | undefined {
    if (this.#depth === 0) return 'nothing after the end of the JSON value'
    const inObject = this.#isObject[this.#depth] === 1
    if (byte === COMMA) {
      this.#state = inObject ? KEY : VALUE
      return undefined
    }
    if (byte === (inObject ? RBRACE : RBRACKET)) return this.#close()
    return inObject ? "',' or '}'" : "',' or ']'"
  }

  #close(): undefined {
    this.#depth--
    this.#state = AFTER
  }

  #number(byte: number): string | undefined {
    const next = nextNumberState(this.#state, byte)
    if (next !== undefined) {
      this.#state = next
      return undefined
    }
    if (!isNumberEnd(this.#state)) return 'a digit'
    this.#state = AFTER
    return isSpace(byte) ? undefined : this.#afterValue(byte)
  }

  #keep(bytes: Uint8Array): void {
    // One byte past the limit is enough to know that it was passed.
    for (const byte of bytes.subarray(0, MAX_MODEL_BYTES + 1)) this.#keepByte(byte)
  }

  #keepByte(byte: number): void {
    if (this.#kept !== undefined && this.#kept.length <= MAX_MODEL_BYTES) this.#kept.push(byte)
  }
}
