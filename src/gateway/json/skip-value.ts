import {
  BACKSLASH,
  COLON,
  COMMA,
  DOT,
  isDigit,
  isHex,
  isSpace,
  LBRACE,
  LBRACKET,
  MINUS,
  PLUS,
  QUOTE,
  RBRACE,
  RBRACKET,
  SIMPLE_ESCAPE,
  ZERO,
} from '../rules/json-bytes.ts'
import { MAX_DEPTH } from './json-scanner.ts'
import { plainEnd } from './text-run.ts'

/** What these functions answer for what is no JSON, or ends too early. Where and why is the scanner's to say. */
export const NO_JSON = -1

/** Per level, whether it is an object; scratch of one call of `nestedEnd`. */
const isObjectAt = new Uint8Array(MAX_DEPTH + 1)

/** Index of the first byte at or behind `from` that is no white space. */
export function spaceEnd(bytes: Uint8Array, from: number): number {
  let at = from
  for (;;) {
    const byte = bytes[at]
    if (!isSpace(byte)) return at
    at++
  }
}

/** Index behind the closing quote of the string whose text begins at `from`; NO_JSON if it is none. Source: RFC 8259 section 7. */
export function stringEnd(bytes: Uint8Array, from: number): number {
  let at = from
  for (;;) {
    at = plainEnd(bytes, at)
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    if (byte !== BACKSLASH) return NO_JSON
    const escaped = bytes[at + 1] ?? 0
    if (SIMPLE_ESCAPE[escaped] === 1) at += 2
    else if (escaped === 0x75 && isHexAt(bytes, at + 2)) at += 6
    else return NO_JSON
  }
}

function isHexAt(bytes: Uint8Array, at: number): boolean {
  return isHex(bytes[at] ?? 0) && isHex(bytes[at + 1] ?? 0) && isHex(bytes[at + 2] ?? 0) && isHex(bytes[at + 3] ?? 0)
}

/** Index behind the value of the top level that begins at `from`; NO_JSON if it is none, or too deep. */
export function valueEnd(bytes: Uint8Array, from: number): number {
  const byte = bytes[from] ?? 0
  if (byte === QUOTE) return stringEnd(bytes, from + 1)
  if (byte === LBRACE || byte === LBRACKET) return nestedEnd(bytes, from)
  return scalarEnd(bytes, from)
}

/** The same for a list or an object, without recursion. */
function nestedEnd(bytes: Uint8Array, from: number): number {
  let depth = 2
  let isObject = bytes[from] === LBRACE
  isObjectAt[depth] = isObject ? 1 : 0
  let isFresh = true
  let at = from + 1
  for (;;) {
    at = spaceEnd(bytes, at)
    let byte = bytes[at] ?? 0
    if (!isFresh || byte !== (isObject ? RBRACE : RBRACKET)) {
      if (isObject) {
        at = keyEnd(bytes, at)
        if (at === NO_JSON) return NO_JSON
        byte = bytes[at] ?? 0
      }
      if (byte === LBRACE || byte === LBRACKET) {
        if (depth === MAX_DEPTH) return NO_JSON
        isObject = byte === LBRACE
        isObjectAt[++depth] = isObject ? 1 : 0
        isFresh = true
        at++
        continue
      }
      at = byte === QUOTE ? stringEnd(bytes, at + 1) : scalarEnd(bytes, at)
      if (at === NO_JSON) return NO_JSON
    }
    for (;;) {
      at = spaceEnd(bytes, at)
      byte = bytes[at] ?? 0
      if (byte === COMMA) break
      if (byte !== (isObject ? RBRACE : RBRACKET)) return NO_JSON
      at++
      if (--depth === 1) return at
      isObject = isObjectAt[depth] === 1
    }
    isFresh = false
    at++
  }
}

/** From a key to the value behind its colon. */
function keyEnd(bytes: Uint8Array, from: number): number {
  if (bytes[from] !== QUOTE) return NO_JSON
  const end = stringEnd(bytes, from + 1)
  if (end === NO_JSON) return NO_JSON
  const colon = spaceEnd(bytes, end)
  return bytes[colon] === COLON ? spaceEnd(bytes, colon + 1) : NO_JSON
}

/** Index behind a number, `true`, `false` or `null`. */
function scalarEnd(bytes: Uint8Array, from: number): number {
  const byte = bytes[from] ?? 0
  if (byte === 0x74) return wordEnd(bytes, from, 'true')
  if (byte === 0x66) return wordEnd(bytes, from, 'false')
  if (byte === 0x6e) return wordEnd(bytes, from, 'null')
  return numberEnd(bytes, from)
}

function wordEnd(bytes: Uint8Array, from: number, word: string): number {
  for (let i = 1; i < word.length; i++) {
    if (bytes[from + i] !== word.charCodeAt(i)) return NO_JSON
  }
  return from + word.length
}

/** Source: RFC 8259 section 6. */
function numberEnd(bytes: Uint8Array, from: number): number {
  let at = bytes[from] === MINUS ? from + 1 : from
  if (bytes[at] === ZERO) at++
  else at = digitsEnd(bytes, at)
  if (at !== NO_JSON && bytes[at] === DOT) at = digitsEnd(bytes, at + 1)
  if (at === NO_JSON) return NO_JSON
  const exponent = bytes[at]
  if (exponent !== 0x65 && exponent !== 0x45) return at
  const sign = bytes[at + 1]
  return digitsEnd(bytes, sign === PLUS || sign === MINUS ? at + 2 : at + 1)
}

/** At least one digit. */
function digitsEnd(bytes: Uint8Array, from: number): number {
  let at = from
  while (isDigit(bytes[at] ?? 0)) at++
  return at === from ? NO_JSON : at
}
