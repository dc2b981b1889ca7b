import type { KeptPart } from '../live-body.ts'

/** Bytes in place of those from `start` to `end` (exclusive) of a body; `start` = `end`: they are put in. */
export interface BodyEdit {
  readonly start: number
  readonly end: number
  readonly bytes: Buffer
}

/** Makes one edit while a body passes in pieces. Everything else stays byte for byte. */
export class StreamSplice {
  readonly #edit: BodyEdit
  /** Bytes that have passed, before the edit. */
  #passedBytes = 0

  /** The edit begins before the last byte of the body. */
  constructor(edit: BodyEdit) {
    this.#edit = edit
  }

  /** The pieces as they shall be. */
  apply(pieces: readonly Buffer[]): Buffer[] {
    return pieces.flatMap((piece) => this.#applyTo(piece))
  }

  #applyTo(piece: Buffer): Buffer[] {
    const { start, end, bytes } = this.#edit
    const at = this.#passedBytes
    const pieceEnd = at + piece.length
    this.#passedBytes = pieceEnd
    if (pieceEnd <= start || at > Math.max(start, end - 1)) return [piece]
    const out: Buffer[] = []
    if (at <= start) out.push(piece.subarray(0, start - at), bytes)
    out.push(piece.subarray(Math.min(piece.length, end - at)))
    return out.filter(({ length }) => length > 0)
  }
}

/** What was kept, with one edit. */
export function edited(kept: KeptPart, edit: BodyEdit): KeptPart {
  const splice = new StreamSplice(edit)
  return {
    next: (take) =>
      kept.next((error, pieces) => {
        if (error !== undefined) return take(error, [])
        const out = splice.apply(pieces)
        // Nothing left of a piece is not the end.
        take(undefined, pieces.length > 0 && out.length === 0 ? [Buffer.alloc(0)] : out)
      }),
    close: () => kept.close(),
  }
}
