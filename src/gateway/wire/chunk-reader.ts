/** Takes what a chunked body holds. */
export interface ChunkTaker {
  /** Would whole chunks be passed on as they are? Asked again for each piece. */
  readonly takesChunks: boolean
  /** Some whole chunks with their framing, each of whose data ends in LF. */
  onChunks(chunks: Buffer): void
  /** Data without framing: the bytes of one chunk, or a part of it. */
  onData(data: Buffer): void
}

/** `done`: the body is over, `at` = where what follows begins. `more`: everything was taken. The text = the fault. */
export type ChunkStep = { readonly kind: 'done'; readonly at: number } | { readonly kind: 'more' } | string

const CR = 0x0d
const LF = 0x0a
const SEMICOLON = 0x3b
const SPACE = 0x20
const TAB = 0x09
/** Up to 4 GiB in a chunk; engines send some hundred bytes. */
const MAX_SIZE_DIGITS = 8
const MAX_LINE_BYTES = 4096
const MAX_TRAILER_BYTES = 16 * 1024
/** A chunk that has come in part may be kept until the rest of it is read, up to this size: so that it can pass as it is. */
const KEEP_LIMIT_BYTES = 64 * 1024

const MORE: ChunkStep = { kind: 'more' }
const [SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER, TRAILER_LF] = [0, 1, 2, 3, 4, 5, 6, 7]

/**
 * Reads HTTP's chunked coding, strictly: CR LF everywhere, sizes in hex digits and nothing else. Whole chunks can pass without being
 * taken apart, several at once. Source: RFC 9112 section 7.1.
 */
export class ChunkReader {
  #state = SIZE
  #left = 0
  #digits = 0
  #lineBytes = 0
  /** The bytes of a chunk that began in an earlier piece, framing included. */
  #kept: Buffer | undefined

  /** `isMoreAtHand`: the rest of what the piece ends with has most likely come too; nothing is held back for what has not. */
  push(piece: Buffer, isMoreAtHand: boolean, taker: ChunkTaker): ChunkStep {
    let bytes = piece
    if (this.#kept !== undefined) {
      bytes = Buffer.concat([this.#kept, piece])
      this.#kept = undefined
    }
    let at = 0
    while (at < bytes.length) {
      if (this.#state === SIZE && this.#digits === 0 && taker.takesChunks) {
        const end = endOfWhole(bytes, at)
        if (end > at) taker.onChunks(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
        at = end
        if (at === bytes.length) return MORE
        if (isMoreAtHand && taker.takesChunks && bytes.length - at < KEEP_LIMIT_BYTES && isBeginOfChunk(bytes, at)) {
          this.#kept = Buffer.from(bytes.subarray(at))
          return MORE
        }
      }
      // What is left is read chunk by chunk: whether they may pass is asked anew behind each.
      const step = this.#readChunk(bytes, at, taker)
      if (typeof step !== 'number') return step
      at = step
    }
    return MORE
  }

  /** Is something held back? */
  get isHolding(): boolean {
    return this.#kept !== undefined
  }

  /** What is kept of an unfinished chunk is given as data: nothing more is at hand, or the body has broken off. */
  letGo(taker: ChunkTaker): void {
    const kept = this.#kept
    if (kept === undefined) return
    this.#kept = undefined
    this.#readChunk(kept, 0, taker)
  }

  /** Up to behind the chunk at hand, or the end of the bytes; where that is, unless the body is over. */
  #readChunk(bytes: Buffer, from: number, taker: ChunkTaker): number | ChunkStep {
    let at = from
    while (at < bytes.length) {
      if (this.#state === DATA) {
        const take = Math.min(this.#left, bytes.length - at)
        const data = bytes.subarray(at, at + take)
        at += take
        this.#left -= take
        if (this.#left === 0) this.#state = DATA_CR
        taker.onData(data)
        continue
      }
      const isBehindData = this.#state === DATA_LF
      const fault = this.#step(bytes[at++] ?? 0)
      if (fault === 'end') return { kind: 'done', at }
      if (fault !== undefined) return fault
      if (isBehindData) return at
    }
    return at
  }

  /** One byte of framing. `end` = it was the last of the body. */
  #step(byte: number): string | undefined {
    switch (this.#state) {
      case SIZE: {
        const digit = hexOf(byte)
        if (digit >= 0) {
          if (++this.#digits > MAX_SIZE_DIGITS) return 'a chunk of absurd size'
          this.#left = this.#left * 16 + digit
          return undefined
        }
        if (this.#digits === 0) return 'a chunk without a size'
        this.#lineBytes = 0
        if (byte === CR) this.#state = SIZE_LF
        else if (byte === SEMICOLON || byte === SPACE || byte === TAB) this.#state = EXTENSION
        else return 'a chunk size that is none'
        return undefined
      }
      case EXTENSION:
        if (byte === CR) this.#state = SIZE_LF
        else if (byte === LF || ++this.#lineBytes > MAX_LINE_BYTES) return 'a chunk extension that is none'
        return undefined
      case SIZE_LF:
        if (byte !== LF) return 'a chunk size without its line end'
        this.#digits = 0
        this.#lineBytes = 0
        this.#state = this.#left === 0 ? TRAILER : DATA
        return undefined
      case DATA_CR:
        if (byte !== CR) return 'a chunk longer than it said'
        this.#state = DATA_LF
        return undefined
      case DATA_LF:
        if (byte !== LF) return 'a chunk longer than it said'
        this.#state = SIZE
        return undefined
      case TRAILER:
        if (byte === CR) this.#state = TRAILER_LF
        else if (byte === LF || ++this.#left > MAX_TRAILER_BYTES) return 'trailers that are none'
        else this.#lineBytes++
        return undefined
      default: {
        if (byte !== LF) return 'trailers that are none'
        if (this.#lineBytes === 0) return 'end'
        this.#lineBytes = 0
        this.#state = TRAILER
        return undefined
      }
    }
  }
}

/** Where the last of the whole chunks ends that begin there and whose data ends in LF; `from` = the first is not like that. The last chunk of a body (size 0) is none of them. */
function endOfWhole(bytes: Buffer, from: number): number {
  let end = from
  for (;;) {
    let at = end
    let size = 0
    for (;;) {
      const digit = hexOf(bytes[at] ?? 0)
      if (digit < 0) break
      size = size * 16 + digit
      if (++at - end > MAX_SIZE_DIGITS) return end
    }
    if (at === end || size === 0 || bytes[at] !== CR || bytes[at + 1] !== LF) return end
    const stop = at + 2 + size
    if (stop + 2 > bytes.length || bytes[stop - 1] !== LF || bytes[stop] !== CR || bytes[stop + 1] !== LF) return end
    end = stop + 2
  }
}

/** Has the chunk there, one with data, come only in part? */
function isBeginOfChunk(bytes: Buffer, from: number): boolean {
  let at = from
  let size = 0
  for (;;) {
    if (at === bytes.length) return true
    const digit = hexOf(bytes[at] ?? 0)
    if (digit < 0) break
    size = size * 16 + digit
    if (++at - from > MAX_SIZE_DIGITS) return false
  }
  if (at === from || bytes[at] !== CR) return false
  if (at + 1 === bytes.length) return true
  return bytes[at + 1] === LF && size > 0 && at + 2 + size + 2 > bytes.length
}

function hexOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const low = byte | 0x20
  return low >= 0x61 && low <= 0x66 ? low - 0x57 : -1
}
