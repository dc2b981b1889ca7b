import type { SlotConfig } from '../config/slot-file.ts'
import { DEFAULT_DRAIN_S } from '../contract/limits.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import { type Hal0Error, toHal0Error } from '../kernel/errors.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { ActorMessage, LaunchCompared, WishOf } from './actor-messages.ts'
import { compareLaunch } from './compare-launch.ts'
import { Audience, type Deferred } from './deferred.ts'
import { DrainDeadline } from './drain-deadline.ts'
import { EngineLife } from './engine-life.ts'
import { LeaseBook } from './lease-book.ts'
import type { ActorDeps, LifeListener } from './life-ports.ts'
import { Mailbox } from './mailbox.ts'
import type { PhaseOf, Try } from './phase.ts'
import { engineDiedError, terminateTimeoutError, unloadingError } from './slot-failures.ts'
import { buildRow } from './slot-row.ts'
import type { StateBoard } from './state-board.ts'
import { WaitingRoom } from './waiting-room.ts'

/**
 * One slot: the only writer of its state. Every wish and every observation is a message; messages are handled one at a time,
 * to the end, without waiting. Work that takes time runs outside and comes back as a message with its attempt's id.
 * The actor keeps wishes and leases; the process itself is `EngineLife`, who waits is in the `WaitingRoom`. Source: SPEC 4, DESIGN "One writer".
 */
