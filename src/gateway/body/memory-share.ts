import type { Hal0Error } from '../../kernel/errors.ts'
import { KIB } from '../../kernel/units.ts'
import { type BodyBudget, noRoomError } from './body-budget.ts'
import { tooLarge } from './body-errors.ts'

/** Memory is taken as bytes come, in steps of this: what is only announced holds nothing. */
const STEP_BYTES = 64 * KIB

/** How much of a JSON body may come, and what it holds of the memory for all. Source: SPEC 11 "Bodies". */
export class MemoryShare {
  readonly #budget: BodyBudget | undefined
  readonly #limitBytes: number
  readonly #key: 'json_limit_bytes' | 'body_memory_bytes'
  /** What may come of this body. */
  readonly #mostBytes: number
  #takenBytes = 0

  /** `limitBytes`: of any JSON body. `announcedBytes`: exact; undefined = not known. Without a budget there is as much memory as it takes. */
  constructor(limitBytes: number, budget: BodyBudget | undefined, announcedBytes: number | undefined) {
    const memoryBytes = budget?.limitBytes ?? limitBytes
    this.#budget = budget
    this.#limitBytes = Math.min(limitBytes, memoryBytes)
    this.#key = memoryBytes < limitBytes ? 'body_memory_bytes' : 'json_limit_bytes'
    this.#mostBytes = announcedBytes ?? this.#limitBytes
  }

  /** What its length alone says against it, before it is sent for nothing. Takes nothing. Errors: `request.too_large`, `dispatch.queue_full`. */
  refuse(announcedBytes: number): Hal0Error | undefined {
    if (announcedBytes > this.#limitBytes) return tooLarge(this.#limitBytes, this.#key)
    return this.#budget?.hasRoom(announcedBytes) === false ? noRoomError(this.#budget) : undefined
  }

  /** So many bytes have come in all: takes memory for them, and never for more than can come. Errors: `request.too_large`, `dispatch.queue_full`. */
  growTo(sizeBytes: number): Hal0Error | undefined {
    if (sizeBytes > this.#limitBytes) return tooLarge(this.#limitBytes, this.#key)
    const budget = this.#budget
    if (budget === undefined || sizeBytes <= this.#takenBytes) return undefined
    const wantedBytes = Math.min(this.#mostBytes, Math.ceil(sizeBytes / STEP_BYTES) * STEP_BYTES)
    if (!budget.take(wantedBytes - this.#takenBytes)) return noRoomError(budget)
    this.#takenBytes = wantedBytes
    return undefined
  }

  /** Idempotent. */
  giveBack(): void {
    this.#budget?.giveBack(this.#takenBytes)
    this.#takenBytes = 0
  }
}
