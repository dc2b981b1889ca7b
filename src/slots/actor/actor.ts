import type { SlotRow } from '../../contract/slot-row.ts'
import { toHal0Error } from '../../kernel/errors.ts'
import type { Override, SlotBinding } from '../launch/read-binding.ts'
import type { ActorDeps } from '../life/life-ports.ts'
import { isConfigFailure } from '../slot-failures.ts'
import { buildRow } from '../slot-row.ts'
import { ActorView } from '../slot-view.ts'
import type { Lease, SlotView } from '../slots.ts'
import type { ActorMessage, WishOf } from './actor-messages.ts'
import { resolveAll } from './deferred.ts'
import { Mailbox } from './mailbox.ts'
import { createSlotParts, type SlotParts } from './slot-parts.ts'
import type { StateBoard } from './state-board.ts'
import { TurnChange } from './turn-change.ts'
import { WishHandler } from './wish-handler.ts'

/**
 * One slot: the only writer of its state. Every wish and every observation is a message; messages are handled one at a time,
 * to the end, without waiting. Work that takes time runs outside and comes back as a message with its attempt's id.
 * The actor keeps the queue and the leases; its parts (`SlotParts`) each know one side of the slot. Source: SPEC 4, DESIGN "One writer".
 */
export class SlotActor {
  readonly #name: string
  readonly #deps: ActorDeps
  readonly #parts: SlotParts
  readonly #wishHandler: WishHandler
  readonly #turnChange: TurnChange
  readonly #mailbox = new Mailbox<ActorMessage>(
    (message) => this.#handle(message),
    (message, cause) => this.#fault(message, cause),
  )
  /** When a request of it ended last: wall clock, for people; 0 = never. */
  lastUsedMs = 0
  readonly view: SlotView

  constructor(name: string, bound: SlotBinding | undefined, board: StateBoard, deps: ActorDeps) {
    this.#name = name
    this.#deps = deps
    const post = (message: ActorMessage) => this.post(message)
    const parts = createSlotParts(
      { name, bound, board, deps },
      {
        post,
        row: () => this.row(),
        closed: () => this.#closed(),
        onTurnOver: (modelId) => this.#turnChange.ask(modelId),
      },
    )
    this.#parts = parts
    this.view = new ActorView(parts, this)
    this.#wishHandler = new WishHandler(parts, (wish) => this.#handle(wish))
    this.#turnChange = new TurnChange(parts, deps, {
      post,
      refusalOf: (modelId) => parts.gate.refusalOf(modelId),
      onChange: (modelId) => this.#turnTo(modelId),
    })
  }

  row(): SlotRow {
    return buildRow(this.#parts, this.lastUsedMs)
  }

  /** The model that a swap or a request put in the place of the file's. */
  get override(): Override | undefined {
    return this.#parts.files.override
  }

  /** For those that look at all slots at once; what it shows may be over in a moment. */
  get parts(): Readonly<Pick<SlotParts, 'board' | 'book' | 'claims' | 'drain' | 'files' | 'life' | 'evictions'>> {
    return this.#parts
  }

  post(message: ActorMessage): void {
    this.#mailbox.post(message)
  }

  /**
   * A lease where it needs no wait, between two messages. Undefined = a message is being handled, or `acquire` has to be asked; then nothing
   * has changed.
   */
  leaseNow(modelId: string | undefined): Lease | undefined {
    if (this.#parts.wishes.closing !== undefined || !this.#mailbox.begin()) return undefined
    try {
      return this.#parts.waitingRoom.leaseNow(modelId)
    } catch (cause) {
      this.#deps.log.error({ slot: this.#name, err: cause }, 'a fault in the slot actor')
      return undefined
    } finally {
      this.#mailbox.end()
    }
  }

  /** The engine that is up, to look at; it changes nothing of the slot. */
  lookNow(): Lease | undefined {
    return this.#parts.waitingRoom.lookNow()
  }

  /** A fault of ours must not leave the one who asked without an answer. */
  #fault(message: ActorMessage, cause: unknown): void {
    this.#deps.log.error({ slot: this.#name, message: message.type, err: cause }, 'a fault in the slot actor')
    if ('answer' in message) message.answer.reject(toHal0Error(cause))
    if ('waiter' in message) message.waiter.reject(toHal0Error(cause))
    if ('ticket' in message) message.ticket.answer.resolve('refused')
  }

  #handle(message: ActorMessage): void {
    const { book, evictions, files, idle, life, stops, waitingRoom, wishes } = this.#parts
    switch (message.type) {
      case 'acquire':
        if (wishes.refusal !== undefined) return message.waiter.reject(wishes.refusal)
        return waitingRoom.admit(message.waiter)
      case 'withdraw':
        if (!book.withdraw(message.waiter)) return
        message.waiter.reject(message.reason)
        waitingRoom.left(message.waiter)
        return this.#giveUpForNobody()
      case 'wait_elapsed':
        return waitingRoom.elapsed(message.waiter)
      case 'release':
        return this.#release(message)
      case 'load':
        return this.#wishHandler.load(message)
      case 'unload':
        return this.#wishHandler.unload(message)
      case 'restart':
        return this.#wishHandler.restart(message)
      case 'swap':
        return this.#wishHandler.swap(message)
      case 'close':
        return this.#wishHandler.close(message)
      case 'close_if_down':
        return this.#wishHandler.closeIfDown(message)
      case 'adopt':
        return life.adopt(message.engine, message.known)
      case 'files_changed':
        return files.look(message.answer)
      case 'examined':
        return this.#examined(message)
      case 'launch_compared':
        return this.#wishHandler.launchCompared(message)
      case 'turn_examined':
        return this.#turnChange.examined(message, waitingRoom)
      case 'drain_elapsed':
        return stops.cut()
      case 'evict':
        return evictions.evict(message.ticket)
      case 'claim':
        return evictions.claim(message.ticket)
      case 'give_up_claim':
        return evictions.giveUp(message.ticket)
      case 'idle_due':
        return idle.look()
      case 'waiting':
        life.handle(message)
        return this.#giveUpForNobody()
      default:
        return life.handle(message)
    }
  }

  #release({ lease, isAnswered }: WishOf<'release'>): void {
    const { board, book, breaker, drain, evictions, idle, life, stops, waitingRoom } = this.#parts
    if (!book.close(lease)) return
    this.lastUsedMs = this.#deps.clock.nowMs()
    const { engine } = life
    if (isAnswered && engine?.attemptId === lease.attemptId) breaker.answered(engine.binding.bound.modelId)
    waitingRoom.serve()
    if (book.inFlight > 0 || board.state !== 'serving') return
    board.apply('last_lease_ended')
    if (drain.isOn) return stops.now()
    idle.nudge()
    evictions.review()
  }

  /** Others make way for a load that waits for memory, and their callers wait: not for one that nobody wants any more. */
  #giveUpForNobody(): void {
    const { deps, life, name, stops, waitingRoom, wishes } = this.#parts
    const { phase } = life
    const isWaiting = phase.kind === 'loading' && phase.isWaitingForMemory
    if (!isWaiting || waitingRoom.isAwaited || wishes.load.size > 0) return
    deps.log.info({ slot: name, attempt: phase.attempt.id }, 'given up: all who wanted it have left')
    stops.end(0)
  }

  /** Nobody holds a lease, and the next one waits for another model, which could be loaded. */
  #turnTo(modelId: string): void {
    const { board, files, stops, wishes } = this.#parts
    if (board.state === 'serving') board.apply('last_lease_ended')
    files.override = { modelId }
    wishes.loadNext(1, 'daemon')
    stops.now()
  }

  #examined(message: WishOf<'examined'>): void {
    const { board, breaker, files, idle } = this.#parts
    if (board.isClosed) return resolveAll([...message.answers, ...files.giveUp()], this.row())
    if (!files.take(message)) return
    const { bound, fingerprint } = message.found
    if (bound !== undefined && fingerprint !== undefined) breaker.launchIs(bound.modelId, fingerprint)
    if (files.problem === undefined) board.forgetFailure(isConfigFailure)
    idle.look()
    resolveAll(message.answers, this.row())
  }

  #closed(): void {
    const { board, idle, wishes } = this.#parts
    idle.stop()
    board.close()
    wishes.stop.resolve(this.row())
    wishes.close.resolve()
  }
}
