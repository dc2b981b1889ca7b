import { BACKSLASH, PLAIN_IN_STRING, QUOTE, SPACE } from '../rules/json-bytes.ts'

/** Shorter runs are walked byte by byte: a view of the words costs as much as some hundred bytes. */
const WALK_BYTES = 192
/** Four words are looked at in one go. */
const BLOCK_WORDS = 4

/**
 * Where a run of plain text in a JSON string ends: index of the first byte at or behind `from` that is a quote, a backslash or a control
 * character; the length of `bytes` when there is none. Source: RFC 8259 section 7.
 */
export function plainEnd(bytes: Uint8Array, from: number): number {
  const { length } = bytes
  const walkEnd = length - from > WALK_BYTES ? from + WALK_BYTES : length
  for (let at = from; at < walkEnd; at++) {
    const byte = bytes[at] ?? 0
    // Letters come first: one comparison is enough for them.
    if (byte <= BACKSLASH && (byte === BACKSLASH || byte === QUOTE || byte < SPACE)) return at
  }
  return walkEnd === length ? length : longPlainEnd(bytes, walkEnd)
}

/** The same for long runs, 16 bytes at a time: most of a large body is base64 in one string. */
function longPlainEnd(bytes: Uint8Array, from: number): number {
  const { length, byteOffset } = bytes
  let at = from
  // Words begin where the memory's own multiples of four are.
  while (at < length && ((byteOffset + at) & 3) !== 0) {
    if (PLAIN_IN_STRING[bytes[at] ?? 0] !== 1) return at
    at++
  }
  if (length - at < 4) return shortPlainEnd(bytes, at)
  const words = new Int32Array(bytes.buffer, byteOffset + at, (length - at) >> 2)
  let word = 0
  for (;;) {
    word = plainWords(words, word)
    const blockEnd = Math.min(length, at + (word + BLOCK_WORDS) * 4)
    const end = shortPlainEnd(bytes, at + word * 4, blockEnd)
    if (end < blockEnd || end === length) return end
    word += BLOCK_WORDS
  }
}

function shortPlainEnd(bytes: Uint8Array, from: number, to = bytes.length): number {
  let at = from
  while (at < to && PLAIN_IN_STRING[bytes[at] ?? 0] === 1) at++
  return at
}

/**
 * Index of the first block at or behind `from` that may hold a byte that is not plain, or is too short to be looked at as one.
 * Per byte b: (b ^ 0x02) < 0x21 finds control characters and the quote, (b ^ 0x5c) < 1 the backslash; a subtraction borrows only from a byte
 * that is found itself, and a byte from 0x80 on is never found, as `& ~word` clears it.
 */
function plainWords(words: Int32Array, from: number): number {
  const last = words.length - BLOCK_WORDS
  let at = from
  for (; at <= last; at += BLOCK_WORDS) {
    const a = words[at] ?? 0
    const b = words[at + 1] ?? 0
    const c = words[at + 2] ?? 0
    const d = words[at + 3] ?? 0
    const found =
      ((((a ^ 0x02020202) - 0x21212121) | ((a ^ 0x5c5c5c5c) - 0x01010101)) & ~a) |
      ((((b ^ 0x02020202) - 0x21212121) | ((b ^ 0x5c5c5c5c) - 0x01010101)) & ~b) |
      ((((c ^ 0x02020202) - 0x21212121) | ((c ^ 0x5c5c5c5c) - 0x01010101)) & ~c) |
      ((((d ^ 0x02020202) - 0x21212121) | ((d ^ 0x5c5c5c5c) - 0x01010101)) & ~d)
    if ((found & 0x80808080) !== 0) return at
  }
  return at
}
