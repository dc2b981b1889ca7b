/** Enough for the last events of a stream, or the end of a JSON answer: where engines tell what they have counted. */
export const TAIL_BYTES = 2048

/** Keeps the last bytes of an answer, at a cost that does not grow with the answer. */
export class TailKeeper {
  /** Made with the first bytes: most of what is open at once has sent little. */
  #ring: Buffer | undefined
  #at = 0
  #isFull = false

  push(bytes: Buffer): void {
    this.#ring ??= Buffer.allocUnsafeSlow(TAIL_BYTES)
    const ring = this.#ring
    if (bytes.length >= TAIL_BYTES) {
      bytes.copy(ring, 0, bytes.length - TAIL_BYTES)
      this.#at = 0
      this.#isFull = true
      return
    }
    const room = TAIL_BYTES - this.#at
    if (bytes.length < room) {
      this.#at += bytes.copy(ring, this.#at)
      return
    }
    bytes.copy(ring, this.#at, 0, room)
    this.#at = bytes.copy(ring, 0, room)
    this.#isFull = true
  }

  /** A copy of the last TAIL_BYTES or less, in order. */
  bytes(): Buffer {
    if (this.#ring === undefined) return Buffer.alloc(0)
    const newest = this.#ring.subarray(0, this.#at)
    return this.#isFull ? Buffer.concat([this.#ring.subarray(this.#at), newest]) : Buffer.from(newest)
  }
}
