import type { Hal0Error } from '../../../kernel/errors.ts'
import { MIB } from '../../../kernel/units.ts'
import { type BodyBudget, noRoomError } from '../body-budget.ts'
import { spoolError, tooLarge } from '../body-errors.ts'
import type { KeptPart } from '../live-body.ts'
import { PieceList } from '../piece-list.ts'
import { SpoolFile } from './spool-file.ts'

/** What is longer goes to a file. */
const MEMORY_BYTES = MIB

/** Where a form is kept until it is known where it goes. */
export interface KeepOptions {
  /** Folder for what is too long to be kept in memory; made when it is needed. */
  readonly folder: string
  /** Of all bodies in memory; where it has nothing left, the folder is used. Absent = 1 MiB of each form. */
  readonly budget?: BodyBudget | undefined
  /** Of all forms in the folder. Absent = as much as it takes. */
  readonly spill?: BodyBudget | undefined
}

/** What came of a form before it was known where to: the first bytes in memory, the rest in a file. */
export class KeptForm {
  readonly #options: KeepOptions
  readonly #memory = new PieceList()
  #takenBytes = 0
  #spilledBytes = 0
  #file: SpoolFile | undefined
  #isClosed = false

  constructor(options: KeepOptions) {
    this.#options = options
  }

  get sizeBytes(): number {
    return this.#memory.sizeBytes + (this.#file?.sizeBytes ?? 0)
  }

  /** All of it, where no file was needed. */
  get inMemory(): readonly Buffer[] | undefined {
    return this.#file === undefined ? this.#memory.pieces() : undefined
  }

  /**
   * `writing`: it goes to the file: the next only after `done`, which is not called after `close`.
   * Errors: `dispatch.queue_full` and `request.too_large` (no room on disk that forms may have), given to `done` `internal` (the file system).
   */
  push(piece: Buffer, done: (error: Hal0Error | undefined) => void): 'kept' | 'writing' | Hal0Error {
    if (this.#file === undefined && this.#hasRoom(piece.length)) {
      this.#memory.push(piece)
      return 'kept'
    }
    const refused = this.#takeDisk(piece.length)
    if (refused !== undefined) return refused
    const { folder } = this.#options
    this.#file ??= new SpoolFile(folder)
    this.#file.append(piece, (error) => done(error === undefined ? undefined : spoolError(folder, error)))
    return 'writing'
  }

  /** Once through from its first byte. Errors: `internal`. */
  reader(): KeptPart {
    let inMemory: readonly Buffer[] | undefined = this.#memory.pieces()
    return {
      next: (take) => {
        const pieces = inMemory
        inMemory = undefined
        if (pieces !== undefined && pieces.length > 0) return take(undefined, pieces)
        if (this.#file === undefined) return take(undefined, [])
        this.#file.next((error, bytes) => {
          if (error !== undefined) take(spoolError(this.#options.folder, error), [])
          else take(undefined, bytes.length === 0 ? [] : [bytes])
        })
      },
      close: () => this.close(),
    }
  }

  /** Gives back memory and file. Idempotent. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#file?.close()
    this.#options.budget?.giveBack(this.#takenBytes)
    this.#options.spill?.giveBack(this.#spilledBytes)
  }

  #hasRoom(sizeBytes: number): boolean {
    if (this.#memory.sizeBytes + sizeBytes > MEMORY_BYTES) return false
    if (this.#options.budget?.take(sizeBytes) === false) return false
    this.#takenBytes += sizeBytes
    return true
  }

  #takeDisk(sizeBytes: number): Hal0Error | undefined {
    const { spill } = this.#options
    if (spill === undefined) return undefined
    const { limitBytes, key } = spill
    // To wait would not help it.
    if (this.#spilledBytes + sizeBytes > limitBytes) return tooLarge(limitBytes, key)
    if (!spill.take(sizeBytes)) return noRoomError(spill)
    this.#spilledBytes += sizeBytes
    return undefined
  }
}
