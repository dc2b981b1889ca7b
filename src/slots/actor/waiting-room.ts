import type { Hal0Error } from '../../kernel/errors.ts'
import type { EngineLife } from '../life/engine-life.ts'
import type { ActorDeps } from '../life/life-ports.ts'
import { endpointOf } from '../life/started-engine.ts'
import { chooseTurn, chooseTurnOfNone, type Turn } from '../rules/choose-turn.ts'
import { loadingError, noModelServedError, queueFullError, unloadingError } from '../slot-failures.ts'
import type { ClaimBook } from './claim-book.ts'
import type { DrainDeadline } from './drain-deadline.ts'
import type { FilesView } from './files-view.ts'
import type { LeaseBook, Waiter } from './lease-book.ts'
import type { StateBoard } from './state-board.ts'

/** The parts of one slot that decide what a waiting request gets. */
export interface WaitingRoomParts {
  readonly name: string
  readonly book: LeaseBook
  readonly life: EngineLife
  readonly drain: DrainDeadline
  readonly board: StateBoard
  readonly files: FilesView
  readonly claims: ClaimBook
}

/** What the room asks of its actor. */
export interface WaitingRoomHost {
  /** A waiter's time is over; it comes back through `elapsed`. */
  onElapsed(waiter: Waiter): void
  /** Somebody waits, and nothing runs or loads. */
  onLoadWanted(): void
  /** Nobody holds a lease, and the next one waits for another model. */
  onTurnOver(nextModelId: string): void
}

/**
 * The requests that wait for one slot: for a load, for a place at the engine, or for their model's turn. Belongs to the slot's actor,
 * which alone calls it. Source: SPEC 11 "Cold slot", "Queues", "Resolution" 3.
 */
export class WaitingRoom {
  readonly #parts: WaitingRoomParts
  readonly #deps: ActorDeps
  readonly #host: WaitingRoomHost
  /** How many had arrived when the engine that is up came up. */
  #turnBegunAtNth = 0
  /** Somebody was told to ask again, because the load that runs will be there by itself. */
  #isPromised = false

  constructor(parts: WaitingRoomParts, deps: ActorDeps, host: WaitingRoomHost) {
    this.#parts = parts
    this.#deps = deps
    this.#host = host
  }

  admit(waiter: Waiter): void {
    const { name, book, life, board } = this.#parts
    const isOfUse = waiter.modelId === undefined || waiter.modelId === life.engine?.binding.bound.modelId
    // Another model may still be loaded in its place.
    if (life.phase.kind === 'up' && !life.phase.hasModel && isOfUse) {
      return waiter.reject(noModelServedError(name, board.record.model_id))
    }
    const { queueLimit } = this.#deps.settings
    book.enqueue(waiter)
    this.serve()
    // Only what still waits counts: a limit must not refuse a request that has a place.
    if (book.queued > queueLimit && book.withdraw(waiter)) waiter.reject(queueFullError(name, queueLimit))
  }

  /** The model whose turn is next; undefined = nobody waits for another one, or nothing is up. */
  get nextModelId(): string | undefined {
    return this.#turn()?.nextModelId
  }

  /** Does a request wait, or come back for the load that runs? */
  get isAwaited(): boolean {
    return this.#parts.book.queued > 0 || this.#isPromised
  }

  /** A request has left. Those behind it may have waited only for its model's turn. */
  left({ modelId }: Waiter): void {
    if (modelId !== undefined) this.serve()
  }

  /** An engine has come up: those who wait now share its turn. */
  beginTurn(): void {
    this.#turnBegunAtNth = this.#parts.book.arrived
    this.serve()
  }

  /** Gives every waiter what the moment allows: a place, a load, or a bound on its wait. */
  serve(): void {
    const { name, book, life, drain, board, files, claims } = this.#parts
    const { phase } = life
    const turn = this.#turn()
    if (phase.kind === 'up' && turn !== undefined) {
      const grantor = {
        slot: name,
        attemptId: phase.attempt.id,
        endpoint: endpointOf(phase.engine, files.thinking),
        parallel: phase.parallel,
      }
      const granted = book.grant(grantor, (waiter) => turn.mayHave(waiter))
      if (granted > 0 && board.state !== 'serving') board.apply('first_lease_taken')
      if (turn.nextModelId === undefined && claims.isEmpty) return
      if (turn.nextModelId !== undefined && book.inFlight === 0) this.#host.onTurnOver(turn.nextModelId)
    } else if (phase.kind === 'up' && !drain.isOn && claims.isEmpty) return
    if (phase.kind === 'down' && book.queued > 0) {
      this.#isPromised = false
      this.#host.onLoadWanted()
    }
    for (const waiter of book.waiters()) {
      if (turn?.mayHave(waiter) === true) continue
      waiter.stopTimer ??= this.#deps.clock.setTimer(waiter.waitMs, () => this.#host.onElapsed(waiter))
    }
  }

  elapsed(waiter: Waiter): void {
    const { book } = this.#parts
    waiter.stopTimer = undefined
    // Loaded meanwhile: from now on it waits for a place, which is not bounded by the wait for a load.
    if (this.#turn()?.mayHave(waiter) === true) return
    if (!book.withdraw(waiter)) return
    this.#isPromised = true
    waiter.reject(this.#overdue(waiter))
    this.left(waiter)
  }

  #overdue(waiter: Waiter): Hal0Error {
    const { name, life, drain, board, claims } = this.#parts
    const { state, message } = board.record
    if (life.phase.kind === 'up' && !claims.isEmpty) {
      return loadingError(name, state, 'it makes way for another slot, then is loaded again', life.remainingLoadMs)
    }
    if (life.phase.kind === 'up' && !drain.isOn) {
      const what = `it serves ${life.engine?.binding.bound.modelId ?? 'another model'}; ${waiter.modelId ?? 'yours'} is loaded when those requests have ended`
      return loadingError(name, state, what, life.remainingLoadMs)
    }
    return life.phase.kind === 'loading'
      ? loadingError(name, state, message, life.remainingLoadMs)
      : unloadingError(name, state === 'error' ? 'clears up after a crash' : 'is being unloaded')
  }

  /** Undefined = no engine is up that could serve anybody. */
  #turn(): Turn | undefined {
    const { book, claims, life, drain } = this.#parts
    const loadedModelId = life.engine?.binding.bound.modelId
    if (loadedModelId === undefined || drain.isOn) return undefined
    if (life.phase.kind !== 'up') return undefined
    if (!life.phase.hasModel) return chooseTurnOfNone(loadedModelId, book.choosyWaiters())
    const turn = chooseTurn(loadedModelId, this.#turnBegunAtNth, book.choosyWaiters())
    if (claims.isEmpty) return turn
    // Others need the memory: who came before they said so is still served.
    return { ...turn, mayHave: (waiter) => turn.mayHave(waiter) && claims.mayServe(waiter.nth ?? 0) }
  }
}
