/** Bytes of JSON, and of the lines that carry it. Source: RFC 8259. */
export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const LBRACE = 0x7b
export const RBRACE = 0x7d
export const LBRACKET = 0x5b
export const RBRACKET = 0x5d
export const COLON = 0x3a
export const COMMA = 0x2c
export const MINUS = 0x2d
export const PLUS = 0x2b
export const DOT = 0x2e
export const ZERO = 0x30
export const SPACE = 0x20
export const TAB = 0x09
export const LF = 0x0a
export const CR = 0x0d

/** Part of a text, in bytes from its start. */
export interface ByteRange {
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

/** 1 for a byte that may stand in a string as it is: not a control character, quote or backslash. */
export const PLAIN_IN_STRING: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
)

/** 1 for what may follow a backslash, `u` aside: \" \\ \/ \b \f \n \r \t. */
export const SIMPLE_ESCAPE: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  [0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74].includes(byte) ? 1 : 0,
)

/** Is it white space of JSON? Undefined (behind the end of a text) is none. */
export function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === LF || byte === CR || byte === TAB
}

/** Is it one of 0 to 9? */
export function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39
}

/** Is it a digit of a \u escape, in either case? */
export function isHex(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)
}

/** The word that a first byte begins, or undefined. */
export function literalOf(byte: number): 'true' | 'false' | 'null' | undefined {
  if (byte === 0x74) return 'true'
  if (byte === 0x66) return 'false'
  if (byte === 0x6e) return 'null'
  return undefined
}

/** The first byte at or after `from` that is no white space; `end` = there is none before it. */
export function skipSpaces(text: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && isSpace(text[at])) at++
  return at
}

/** Do these bytes stand at `at`? */
export function standsAt(text: Uint8Array, at: number, bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (text[at + i] !== bytes[i]) return false
  return true
}

/** A short text of ASCII as bytes: keys and names that clients and engines use. */
export function asciiBytes(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0))
}
