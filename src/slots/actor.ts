import type { SlotConfig } from '../config/slot-file.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import type { CancelTimer } from '../kernel/clock.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { ActorMessage, WishOf } from './actor-messages.ts'
import { Audience, type Deferred } from './deferred.ts'
import { EngineLife } from './engine-life.ts'
import { LeaseBook, type Waiter } from './lease-book.ts'
import type { LifeDeps, LifeListener } from './life-ports.ts'
import type { Try } from './phase.ts'
import { engineDiedError, loadingError, noModelServedError, queueFullError, unloadingError } from './slot-failures.ts'
import { buildRow } from './slot-row.ts'
import type { StateBoard } from './state-board.ts'

export interface ActorDeps extends LifeDeps {
  /** An engine's connections are of no more use. */
  readonly onEngineGone: (attemptId: string) => void
}

/**
 * One slot: the only writer of its state. Every wish and every observation is a message; messages are handled one at a time,
 * to the end, without waiting. Work that takes time runs outside and comes back as a message with its attempt's id.
 * The actor keeps leases, queue and wishes; the process itself is `EngineLife`. Source: SPEC 4, DESIGN "One writer".
 */
export class SlotActor implements LifeListener {
  readonly #name: string
  readonly #deps: ActorDeps
  readonly #board: StateBoard
  readonly #life: EngineLife
  readonly #book = new LeaseBook((lease) => this.post({ type: 'release', lease }))
  readonly #loadAudience = new Audience<SlotRow>()
  readonly #stopAudience = new Audience<SlotRow>()
  readonly #closeAudience = new Audience<void>()
  readonly #inbox: ActorMessage[] = []
  #handling = false
  /** Set once a running engine is to be stopped: no new lease, and when those that are left will be revoked. */
  #drain: { readonly deadlineMs: number; readonly cancelTimer: CancelTimer } | undefined
  /** A load that begins as soon as the process is gone. */
  #wantsLoad = false
  #closing: { readonly keepEngine: boolean } | undefined
  #lastUsedMs: number | undefined

  constructor(name: string, config: SlotConfig | undefined, board: StateBoard, deps: ActorDeps) {
    this.#name = name
    this.#deps = deps
    this.#board = board
    this.#life = new EngineLife({ name, config, board }, deps, this, (message) => this.post(message))
  }

  row(): SlotRow {
    const { phase, config, lastPhases } = this.#life
    return buildRow({
      record: this.#board.record,
      config,
      inFlight: this.#book.inFlight,
      queued: this.#book.queued,
      parallel: phase.kind === 'up' ? phase.parallel : null,
      lastUsedMs: this.#lastUsedMs,
      phases: lastPhases,
    })
  }

