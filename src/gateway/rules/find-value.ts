import {
  BACKSLASH,
  type ByteRange,
  COLON,
  COMMA,
  isSpace,
  LBRACE,
  LBRACKET,
  QUOTE,
  RBRACE,
  RBRACKET,
  skipSpaces,
  standsAt,
} from './json-bytes.ts'

/**
 * Where is the value of a key of this JSON object, its own and not of an object inside it? `text` from `from` (white space may come first) to
 * before `end`. Of the same key twice the last counts, as in JSON.parse. What is no JSON is read as far as it makes sense. `mayBeCut`: the text may end
 * anywhere, also within the value, which then ends with it. Undefined = there is none. Keys written with escapes are not known.
 * Source: SPEC 11 "the `model` value per event".
 */
export function findValue(
  text: Uint8Array,
  from: number,
  end: number,
  key: Uint8Array,
  mayBeCut = false,
): ByteRange | undefined {
  let found: ByteRange | undefined
  let at = skipSpaces(text, from, end)
  if (at >= end || text[at] !== LBRACE) return undefined
  at = skipSpaces(text, at + 1, end)
  while (at < end && text[at] === QUOTE) {
    const keyAt = at + 1
    at = endOfString(text, at, end)
    if (at > end) break
    const isWanted = at - 1 - keyAt === key.length && standsAt(text, keyAt, key)
    at = skipSpaces(text, at, end)
    if (at >= end || text[at] !== COLON) break
    const start = skipSpaces(text, at + 1, end)
    at = endOfValue(text, start, end)
    if (at > end) {
      if (isWanted && mayBeCut && start < end) found = { start, end }
      break
    }
    if (isWanted) found = { start, end: at }
    at = skipSpaces(text, at, end)
    if (at >= end || text[at] !== COMMA) break
    at = skipSpaces(text, at + 1, end)
  }
  return found
}

/** Just behind the closing quote of the string that begins at `at`; more than `end` = it does not end before. */
function endOfString(text: Uint8Array, at: number, end: number): number {
  let next = at + 1
  while (next < end) {
    const byte = text[next]
    if (byte === QUOTE) return next + 1
    next += byte === BACKSLASH ? 2 : 1
  }
  return end + 1
}

/** Just behind the value that begins at `at`; more than `end` = it does not end before. */
function endOfValue(text: Uint8Array, at: number, end: number): number {
  let depth = 0
  let next = at
  while (next < end) {
    const byte = text[next]
    if (byte === QUOTE) {
      next = endOfString(text, next, end)
      if (depth === 0) return next
      continue
    }
    if (byte === LBRACE || byte === LBRACKET) depth++
    else if (byte === RBRACE || byte === RBRACKET) {
      // A word or a number ends where the object around it does.
      if (depth === 0) return next
      depth--
      if (depth === 0) return next + 1
    } else if (depth === 0 && (byte === COMMA || isSpace(byte))) {
      return next
    }
    next++
  }
  return end + 1
}
