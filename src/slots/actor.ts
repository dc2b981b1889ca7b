import { DEFAULT_DRAIN_S } from '../contract/limits.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import { toHal0Error } from '../kernel/errors.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { ActorMessage, ComparingWish, WishOf } from './actor-messages.ts'
import { type Deferred, resolveAll } from './deferred.ts'
import { DrainDeadline } from './drain-deadline.ts'
import { EngineLife } from './engine-life.ts'
import { FilesView } from './files-view.ts'
import { LeaseBook } from './lease-book.ts'
import { createLifeListener, type ListeningParts } from './life-listener.ts'
import type { ActorDeps } from './life-ports.ts'
import { Mailbox } from './mailbox.ts'
import type { PhaseOf } from './phase.ts'
import type { Override, SlotBinding } from './read-binding.ts'
import { closingError, isConfigFailure, noSuchTransitionError, unloadingError } from './slot-failures.ts'
import { buildRow } from './slot-row.ts'
import type { StateBoard } from './state-board.ts'
import { TurnChange } from './turn-change.ts'
import { WaitingRoom } from './waiting-room.ts'
import { Wishes } from './wishes.ts'

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
  readonly #files: FilesView
  readonly #parts: ListeningParts
  readonly #waitingRoom: WaitingRoom
  readonly #turnChange: TurnChange
  readonly #book = new LeaseBook((lease) => this.post({ type: 'release', lease }))
  readonly #wishes: Wishes
  readonly #mailbox = new Mailbox<ActorMessage>(
    (message) => this.#handle(message),
    (message, cause) => this.#fault(message, cause),
  )
  /** On once a running engine is to be stopped: no new lease, and when those that are left will be revoked. */
  readonly #drain: DrainDeadline
  #lastUsedMs: number | undefined

  constructor(name: string, bound: SlotBinding | undefined, board: StateBoard, deps: ActorDeps) {
    this.#name = name
    this.#deps = deps
    this.#board = board
    this.#wishes = new Wishes(name, deps)
    this.#drain = new DrainDeadline(deps.clock, () => this.post({ type: 'drain_elapsed' }))
    const post = (message: ActorMessage) => this.post(message)
    this.#files = new FilesView({ name, bound, board }, deps, { life: () => this.#life, post })
    const listener = createLifeListener(() => this.#parts)
    this.#life = new EngineLife({ name, files: this.#files, board }, deps, listener, post)
    const parts = { name, board, life: this.#life, book: this.#book, drain: this.#drain, files: this.#files }
    const waitingRoom = new WaitingRoom(parts, deps, {
      onElapsed: (waiter) => this.post({ type: 'wait_elapsed', waiter }),
      onTurnOver: (modelId) => this.#turnChange.ask(modelId),
    })
    this.#waitingRoom = waitingRoom
    this.#turnChange = new TurnChange(parts, deps, { post, onChange: (modelId) => this.#turnTo(modelId) })
    const answers = { row: () => this.row(), closed: () => this.#closed() }
    this.#parts = { ...parts, ...answers, deps, waitingRoom, wishes: this.#wishes }
  }

  row(): SlotRow {
    return buildRow(this.#board.record, this.#parts, this.#lastUsedMs)
  }

  /** The model that a swap or a request put in the place of the file's. */
  get override(): Override | undefined {
    return this.#files.override
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
        if (this.#wishes.refusal !== undefined) return message.waiter.reject(this.#wishes.refusal)
        return this.#waitingRoom.admit(message.waiter)
      case 'withdraw':
        if (!this.#book.withdraw(message.waiter)) return
        message.waiter.reject(message.reason)
        return this.#waitingRoom.left(message.waiter)
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
      case 'swap':
        return this.#swap(message)
      case 'close':
        return this.#close(message)
      case 'close_if_down':
        return this.#closeIfDown(message)
      case 'files_changed':
        return this.#files.look(message.answer)
      case 'examined':
        return this.#examined(message)
      case 'launch_compared':
        return this.#launchCompared(message)
      case 'turn_examined':
        return this.#turnChange.examined(message, this.#waitingRoom)
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
    if (this.#book.inFlight > 0 || this.#board.state !== 'serving') return
    this.#board.apply('last_lease_ended')
    if (this.#drain.isOn) this.#stopNow()
  }

  #load(wish: WishOf<'load'>): void {
    if (this.#wishes.refusal !== undefined) return wish.answer.reject(this.#wishes.refusal)
    const { phase } = this.#life
    if (phase.kind === 'up' && phase.hasModel && !this.#drain.isOn)
      return this.#compare(phase, wish, this.#files.override)
    this.#wishes.load.join(wish.answer)
    if (phase.kind === 'down') return this.#life.begin(1)
    if (phase.kind === 'loading') return
    this.#wishes.next = 1
    // Up without a model: only a fresh start can change that.
    if (phase.kind === 'up' && !this.#drain.isOn) this.#end(0)
    this.#boundStopWaits()
  }

  #restart(wish: WishOf<'restart'>): void {
    const { phase } = this.#life
    if (this.#wishes.closing !== undefined) return this.#load({ type: 'load', answer: wish.answer })
    const override = this.#files.overrideOfRestart
    if (phase.kind === 'up' && !this.#drain.isOn) return this.#compare(phase, wish, override)
    this.#files.override = override
    if (phase.kind === 'down') return this.#load({ type: 'load', answer: wish.answer })
    this.#reload(wish.answer, wish.drainMs)
  }

  #swap(wish: WishOf<'swap'>): void {
    const { phase } = this.#life
    if (this.#wishes.closing !== undefined) return this.#load({ type: 'load', answer: wish.answer })
    if (phase.kind === 'up' && !this.#drain.isOn) return this.#compare(phase, wish, wish.override)
    this.#files.override = wish.override
    // A load that runs is of another model; what follows it is this one.
    if (phase.kind === 'down') this.#load({ type: 'load', answer: wish.answer })
    else this.#reload(wish.answer, wish.drainMs)
  }

  /** Nobody holds a lease, and the next one waits for another model, which could be loaded. */
  #turnTo(modelId: string): void {
    if (this.#board.state === 'serving') this.#board.apply('last_lease_ended')
    this.#files.override = { modelId }
    this.#wishes.next = 1
    this.#stopNow()
  }

  /** Reads the files before what runs is touched: a mistake in them costs no working engine. */
  #compare(phase: PhaseOf<'up'>, wish: ComparingWish, override: Override | undefined): void {
    const unloads = this.#wishes.unloads
    const attemptId = phase.attempt.id
    void this.#deps.effects.examine(this.#name, override, phase.engine).then((found) => {
      this.post({ type: 'launch_compared', attemptId, wish, found, unloads })
    })
  }

  #launchCompared({ attemptId, wish, found, unloads }: WishOf<'launch_compared'>): void {
    const { phase } = this.#life
    if (unloads !== this.#wishes.unloads) return wish.answer.reject(this.#wishes.overtaken)
    const isStale =
      phase.kind !== 'up' || phase.attempt.id !== attemptId || this.#drain.isOn || this.#wishes.closing !== undefined
    if (isStale) return this.#handle(wish)
    if (found.problem !== undefined) return wish.answer.reject(found.problem)
    if (wish.type === 'swap') this.#files.override = wish.override
    if (wish.type === 'restart') {
      this.#files.override = this.#files.overrideOfRestart
      return this.#reload(wish.answer, wish.drainMs)
    }
    if (found.restartNeeded.length === 0) return wish.answer.resolve(this.row())
    this.#reload(wish.answer, wish.type === 'swap' ? wish.drainMs : DEFAULT_DRAIN_S * SECOND_MS)
  }

  #examined(message: WishOf<'examined'>): void {
    if (this.#board.isClosed) return resolveAll([...message.answers, ...this.#files.giveUp()], this.row())
    if (!this.#files.take(message)) return
    if (this.#files.problem === undefined) this.#board.forgetFailure(isConfigFailure)
    resolveAll(message.answers, this.row())
  }

  /** Ends what there is, then loads. */
  #reload(answer: Deferred<SlotRow>, drainMs: number): void {
    this.#life.overtake()
    this.#wishes.load.join(answer)
    this.#wishes.next = 1
    this.#end(drainMs)
    this.#boundStopWaits()
  }

  #unload({ drainMs, answer }: WishOf<'unload'>): void {
    const { phase } = this.#life
    // The last wish counts: a load that runs or was to follow is not wanted any more, also not by those who wait for it.
    this.#wishes.unloads++
    this.#wishes.next = undefined
    this.#life.overtake()
    this.#files.dropOverride()
    if (phase.kind === 'down') {
      this.#files.down()
      this.#board.forgetFailure()
      return answer.resolve(this.row())
    }
    this.#wishes.stop.join(answer)
    if (this.#wishes.closing !== undefined) this.#wishes.closing = { ...this.#wishes.closing, keepEngine: false }
    const reason = this.#wishes.overtaken
    this.#wishes.load.reject(reason)
    if (phase.kind === 'loading') this.#book.rejectAll(reason)
    this.#end(drainMs)
    this.#boundStopWaits()
  }

  #close({ why, drainMs, keepEngine, answer }: WishOf<'close'>): void {
    // Somebody who asked for the engine's end gets it.
    const isEnding =
      this.#wishes.stop.size > 0 || this.#wishes.next !== undefined || this.#wishes.closing?.keepEngine === false
    this.#wishes.closing = { why: this.#wishes.closing?.why ?? why, keepEngine: keepEngine && !isEnding }
    this.#wishes.next = undefined
    this.#wishes.close.join(answer)
    this.#life.overtake()
    const reason = closingError(this.#name, this.#wishes.closing.why)
    this.#book.rejectAll(reason)
    this.#wishes.load.reject(reason)
    if (this.#life.phase.kind === 'down') return this.#closed()
    this.#end(drainMs)
  }

  #closeIfDown({ why, answer }: WishOf<'close_if_down'>): void {
    if (this.#wishes.refusal !== undefined) return answer.reject(this.#wishes.refusal)
    const isDown = this.#life.phase.kind === 'down' && this.#book.queued === 0
    if (!isDown) return answer.reject(noSuchTransitionError(this.#name, why, this.#board.state))
    this.#close({ type: 'close', why, drainMs: 0, keepEngine: false, answer })
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
    if (this.#wishes.closing?.keepEngine !== true) return this.#life.stop()
    this.#life.leave()
    this.#closed()
  }

  #boundStopWaits(): void {
    if (this.#life.phase.kind === 'stopping') this.#wishes.boundStopWaits()
  }

  #closed(): void {
    this.#board.close()
    this.#wishes.stop.resolve(this.row())
    this.#wishes.close.resolve()
  }
}
