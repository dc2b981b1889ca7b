/** Bytes and small tables that the JSON scanner works with. Source: RFC 8259. */
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

/** 1 for a byte that may stand in a string as it is: not a control character, quote or backslash. */
export const PLAIN_IN_STRING: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
)

export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

export function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39
}

export function isHex(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)
}

/** 1 for what may follow a backslash, `u` aside: \" \\ \/ \b \f \n \r \t. */
export const SIMPLE_ESCAPE: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  [0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74].includes(byte) ? 1 : 0,
)

/** The word that a first byte begins, or undefined. */
export function literalOf(byte: number): 'true' | 'false' | 'null' | undefined {
  if (byte === 0x74) return 'true'
  if (byte === 0x66) return 'false'
  if (byte === 0x6e) return 'null'
  return undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text of a JSON string from the bytes between its quotes, escapes resolved. Undefined when the bytes are not valid UTF-8.
 * The bytes have passed the scanner, so the escapes are well-formed.
 */
export function decodeJsonString(bytes: Uint8Array): string | undefined {
  try {
    const text = utf8.decode(bytes)
    if (!bytes.includes(BACKSLASH)) return text
    const parsed: unknown = JSON.parse(`"${text}"`)
    return typeof parsed === 'string' ? parsed : undefined
  } catch {
    return undefined
  }
}

/** A text as a JSON string in UTF-8 bytes, quotes included. Lone surrogates become \u escapes. */
export function encodeJsonString(text: string): Buffer {
  return Buffer.from(JSON.stringify(text))
}
