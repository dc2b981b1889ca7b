/** First room for a body of unknown or larger length. */
const FIRST_BYTES = 64 * 1024

/**
 * Collects bytes that come in pieces of any size. Memory is at most twice what has come (never more than `expectedBytes`, where the
 * length is known): a list of the pieces would pin a buffer for each, however small they are.
 */
export class GrowingBuffer {
  readonly #expectedBytes: number | undefined
  #room: Buffer | undefined
  /** The only piece so far: most bodies come in one, which need not be copied. */
  #only: Buffer | undefined
  #sizeBytes = 0

  /** `expectedBytes` = Content-Length, if there is one: a promise, not a reason to allocate before anything came. */
  constructor(expectedBytes: number | undefined) {
    this.#expectedBytes = expectedBytes
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  push(piece: Buffer): void {
    if (this.#sizeBytes === 0) this.#only = piece
    else {
      const room = this.#roomFor(this.#sizeBytes + piece.length)
      piece.copy(room, this.#sizeBytes)
    }
    this.#sizeBytes += piece.length
  }

  /** What has come so far. Later pieces do not change it. */
  view(): Buffer {
    return this.#only ?? this.#room?.subarray(0, this.#sizeBytes) ?? Buffer.alloc(0)
  }

  #roomFor(needBytes: number): Buffer {
    if (this.#room !== undefined && this.#room.length >= needBytes) return this.#room
    const doubled = Math.max(FIRST_BYTES, (this.#room?.length ?? 0) * 2, needBytes)
    const expected = this.#expectedBytes
    const bytes = expected !== undefined && expected >= needBytes ? Math.min(doubled, expected) : doubled
    const larger = Buffer.allocUnsafeSlow(bytes)
    this.view().copy(larger)
    this.#only = undefined
    this.#room = larger
    return larger
  }
}
