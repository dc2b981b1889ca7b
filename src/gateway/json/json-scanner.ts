import {
  BACKSLASH,
  COLON,
  COMMA,
  isDigit,
  isHex,
  isSpace,
  LBRACE,
  LBRACKET,
  literalOf,
  MINUS,
  QUOTE,
  RBRACE,
  RBRACKET,
  SIMPLE_ESCAPE,
  ZERO,
} from '../rules/json-bytes.ts'
import { isNumberEnd, NUM_INT, NUM_SIGN, NUM_ZERO, nextNumberState } from './json-number.ts'
import { plainEnd } from './text-run.ts'
import { TopLevelFacts } from './top-level-facts.ts'

/** Where the text stops being JSON, in bytes from its start, and what should have stood there. */
export interface ScanFault {
  readonly offset: number
  readonly expected: string
}

/** Deeper nesting is refused: no request of any client comes near, and engines parse recursively. */
export const MAX_DEPTH = 512

const EMPTY = new Uint8Array(0)

const [VALUE, ITEM_OR_END, KEY_OR_END, KEY, AFTER_KEY, AFTER, STRING, ESCAPE, HEX, WORD] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
]

/**
 * Reads JSON in pieces, in one pass, without recursion and without building it: is it well-formed, and what does its top level
 * say? Invalid UTF-8 inside strings is the engine's to judge, except in the model's name. Source: SPEC 11 "Bodies".
 */
export class JsonScanner {
  readonly facts = new TopLevelFacts()
  #state = VALUE
  #depth = 0
  /** One bit per level, 1 = an object. So small an array lies on V8's own heap, which is what makes a scanner cheap. */
  readonly #isObject = new Uint8Array((MAX_DEPTH + 8) >> 3)
  #piece: Uint8Array = EMPTY
  /** Bytes of the pieces before this one. */
  #base = 0
  #inKey = false
  #hexLeft = 0
  #word = 'true'
  #wordAt = 0
  #valueAt = 0

