import {
  BACKSLASH,
  COLON,
  COMMA,
  isSpace,
  LBRACE,
  LBRACKET,
  LF,
  QUOTE,
  RBRACE,
  RBRACKET,
  standsAt,
} from './json-bytes.ts'

/** A key and its value, met on the way back. Indexes into the text. */
export interface BackField {
  /** 1 = a key of the object itself, 2 = of a list or object in it, and so on. */
  readonly depth: number
  readonly keyStart: number
  readonly keyEnd: number
  readonly valueStart: number
  /** White space may stand before it. */
  readonly valueEnd: number
}

/** How the way back ended: at the object's opening brace, at the start of a text that is cut off there, or at something that is no JSON. */
export type BackEnd = { readonly kind: 'whole'; readonly start: number } | { readonly kind: 'cut' | 'broken' }

const CUT: BackEnd = { kind: 'cut' }
const BROKEN: BackEnd = { kind: 'broken' }

/** Letters and signs of numbers, `true`, `false` and `null`. */
const OF_SCALARS: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  '+-.0123456789Eaeflnrstu'.includes(String.fromCharCode(byte)) ? 1 : 0,
)

/**
 * Reads a JSON object from its end: only from there can be known what is a key and what is the model's text, when the beginning is not at hand.
 * `end` is just behind its closing brace. `visit` hears of each key, the last one first, those within a value before the key of the value.
 * Source: SPEC 11 "Usage from the engine's own `usage`/`timings`".
 */
export function scanBack(text: Uint8Array, end: number, visit: (field: BackField) => void): BackEnd {
  /** Where the value at hand ends, by depth. */
  const valueEnds: number[] = []
  let depth = 0
  let at = end - 1
  while (at >= 0) {
    const byte = text[at] ?? 0
    if (byte === QUOTE) {
      at = startOfString(text, at) - 1
      if (at < 0) return CUT
    } else if (byte === RBRACE || byte === RBRACKET) {
      depth++
      valueEnds[depth] = at
      at--
    } else if (byte === LBRACE || byte === LBRACKET) {
      depth--
      if (depth === 0) return byte === LBRACE ? { kind: 'whole', start: at } : BROKEN
      at--
    } else if (byte === COMMA) {
      valueEnds[depth] = at
      at--
    } else if (byte === COLON) {
      const valueStart = at + 1
      at--
      while (at >= 0 && isSpace(text[at])) at--
      if (at < 0) return CUT
      if (text[at] !== QUOTE) return BROKEN
      const keyEnd = at
      const keyStart = startOfString(text, at) + 1
      if (keyStart === 0) return CUT
      visit({ depth, keyStart, keyEnd, valueStart, valueEnd: valueEnds[depth] ?? end })
      at = keyStart - 2
    } else if (OF_SCALARS[byte] === 1 || isSpace(byte)) at--
    else return BROKEN
  }
  return CUT
}

/** Is this the key? */
export function isKey(text: Uint8Array, { keyStart, keyEnd }: BackField, key: Uint8Array): boolean {
  return keyEnd - keyStart === key.length && standsAt(text, keyStart, key)
}

/**
 * Reads the objects in the last bytes of a JSON body or an event stream, the last one first: each that ends a line. `visit` as for `scanBack`; `ended` hears
 * how each one ended, which its `visit`s precede; true = seen enough. Nothing before an object that is cut off is read: it is inside that object.
 */
export function eachObjectBack(
  text: Uint8Array,
  visit: (field: BackField) => void,
  ended: (way: BackEnd) => boolean,
): void {
  let at = text.length
  while (at > 0) {
    while (at > 0 && isSpace(text[at - 1])) at--
    if (at === 0) return
    if (text[at - 1] === RBRACE) {
      const way = scanBack(text, at, visit)
      if (ended(way) || way.kind === 'cut') return
      if (way.kind === 'whole') at = way.start
      if (at === 0) return
    }
    at = text.lastIndexOf(LF, at - 1)
  }
}

/** The opening quote of the string that is closed at `closeAt`; −1 = it is cut off. */
function startOfString(text: Uint8Array, closeAt: number): number {
  // A negative index would count from the end.
  let at = closeAt === 0 ? -1 : text.lastIndexOf(QUOTE, closeAt - 1)
  while (at > 0) {
    let slashes = 0
    while (at - 1 - slashes >= 0 && text[at - 1 - slashes] === BACKSLASH) slashes++
    // What stands before the text would decide whether the first backslash is itself escaped.
    if (at - slashes === 0) return -1
    if (slashes % 2 === 0) return at
    at = text.lastIndexOf(QUOTE, at - 1)
  }
  // No string begins a text that is an object: at 0 the quote's own backslash may be cut off.
  return -1
}