  /** Queues a message; it has been handled when this returns, unless this was called from inside another one. */
  post(message: ActorMessage): void {
    this.#inbox.push(message)
    if (this.#handling) return
    this.#handling = true
    for (let next = this.#inbox.shift(); next !== undefined; next = this.#inbox.shift()) {
      try {
        this.#handle(next)
      } catch (cause) {
        // A fault in one message must not silence the slot.
        this.#deps.log.error({ slot: this.#name, message: next.type, err: cause }, 'a fault in the slot actor')
      }
    }
    this.#handling = false
  }

  #handle(message: ActorMessage): void {
    switch (message.type) {
      case 'acquire':
        return this.#acquire(message.waiter)
      case 'withdraw':
        if (this.#book.withdraw(message.waiter)) message.waiter.reject(message.reason)
        return
      case 'wait_elapsed':
        return this.#waitElapsed(message.waiter)
      case 'release':
        return this.#release(message)
      case 'load':
        return this.#load(message.answer)
      case 'unload':
        return this.#unload(message)
      case 'restart':
        return this.#restart(message)
      case 'close':
        return this.#close(message)
      case 'drain_elapsed':
        return this.#cutAndStop()
      default:
        return this.#life.handle(message)
    }
  }

  // --- requests -----------------------------------------------------------------------------------------------------

  #acquire(waiter: Waiter): void {
    const { phase } = this.#life
    if (this.#closing !== undefined) return waiter.reject(this.#closingError())
    if (phase.kind === 'up' && !phase.hasModel) {
      return waiter.reject(noModelServedError(this.#name, this.#board.record.model_id))
    }
    const { queueLimit } = this.#deps.settings
    this.#book.enqueue(waiter)
    this.#serveWaiters()
    // Only what still waits counts: a limit must not refuse a request that has a place.
    if (this.#book.queued > queueLimit && this.#book.withdraw(waiter)) {
      waiter.reject(queueFullError(this.#name, queueLimit))
    }
  }

  /** Gives every waiter what the moment allows: a place, a load, or a bound on its wait. */
  #serveWaiters(): void {
    const { phase } = this.#life
    if (phase.kind === 'up' && this.#drain === undefined) {
      if (!phase.hasModel) return
      const { plan, runner } = phase.engine.binding
      const { engineKey } = phase.engine
      const endpoint = { origin: `http://127.0.0.1:${plan.port}`, engineKey, alias: this.#name }
      const granted = this.#book.grant({
        slot: this.#name,
        attemptId: phase.attempt.id,
        endpoint: { ...endpoint, onClientAbort: runner.onClientAbort },
        parallel: phase.parallel,
      })
      if (granted > 0 && this.#board.state !== 'serving') this.#board.apply('first_lease_taken')
      return
    }
    if (phase.kind === 'down' && this.#book.queued > 0) this.#life.begin(1)
    for (const waiter of this.#book.waiters()) {
      waiter.stopTimer ??= this.#deps.clock.setTimer(waiter.waitMs, () => this.post({ type: 'wait_elapsed', waiter }))
    }
  }

  #waitElapsed(waiter: Waiter): void {
    waiter.stopTimer = undefined
    const { phase } = this.#life
    // Loaded meanwhile: from now on it waits for a place, which is not bounded by the wait for a load.
    if (phase.kind === 'up' && this.#drain === undefined) return
    if (!this.#book.withdraw(waiter)) return
    const { state, message } = this.#board.record
    waiter.reject(
      phase.kind === 'loading'
        ? loadingError(this.#name, state, message, this.#life.remainingLoadMs)
        : unloadingError(this.#name, 'is being unloaded'),
    )
  }

  #release({ lease }: WishOf<'release'>): void {
    if (!this.#book.close(lease)) return
    this.#lastUsedMs = this.#deps.clock.nowMs()
    this.#serveWaiters()
    if (this.#book.inFlight > 0) return
    this.#board.apply('last_lease_ended')
    if (this.#drain !== undefined) this.#stopNow()
  }

  // --- what people ask ----------------------------------------------------------------------------------------------

  #load(answer: Deferred<SlotRow>): void {
    if (this.#closing !== undefined) return answer.reject(this.#closingError())
    const { phase } = this.#life
    if (phase.kind === 'up' && phase.hasModel && this.#drain === undefined) return answer.resolve(this.row())
    this.#loadAudience.join(answer)
    if (phase.kind === 'down') return this.#life.begin(1)
    if (phase.kind === 'loading') return
    this.#wantsLoad = true
    // Up without a model: only a fresh start can change that.
    if (phase.kind === 'up' && this.#drain === undefined) this.#end(0)
  }

  #unload({ drainMs, answer }: WishOf<'unload'>): void {
    if (this.#life.phase.kind === 'down') return answer.resolve(this.row())
    this.#stopAudience.join(answer)
    // The last wish counts: a load that runs or was to follow is not wanted any more.
    this.#wantsLoad = false
    this.#loadAudience.reject(unloadingError(this.#name, 'was unloaded before it was ready'))
    this.#end(drainMs)
  }

  #restart({ drainMs, answer }: WishOf<'restart'>): void {
    if (this.#closing !== undefined || this.#life.phase.kind === 'down') return this.#load(answer)
    this.#loadAudience.join(answer)
    this.#wantsLoad = true
    this.#end(drainMs)
  }

  #close({ drainMs, keepEngine, answer }: WishOf<'close'>): void {
    this.#closing = { keepEngine }
    this.#wantsLoad = false
    this.#closeAudience.join(answer)
    this.#book.rejectAll(this.#closingError())
    this.#loadAudience.reject(this.#closingError())
    if (this.#life.phase.kind === 'down') return this.#closed()
    this.#end(drainMs)
  }

  /** Whatever runs is to end: a load at once, an engine when its leases have ended or `drainMs` are over. */
  #end(drainMs: number): void {
    if (this.#life.phase.kind === 'loading') return this.#life.stop()
    if (this.#life.phase.kind !== 'up') return
    if (this.#book.inFlight === 0) return this.#stopNow()
    if (drainMs <= 0) return this.#cutAndStop()
    const { clock } = this.#deps
    const deadlineMs = clock.monotonicMs() + drainMs
    if (this.#drain !== undefined && this.#drain.deadlineMs <= deadlineMs) return
    this.#drain?.cancelTimer()
    this.#drain = { deadlineMs, cancelTimer: clock.setTimer(drainMs, () => this.post({ type: 'drain_elapsed' })) }
    this.#board.refresh({ message: `stopping when ${this.#book.inFlight} requests in flight have ended` })
    this.#serveWaiters()
  }

  #cutAndStop(): void {
    if (this.#life.phase.kind !== 'up') return
    this.#book.revokeAll(unloadingError(this.#name, 'was unloaded before this answer ended'))
    if (this.#board.state === 'serving') this.#board.apply('last_lease_ended')
    this.#stopNow()
  }

  #stopNow(): void {
    this.#endDrain()
    if (this.#closing?.keepEngine !== true) return this.#life.stop()
    this.#life.leave()
    this.#closed()
  }

  #endDrain(): void {
    this.#drain?.cancelTimer()
    this.#drain = undefined
  }

  #closed(): void {
    this.#board.dispose()
    this.#closeAudience.resolve()
  }

  #closingError(): Hal0Error {
    return unloadingError(this.#name, 'stops with the daemon')
  }

  // --- what the engine's life means ---------------------------------------------------------------------------------

  onReady(): void {
    this.#loadAudience.resolve(this.row())
    this.#serveWaiters()
  }

  onLoadFailed(error: Hal0Error): void {
    this.#book.rejectAll(error)
    this.#loadAudience.reject(error)
  }

  onCrashed(exit: string): void {
    this.#endDrain()
    this.#book.revokeAll(engineDiedError(this.#name, exit))
  }

  onEngineGone(attemptId: string): void {
    this.#deps.onEngineGone(attemptId)
    this.#serveWaiters()
  }

  onStopOverdue(error: Hal0Error): void {
    this.#stopAudience.reject(error)
    this.#loadAudience.reject(error)
  }

  onDown(again: Try | undefined): void {
    this.#stopAudience.resolve(this.row())
    if (this.#closing !== undefined) return this.#closed()
    const nth = this.#wantsLoad ? 1 : again
    this.#wantsLoad = false
    if (nth === undefined) this.#serveWaiters()
    else this.#life.begin(nth)
  }
}
