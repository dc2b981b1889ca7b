import type { DrainDeadline } from './drain-deadline.ts'
import type { EngineLife } from './engine-life.ts'
import type { LeaseBook, Waiter } from './lease-book.ts'
import type { ActorDeps } from './life-ports.ts'
import { loadingError, noModelServedError, queueFullError, unloadingError } from './slot-failures.ts'
import { endpointOf } from './started-engine.ts'
import type { StateBoard } from './state-board.ts'

/** The parts of one slot that decide what a waiting request gets. */
export interface WaitingRoomParts {
  readonly name: string
  readonly book: LeaseBook
  readonly life: EngineLife
  readonly drain: DrainDeadline
  readonly board: StateBoard
}

/**
 * The requests that wait for one slot: for a load, or for a place at the engine. Belongs to the slot's actor, which alone calls it.
 * Source: SPEC 11 "Cold slot", "Queues".
 */
export class WaitingRoom {
  readonly #parts: WaitingRoomParts
  readonly #deps: ActorDeps
  readonly #onElapsed: (waiter: Waiter) => void

  /** `onElapsed`: a waiter's time is over; it comes back through `elapsed`. */
  constructor(parts: WaitingRoomParts, deps: ActorDeps, onElapsed: (waiter: Waiter) => void) {
    this.#parts = parts
    this.#deps = deps
    this.#onElapsed = onElapsed
  }

  admit(waiter: Waiter): void {
    const { name, book, life, board } = this.#parts
    if (life.phase.kind === 'up' && !life.phase.hasModel) {
      return waiter.reject(noModelServedError(name, board.record.model_id))
    }
    const { queueLimit } = this.#deps.settings
    book.enqueue(waiter)
    this.serve()
    // Only what still waits counts: a limit must not refuse a request that has a place.
    if (book.queued > queueLimit && book.withdraw(waiter)) waiter.reject(queueFullError(name, queueLimit))
  }

  /** Gives every waiter what the moment allows: a place, a load, or a bound on its wait. */
  serve(): void {
    const { name, book, life, drain, board } = this.#parts
    const { phase } = life
    if (phase.kind === 'up' && !drain.isOn) {
      if (!phase.hasModel) return
      const granted = book.grant({
        slot: name,
        attemptId: phase.attempt.id,
        endpoint: endpointOf(phase.engine),
        parallel: phase.parallel,
      })
      if (granted > 0 && board.state !== 'serving') board.apply('first_lease_taken')
      return
    }
    if (phase.kind === 'down' && book.queued > 0) life.begin(1)
    for (const waiter of book.waiters()) {
      waiter.stopTimer ??= this.#deps.clock.setTimer(waiter.waitMs, () => this.#onElapsed(waiter))
    }
  }

  elapsed(waiter: Waiter): void {
    const { name, book, life, drain, board } = this.#parts
    waiter.stopTimer = undefined
    // Loaded meanwhile: from now on it waits for a place, which is not bounded by the wait for a load.
    if (life.phase.kind === 'up' && !drain.isOn) return
    if (!book.withdraw(waiter)) return
    const { state, message } = board.record
    waiter.reject(
      life.phase.kind === 'loading'
        ? loadingError(name, state, message, life.remainingLoadMs)
        : unloadingError(name, state === 'error' ? 'clears up after a crash' : 'is being unloaded'),
    )
  }
}
