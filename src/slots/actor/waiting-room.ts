import type { Hal0Error } from '../../kernel/errors.ts'
import type { EngineLife } from '../life/engine-life.ts'
import type { ActorDeps } from '../life/life-ports.ts'
import { chooseTurn, chooseTurnOfNone, type Turn } from '../rules/choose-turn.ts'
import { queueRetryAfterS } from '../rules/queue-retry.ts'
import {
  laneAtRestError,
  laneSwitchingError,
  loadingError,
  noModelServedError,
  queueFullError,
  unloadingError,
} from '../slot-failures.ts'
import type { Lease } from '../slots.ts'
import type { ClaimBook } from './claim-book.ts'
import type { DrainDeadline } from './drain-deadline.ts'
import type { Waiter } from './fair-queue.ts'
import type { FilesView } from './files-view.ts'
import { Grantors } from './grantors.ts'
import type { LeaseBook } from './lease-book.ts'
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
  /** A lane decides what is loaded: its requests wait for a place, and for nothing else. Source: SPEC 14 "Lane requests never wait for a load". */
  isLanes(): boolean
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
  readonly #grantors: Grantors

  constructor(parts: WaitingRoomParts, deps: ActorDeps, host: WaitingRoomHost) {
    this.#parts = parts
    this.#grantors = new Grantors(parts.name)
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
    if (!isOfUse && this.#host.isLanes()) {
      return waiter.reject(this.#laneRefusal() ?? laneSwitchingError(name, 'runs another model'))
    }
    book.enqueue(waiter)
    this.serve()
    // Only what still waits counts: a limit must not refuse a request that has a place.
    if (book.queued > this.#deps.settings.queueLimit) this.#refuseOne(waiter)
  }

  /**
   * A lease where it needs no wait: exactly where `admit` would give one at once to somebody who comes when nobody waits. Undefined = `admit`
   * has to be asked, and nothing has changed.
   */
  leaseNow(modelId: string | undefined): Lease | undefined {
    const { book, claims, life, drain, board, files } = this.#parts
    const { phase } = life
    if (phase.kind !== 'up' || !phase.hasModel || book.queued > 0 || drain.isOn || !claims.isEmpty) return undefined
    if (modelId !== undefined && modelId !== phase.engine.binding.bound.modelId) return undefined
    if (phase.parallel !== null && book.inFlight >= phase.parallel) return undefined
    if (board.state !== 'serving') board.apply('first_lease_taken')
    return book.openNow(this.#grantors.of(phase, files.thinking))
  }

  /** Nobody waits for a look, and it waits for nobody. Undefined = nothing is up. */
  lookNow(): Lease | undefined {
    const { book, life, files } = this.#parts
    const { phase } = life
    return phase.kind === 'up' ? book.looks.open(this.#grantors.of(phase, files.thinking)) : undefined
  }

  /** The queue has one too many since this one came. */
  #refuseOne(newcomer: Waiter): void {
    const { name, book, life } = this.#parts
    const { queueLimit } = this.#deps.settings
    const { phase } = life
    const refused = book.refusedFor(newcomer)
    if (!book.withdraw(refused)) return
    const retryAfterS = queueRetryAfterS({
      queued: book.queued,
      parallel: phase.kind === 'up' ? phase.parallel : null,
      meanLeaseMs: book.meanLeaseMs,
      loadMs: phase.kind === 'up' ? 0 : life.remainingLoadMs,
    })
    refused.reject(queueFullError(name, { limit: queueLimit, retryAfterS, isForOthers: refused !== newcomer }))
    if (refused !== newcomer) this.left(refused)
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
    const { book, life, drain, board, claims, files } = this.#parts
    // On the way of every request that ends.
    if (book.queued === 0) return
    const refusal = this.#host.isLanes() ? this.#laneRefusal() : undefined
    if (refusal !== undefined) return book.rejectAll(refusal)
    const { phase } = life
    const turn = this.#turn()
    if (phase.kind === 'up' && turn !== undefined) {
      const granted = book.grant(this.#grantors.of(phase, files.thinking), phase.parallel, (waiter) =>
        turn.mayHave(waiter),
      )
      if (granted > 0 && board.state !== 'serving') board.apply('first_lease_taken')
      if (turn.nextModelId === undefined && claims.isEmpty) return
      if (turn.nextModelId !== undefined && book.inFlight === 0) this.#host.onTurnOver(turn.nextModelId)
    } else if (phase.kind === 'up' && !drain.isOn && claims.isEmpty) return
    if (phase.kind === 'down') {
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
      const loaded = life.engine?.binding.bound.modelId ?? 'another model'
      const what =
        loaded === waiter.modelId
          ? `requests for another model came first; ${loaded} is loaded again after them`
          : `it serves ${loaded}; ${waiter.modelId ?? 'yours'} is loaded when those requests have ended`
      return loadingError(name, state, what, life.remainingLoadMs)
    }
    return life.phase.kind === 'loading'
      ? loadingError(name, state, message, life.remainingLoadMs)
      : unloadingError(name, state === 'error' ? 'clears up after a crash' : 'is being unloaded')
  }

  /** Why nobody may wait at the slot of a lane; undefined = its engine is up and stays. */
  #laneRefusal(): Hal0Error | undefined {
    const { name, life, drain, board } = this.#parts
    switch (life.phase.kind) {
      case 'up':
        return drain.isOn ? laneSwitchingError(name, 'ends its requests and then runs something else') : undefined
      case 'stopping':
        return laneSwitchingError(name, 'stops its engine')
      case 'loading':
        return loadingError(name, board.state, board.record.message, life.remainingLoadMs)
      case 'down':
        return laneAtRestError(name, board.record.extra.failure)
    }
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