export class SlotActor {
  readonly #name: string
  readonly #deps: ActorDeps
  readonly #board: StateBoard
  readonly #life: EngineLife
  readonly #waitingRoom: WaitingRoom
  readonly #book = new LeaseBook((lease) => this.post({ type: 'release', lease }))
  readonly #loadAudience = new Audience<SlotRow>()
  readonly #stopAudience = new Audience<SlotRow>()
  readonly #closeAudience = new Audience<void>()
  readonly #mailbox = new Mailbox<ActorMessage>(
    (message) => this.#handle(message),
    (message, cause) => this.#fault(message, cause),
  )
  /** On once a running engine is to be stopped: no new lease, and when those that are left will be revoked. */
  readonly #drain: DrainDeadline
  /** The load that begins as soon as the process is gone; the only place that says so. */
  #next: Try | undefined
  #closing: { readonly keepEngine: boolean } | undefined
  /** Counts them: a load or restart whose files were still being read is overtaken by an unload. */
  #unloads = 0
  #lastUsedMs: number | undefined

  constructor(name: string, config: SlotConfig | undefined, board: StateBoard, deps: ActorDeps) {
    this.#name = name
    this.#deps = deps
    this.#board = board
    this.#drain = new DrainDeadline(deps.clock, () => this.post({ type: 'drain_elapsed' }))
    this.#life = new EngineLife({ name, config, board }, deps, this.#listener(), (message) => this.post(message))
    const parts = { name, board, life: this.#life, book: this.#book, drain: this.#drain }
    this.#waitingRoom = new WaitingRoom(parts, deps, (waiter) => this.post({ type: 'wait_elapsed', waiter }))
  }

  row(): SlotRow {
    return buildRow({
      record: this.#board.record,
      life: this.#life,
      inFlight: this.#book.inFlight,
      queued: this.#book.queued,
      lastUsedMs: this.#lastUsedMs,
    })
  }

  post(message: ActorMessage): void {
    this.#mailbox.post(message)
  }

  /** A fault of ours must not leave the one who asked without an answer. */
  #fault(message: ActorMessage, cause: unknown): void {
    this.#deps.log.error({ slot: this.#name, message: message.type, err: cause }, 'a fault in the slot actor')
    if ('answer' in message) message.answer.reject(toHal0Error(cause))
    if ('waiter' in message) message.waiter.reject(toHal0Error(cause))
  }

  #handle(message: ActorMessage): void {
    switch (message.type) {
      case 'acquire':
        if (this.#closing !== undefined) return message.waiter.reject(this.#closingError())
        return this.#waitingRoom.admit(message.waiter)
      case 'withdraw':
        if (this.#book.withdraw(message.waiter)) message.waiter.reject(message.reason)
        return
      case 'wait_elapsed':
        return this.#waitingRoom.elapsed(message.waiter)
      case 'release':
        return this.#release(message)
      case 'load':
        return this.#load(message)
      case 'unload':
        return this.#unload(message)
      case 'restart':
        return this.#restart(message)
      case 'close':
        return this.#close(message)
      case 'launch_compared':
        return this.#launchCompared(message)
      case 'drain_elapsed':
        return this.#cutAndStop()
      default:
        return this.#life.handle(message)
    }
  }

  #release({ lease }: WishOf<'release'>): void {
    if (!this.#book.close(lease)) return
    this.#lastUsedMs = this.#deps.clock.nowMs()
    this.#waitingRoom.serve()
    if (this.#book.inFlight > 0) return
    this.#board.apply('last_lease_ended')
    if (this.#drain.isOn) this.#stopNow()
  }

  #load(wish: WishOf<'load'>): void {
    if (this.#closing !== undefined) return wish.answer.reject(this.#closingError())
    const { phase } = this.#life
    if (phase.kind === 'up' && phase.hasModel && !this.#drain.isOn) return this.#compare(phase, wish)
    this.#loadAudience.join(wish.answer)
    if (phase.kind === 'down') return this.#life.begin(1)
    if (phase.kind === 'loading') return
    this.#next = 1
    // Up without a model: only a fresh start can change that.
    if (phase.kind === 'up' && !this.#drain.isOn) this.#end(0)
    this.#boundStopWaits()
  }

  #restart(wish: WishOf<'restart'>): void {
    const { phase } = this.#life
    if (this.#closing !== undefined || phase.kind === 'down') return this.#load({ type: 'load', answer: wish.answer })
    if (phase.kind === 'up' && !this.#drain.isOn) return this.#compare(phase, wish)
    this.#reload(wish.answer, wish.drainMs)
  }

  #compare(phase: PhaseOf<'up'>, wish: LaunchCompared['wish']): void {
    const unloads = this.#unloads
    void compareLaunch(this.#deps.effects, phase, wish).then((compared) => this.post({ ...compared, unloads }))
  }

  #launchCompared({ attemptId, wish, found, unloads }: WishOf<'launch_compared'>): void {
    const { phase } = this.#life
    if (unloads !== this.#unloads) return wish.answer.reject(this.#unloadedError())
    const isStale =
      phase.kind !== 'up' || phase.attempt.id !== attemptId || this.#drain.isOn || this.#closing !== undefined
    if (isStale) return this.#handle(wish)
    if (!found.ok) return wish.answer.reject(found.error)
    if (wish.type === 'restart') return this.#reload(wish.answer, wish.drainMs)
    if (found.value === 'same') return wish.answer.resolve(this.row())
    this.#reload(wish.answer, DEFAULT_DRAIN_S * SECOND_MS)
  }

  /** Ends what there is, then loads. */
  #reload(answer: Deferred<SlotRow>, drainMs: number): void {
    this.#loadAudience.join(answer)
    this.#next = 1
    this.#end(drainMs)
    this.#boundStopWaits()
  }

  #unload({ drainMs, answer }: WishOf<'unload'>): void {
    const { phase } = this.#life
    // The last wish counts: a load that runs or was to follow is not wanted any more, also not by those who wait for it.
    this.#unloads++
    this.#next = undefined
    if (phase.kind === 'down') {
      this.#forgetFailure()
      return answer.resolve(this.row())
    }
    this.#stopAudience.join(answer)
    if (this.#closing !== undefined) this.#closing = { keepEngine: false }
    const reason = this.#unloadedError()
    this.#loadAudience.reject(reason)
    if (phase.kind === 'loading') this.#book.rejectAll(reason)
    this.#end(drainMs)
    this.#boundStopWaits()
  }

  #close({ drainMs, keepEngine, answer }: WishOf<'close'>): void {
    // Somebody who asked for the engine's end gets it.
    const isEnding = this.#stopAudience.size > 0 || this.#next !== undefined || this.#closing?.keepEngine === false
    this.#closing = { keepEngine: keepEngine && !isEnding }
    this.#next = undefined
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
    this.#drain.set(drainMs)
    this.#board.refresh({ message: `stopping when ${this.#book.inFlight} requests in flight have ended` })
    this.#waitingRoom.serve()
  }

  #cutAndStop(): void {
    if (this.#life.phase.kind !== 'up') return
    this.#book.revokeAll(unloadingError(this.#name, 'was unloaded before this answer ended'))
    if (this.#board.state === 'serving') this.#board.apply('last_lease_ended')
    this.#stopNow()
  }

  #stopNow(): void {
    this.#drain.off()
    if (this.#closing?.keepEngine !== true) return this.#life.stop()
    this.#life.leave()
    this.#closed()
  }

  /** Who asked for a stop (also for the load behind it) waits for the death of the process no longer than this. */
  #boundStopWaits(): void {
    if (this.#life.phase.kind !== 'stopping') return
    const { clock, settings } = this.#deps
    const overdue = () => terminateTimeoutError(this.#name, settings.stopWaitMs)
    for (const audience of [this.#stopAudience, this.#loadAudience]) {
      audience.boundWaits(clock, settings.stopWaitMs, overdue)
    }
  }

  /** An unload leaves the slot offline, also when it had failed. */
  #forgetFailure(): void {
    if (this.#board.state === 'error') this.#board.apply('stopped', { message: '', extra: {} })
  }

  #closed(): void {
    this.#board.close()
    this.#stopAudience.resolve(this.row())
    this.#closeAudience.resolve()
  }

  #unloadedError(): Hal0Error {
    return unloadingError(this.#name, 'was unloaded before it was ready')
  }

  #closingError(): Hal0Error {
    return unloadingError(this.#name, 'stops with the daemon')
  }

  /** What the life of the engine means for those who wait. */
  #listener(): LifeListener {
    return {
      onReady: () => {
        this.#loadAudience.resolve(this.row())
        this.#waitingRoom.serve()
      },
      onLoadFailed: (error) => {
        // A load that was asked for while this one failed has joined it.
        this.#next = undefined
        this.#book.rejectAll(error)
        this.#loadAudience.reject(error)
      },
      onCrashed: (exit) => {
        this.#drain.off()
        this.#book.revokeAll(engineDiedError(this.#name, exit))
      },
      onEngineGone: (attemptId) => {
        this.#deps.onEngineGone(attemptId)
        this.#waitingRoom.serve()
        this.#boundStopWaits()
      },
      onAgain: (nth) => {
        if (this.#closing !== undefined || this.#stopAudience.size > 0) return false
        this.#next = nth
        return true
      },
      onDown: () => {
        if (this.#stopAudience.size > 0) this.#forgetFailure()
        this.#stopAudience.resolve(this.row())
        if (this.#closing !== undefined) return this.#closed()
        const nth = this.#next
        this.#next = undefined
        if (nth === undefined) return this.#waitingRoom.serve()
        this.#loadAudience.unboundWaits()
        this.#life.begin(nth)
      },
    }
  }
}
