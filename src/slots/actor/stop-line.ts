import { unloadingError } from '../slot-failures.ts'
import type { DrainDeadline } from './drain-deadline.ts'
import type { SlotParts } from './slot-parts.ts'

/**
 * How what runs of a slot is brought to its end: leases first, then the process. Belongs to the slot's actor.
 * Source: SPEC 4 "No stop under an unrevoked lease".
 */
export class StopLine {
  readonly #partsOf: () => SlotParts
  readonly #drain: DrainDeadline
  #drainBegunMs: number | undefined

  constructor(partsOf: () => SlotParts, drain: DrainDeadline) {
    this.#partsOf = partsOf
    this.#drain = drain
  }

  /** Whatever runs is to end: a load at once, an engine when its leases have ended or `drainMs` are over. */
  end(drainMs: number): void {
    const { life, book, board, deps, waitingRoom } = this.#partsOf()
    if (life.phase.kind === 'loading') return life.stop()
    if (life.phase.kind !== 'up') return
    if (book.inFlight === 0) return this.now()
    if (drainMs <= 0) return this.cut()
    this.#drainBegunMs ??= deps.clock.monotonicMs()
    this.#drain.set(drainMs)
    board.refresh({ message: `stopping when ${book.inFlight} requests in flight have ended` })
    waitingRoom.serve()
  }

  /** It is not to end after all: whoever is served is served on. */
  recall(): void {
    const { board, waitingRoom } = this.#partsOf()
    this.#drain.off()
    this.#drainBegunMs = undefined
    board.refresh({ message: '' })
    waitingRoom.serve()
  }

  /** The leases that are left are taken back, then it stops. */
  cut(): void {
    const { life, book, board, name } = this.#partsOf()
    if (life.phase.kind !== 'up') return
    book.revokeAll(unloadingError(name, 'was unloaded before this answer ended'))
    if (board.state === 'serving') board.apply('last_lease_ended')
    this.now()
  }

  /** Nobody holds a lease. `why`: for the row; '' = somebody asked. */
  now(why = ''): void {
    const { life, wishes, deps, claims, closed } = this.#partsOf()
    this.#drain.off()
    const drainMs = this.#drainBegunMs === undefined ? undefined : deps.clock.monotonicMs() - this.#drainBegunMs
    this.#drainBegunMs = undefined
    if (wishes.closing?.keepEngine !== true) return life.stop(drainMs, why)
    life.leave()
    claims.refuse(() => true)
    closed()
  }

  /** Who asked for a stop waits for the death of the process no longer than SPEC 5 says. */
  boundWaits(): void {
    const { life, wishes } = this.#partsOf()
    if (life.phase.kind === 'stopping') wishes.boundStopWaits()
  }
}
