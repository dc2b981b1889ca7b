/** Bytes of JSON that rules look for. Source: RFC 8259. */
export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const LBRACE = 0x7b
export const RBRACE = 0x7d
export const LBRACKET = 0x5b
export const RBRACKET = 0x5d
export const COLON = 0x3a
export const COMMA = 0x2c
export const LF = 0x0a
export const CR = 0x0d

/** Part of a text, in bytes from its start. */
export interface ByteRange {
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

/** White space of JSON. */
export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === LF || byte === CR || byte === 0x09
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

/** A short text of ASCII as bytes: keys and names that engines use. */
export function asciiBytes(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0))
}