  /** Takes the next bytes. After a fault the scanner is spent. */
  push(bytes: Uint8Array): ScanFault | undefined {
    this.facts.beginPiece()
    this.#piece = bytes
    const length = bytes.length
    for (let i = 0; i < length; i++) {
      // Most of a body is text and digits: those runs are passed here, all else goes through `#step`.
      if (this.#state === STRING) i = endOfText(bytes, i)
      else if (this.#state === NUM_INT) while (i < length && isDigit(bytes[i] ?? 0)) i++
      if (i >= length) break
      const expected = this.#step(bytes[i] ?? 0, this.#base + i)
      if (expected !== undefined) return { offset: this.#base + i, expected }
    }
    this.facts.endPiece(bytes)
    this.#base += length
    return undefined
  }

  /** The text is over: is it complete? */
  end(): ScanFault | undefined {
    const state = this.#state
    if (this.#depth === 0 && (state === AFTER || isNumberEnd(state))) return undefined
    const inString = state === STRING || state === ESCAPE || state === HEX
    return { offset: this.#base, expected: inString ? 'the end of a string' : 'more: the text ends too early' }
  }

  /** One byte; the answer is what was expected instead of it. */
  #step(byte: number, at: number): string | undefined {
    switch (this.#state) {
      case VALUE:
        return isSpace(byte) ? undefined : this.#beginValue(byte, at)
      case ITEM_OR_END:
        if (byte === RBRACKET) return this.#close(at + 1)
        return isSpace(byte) ? undefined : this.#beginValue(byte, at)
      case KEY_OR_END:
      case KEY:
        if (isSpace(byte)) return undefined
        if (byte === RBRACE && this.#state === KEY_OR_END) return this.#close(at + 1)
        if (byte !== QUOTE) return this.#state === KEY ? 'a key in double quotes' : "a key in double quotes or '}'"
        this.#inKey = true
        if (this.#mattersKey()) this.facts.beginKey(at + 1 - this.#base)
        this.#state = STRING
        return undefined
      case AFTER_KEY:
        if (isSpace(byte)) return undefined
        if (byte !== COLON) return "':' after a key"
        this.#state = VALUE
        return undefined
      case AFTER:
        return isSpace(byte) ? undefined : this.#afterValue(byte, at)
      case STRING:
        if (byte === QUOTE) return this.#endString(at + 1)
        if (byte !== BACKSLASH) return 'an escape such as \\n instead of a bare control character'
        this.#state = ESCAPE
        return undefined
      case ESCAPE:
        this.#hexLeft = 4
        this.#state = byte === 0x75 ? HEX : STRING
        return byte === 0x75 || SIMPLE_ESCAPE[byte] === 1 ? undefined : 'one of " \\ / b f n r t u after a backslash'
      case HEX:
        if (--this.#hexLeft === 0) this.#state = STRING
        return isHex(byte) ? undefined : 'four hexadecimal digits after \\u'
      case WORD:
        if (byte !== this.#word.charCodeAt(this.#wordAt++)) return `the word ${this.#word}`
        if (this.#wordAt < this.#word.length) return undefined
        this.#state = AFTER
        if (this.#depth === 1) this.facts.endWord(this.#word, this.#valueAt, at + 1)
        return undefined
      default:
        return this.#number(byte, at)
    }
  }

  #beginValue(byte: number, at: number): string | undefined {
    this.#valueAt = at
    if (byte === QUOTE) {
      this.#inKey = false
      if (this.#depth === 0) this.facts.rootAt = at
      else if (this.#depth === 1) this.facts.beginString(at, at + 1 - this.#base)
      this.#state = STRING
      return undefined
    }
    if (this.#depth === 0) this.facts.rootAt = at
    else if (this.#depth === 1) this.facts.beginOther(at)
    const word = literalOf(byte)
    if (byte === LBRACE || byte === LBRACKET) {
      if (this.#depth === MAX_DEPTH) return `at most ${MAX_DEPTH} levels of nesting`
      this.#open(byte === LBRACE)
      if (byte === LBRACE) {
        if (this.#depth === 1) this.facts.objectAt = at + 1
        else if (this.#depth === 2) this.facts.beginObject(at)
      }
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

  #endString(end: number): string | undefined {
    this.#state = this.#inKey ? AFTER_KEY : AFTER
    const to = end - 1 - this.#base
    if (!this.#inKey) return this.#depth === 1 ? this.facts.endString(this.#piece, to, end) : undefined
    if (this.#depth === 1) this.facts.endKey(this.#piece, to)
    else if (this.#mattersKey()) this.facts.endInnerKey(this.#piece, to)
    return undefined
  }

  /** Keys of the text itself matter, and those of the one object in it that the facts look into. */
  #mattersKey(): boolean {
    return this.#depth === 1 || (this.#depth === 2 && this.facts.looksInside)
  }

  #afterValue(byte: number, at: number): string | undefined {
    if (this.#depth === 0) return 'nothing after the end of the JSON value'
    const inObject = ((this.#isObject[this.#depth >> 3] ?? 0) & (1 << (this.#depth & 7))) !== 0
    if (byte === COMMA) {
      this.#state = inObject ? KEY : VALUE
      return undefined
    }
    if (byte === (inObject ? RBRACE : RBRACKET)) return this.#close(at + 1)
    return inObject ? "',' or '}'" : "',' or ']'"
  }

  #open(isObject: boolean): void {
    const level = ++this.#depth
    const bit = 1 << (level & 7)
    const others = (this.#isObject[level >> 3] ?? 0) & ~bit
    this.#isObject[level >> 3] = isObject ? others | bit : others
  }

  /** `end` is behind the bracket. */
  #close(end: number): undefined {
    if (this.#depth-- === 2) this.facts.endContainer(end)
    this.#state = AFTER
  }

  #number(byte: number, at: number): string | undefined {
    const next = nextNumberState(this.#state, byte)
    if (next !== undefined) {
      this.#state = next
      return undefined
    }
    if (!isNumberEnd(this.#state)) return 'a digit'
    this.#state = AFTER
    return isSpace(byte) ? undefined : this.#afterValue(byte, at)
  }
}

/** Where the plain bytes and simple escapes of a string end: at a quote, at something rarer, or with the bytes. */
function endOfText(bytes: Uint8Array, from: number): number {
  let at = from
  for (;;) {
    at = plainEnd(bytes, at)
    if (bytes[at] !== BACKSLASH || SIMPLE_ESCAPE[bytes[at + 1] ?? 0] !== 1) return at
    at += 2
  }
}
