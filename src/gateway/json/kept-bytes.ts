/**
 * The bytes of one string that may come in several pieces. Nothing is copied while it lies within one piece, and never more than
 * `limitBytes` + 1 are held.
 */
export class KeptBytes {
  readonly #limitBytes: number
  /** Where it begins in the piece at hand; −1 = nothing is kept. */
  #from = -1
  #earlier: Buffer | undefined

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** It begins at index `from` of the piece at hand. */
  begin(from: number): void {
    this.#from = from
    this.#earlier = undefined
  }

  /** The piece ends within it. */
  carryOver(piece: Uint8Array): void {
    if (this.#from < 0) return
    // One byte past the limit is enough to know that it was passed.
    this.#earlier = Buffer.from(this.#upTo(piece, piece.length).subarray(0, this.#limitBytes + 1))
    this.#from = 0
  }

  /** It ends before index `to`. Undefined = it is longer than the limit. The bytes are good until the piece changes. */
  end(piece: Uint8Array, to: number): Uint8Array | undefined {
    const whole = this.#upTo(piece, to)
    this.drop()
    return whole.length > this.#limitBytes ? undefined : whole
  }

  /** Length if it ended before index `to`; at most the limit + 1 + what of it lies in this piece. */
  lengthUpTo(to: number): number {
    return (this.#earlier?.length ?? 0) + to - this.#from
  }

  /** It is of no interest any more. */
  drop(): void {
    this.#from = -1
    this.#earlier = undefined
  }

  #upTo(piece: Uint8Array, to: number): Uint8Array {
    const here = piece.subarray(this.#from, to)
    if (this.#earlier === undefined) return here
    return Buffer.concat([this.#earlier, here.subarray(0, this.#limitBytes + 1)])
  }
}
