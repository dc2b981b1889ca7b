import { MIB } from '../../../kernel/units.ts'
import type { BodyBudget } from '../body-budget.ts'
import type { KeptPart } from '../live-body.ts'
import { PieceList } from '../piece-list.ts'
import { SpoolFile } from './spool-file.ts'

/** What is longer goes to a file. */
const MEMORY_BYTES = MIB

/** What came of a form before it was known where to: the first bytes in memory, the rest in a file. */
export class KeptForm {
  readonly #folder: string
  readonly #budget: BodyBudget | undefined
  readonly #memory = new PieceList()
  #takenBytes = 0
  #file: SpoolFile | undefined
  #isClosed = false

  constructor(folder: string, budget: BodyBudget | undefined) {
    this.#folder = folder
    this.#budget = budget
  }

  get sizeBytes(): number {
    return this.#memory.sizeBytes + (this.#file?.sizeBytes ?? 0)
  }

  /** All of it, where no file was needed. */
  get inMemory(): readonly Buffer[] | undefined {
    return this.#file === undefined ? this.#memory.pieces() : undefined
  }

  /** True = it is kept. False = it goes to the file: the next only after `done`, which is not called after `close`. Throws what the file system says. */
  push(piece: Buffer, done: (error: Error | undefined) => void): boolean {
    if (this.#file === undefined && this.#hasRoom(piece.length)) {
      this.#memory.push(piece)
      return true
    }
    this.#file ??= new SpoolFile(this.#folder)
    this.#file.append(piece, done)
    return false
  }

  /** Once through from its first byte. */
  reader(): KeptPart {
    let inMemory: readonly Buffer[] | undefined = this.#memory.pieces()
    return {
      next: (take) => {
        const pieces = inMemory
        inMemory = undefined
        if (pieces !== undefined && pieces.length > 0) return take(undefined, pieces)
        if (this.#file === undefined) return take(undefined, [])
        this.#file.next((error, bytes) => take(error, bytes.length === 0 ? [] : [bytes]))
      },
      close: () => this.close(),
    }
  }

  /** Gives back memory and file. Idempotent. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#file?.close()
    this.#budget?.giveBack(this.#takenBytes)
  }

  #hasRoom(sizeBytes: number): boolean {
    if (this.#memory.sizeBytes + sizeBytes > MEMORY_BYTES) return false
    if (this.#budget?.take(sizeBytes) === false) return false
    this.#takenBytes += sizeBytes
    return true
  }
}
