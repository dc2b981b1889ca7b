import { BACKSLASH } from '../rules/json-bytes.ts'

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
