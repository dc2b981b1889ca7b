/** Shorter pieces are put together: each buffer costs some hundred bytes besides its content. */
const SMALL_BYTES = 8 * 1024
/** Room for small pieces is taken in steps of this. */
const BLOCK_BYTES = 64 * 1024

/**
 * Keeps bytes that come in pieces of any size. Large pieces are kept as they are, small ones are put together, so that what is held is little
 * more than what came. Memory grows with what has come, never with what was announced.
 */
export class PieceList {
  readonly #pieces: Buffer[] = []
  /** The last of the pieces, while there is room behind it. */
  #block: Buffer | undefined
  #usedBytes = 0
  #sizeBytes = 0

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  push(piece: Buffer): void {
    if (piece.length === 0) return
    this.#sizeBytes += piece.length
    // Most bodies come in one piece, which need not be copied.
    if (this.#sizeBytes === piece.length || piece.length >= SMALL_BYTES) {
      this.#closeBlock()
      this.#pieces.push(piece)
    } else this.#append(piece)
  }

  /** All that came, in order. What is pushed later may or may not show in it. */
  pieces(): readonly Buffer[] {
    this.#closeBlock()
    return this.#pieces
  }

  /** The first `sizeBytes` of it as one buffer, or all of it. */
  head(sizeBytes: number): Buffer {
    const head: Buffer[] = []
    let missingBytes = sizeBytes
    for (const piece of this.pieces()) {
      if (missingBytes <= 0) break
      head.push(piece.subarray(0, missingBytes))
      missingBytes -= piece.length
    }
    return Buffer.concat(head)
  }

  #append(piece: Buffer): void {
    let rest = piece
    if (this.#block !== undefined) {
      const copied = rest.copy(this.#block, this.#usedBytes)
      this.#usedBytes += copied
      rest = rest.subarray(copied)
      if (rest.length === 0) return
      this.#closeBlock()
    }
    this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    this.#usedBytes = rest.copy(this.#block)
  }

  #closeBlock(): void {
    if (this.#block === undefined) return
    const used = this.#block.subarray(0, this.#usedBytes)
    // A block that is mostly empty would be held for what little is in it.
    this.#pieces.push(this.#usedBytes > BLOCK_BYTES / 2 ? used : Buffer.from(used))
    this.#block = undefined
    this.#usedBytes = 0
  }
}
