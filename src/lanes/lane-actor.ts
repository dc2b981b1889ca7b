import type { LanePhase, LaneTarget } from '../contract/lane.ts'
import type { CancelTimer } from '../kernel/clock.ts'
import { Hal0Error, messageOf } from '../kernel/errors.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { Calendar } from './bookings/calendar.ts'
import { FailureBook } from './failure-book.ts'
import { LaneDrive, type LaneDriveDeps } from './lane-drive.ts'
import type { LaneHistory } from './lane-history.ts'
import { type AccessAnswer, LaneStays } from './lane-stays.ts'
import { LaneTeller, type LaneTellerDeps } from './lane-teller.ts'
import { type Booking, isRunning } from './rules/booking.ts'
import { chooseServed } from './rules/choose-served.ts'
import { chooseTarget } from './rules/choose-target.ts'
import { decideAdmission } from './rules/decide-admission.ts'
import type { LaneTimes, ManualChoice, ServedDecision, TargetDecision, TargetQuestion } from './rules/decision.ts'
import { preparedBy } from './rules/plan-ahead.ts'

/** What a lane's files, the settings and its admins say at the moment. */
export interface LaneFacts extends LaneTimes {
  readonly tickMs: number
  readonly drainMs: number
  readonly loadTimeoutMs: number
  readonly default: LaneTarget
  readonly manual: ManualChoice | undefined
  /** 0 = off. */
  readonly noShowMs: number
}

export interface LaneActorDeps extends Omit<LaneDriveDeps, 'failures'>, LaneTellerDeps {
  readonly calendar: Calendar
  /** Read at each look. */
  readonly facts: () => LaneFacts
  readonly estimateMs: (target: LaneTarget) => number
  /** What model and profile are at the moment: a failure that is theirs is over when it is another. */
  readonly fingerprintOf: (target: LaneTarget) => string
  /** A file that was missing may be back: models are read again, soon. */
  readonly refreshModels: () => void
  readonly nameOfUser: (userId: string) => string | undefined
}

/** One look of a lane: what it saw and decided. */
export interface LaneLook {
  readonly question: TargetQuestion
  readonly decision: TargetDecision
  readonly served: ServedDecision
  readonly phase: LanePhase
  /** The booking whose window it is. */
  readonly running: Booking | undefined
}

/** After a fault of ours the loop goes on so much later. */
const FAULT_PAUSE_MS = 5 * SECOND_MS

/**
 * The loop of one lane, and the only one who drives its slot. A wake says that there may be something to see, never what: each look takes everything
 * in afresh, decides by the rules, acts, and arms one timer. Work that takes time runs outside and wakes it at its end. Source: SPEC 12, DESIGN "Level-triggered loops".
 */
export class LaneActor {
  readonly name: string
  readonly failures: FailureBook
  readonly #deps: LaneActorDeps
  readonly #drive: LaneDrive
  readonly #stays: LaneStays
  readonly #teller: LaneTeller
  #preparedFor: TargetQuestion['preparedFor']
  #last: LaneLook | undefined
  #cancelTimer: CancelTimer | undefined
  /** When the last look is out of date, epoch ms. */
  #dueMs = Number.NEGATIVE_INFINITY
  #isWoken = false
  #isClosed = false
  readonly #unsubscribe: readonly (() => void)[]

  constructor(deps: LaneActorDeps) {
    this.name = deps.name
    this.#deps = deps
    this.failures = new FailureBook(deps.fingerprintOf)
    this.#teller = new LaneTeller(deps)
    this.#drive = new LaneDrive(
      { ...deps, failures: this.failures },
      {
        wake: () => this.wake(),
        onArrived: (target, booking) => {
          if (!this.#isClosed) this.#teller.arrived(target, booking)
        },
        onFailed: (target) => {
          const failure = this.failures.of(target)
          // What ends with the daemon, or with the lane, has not failed.
          if (failure !== undefined && !this.#isClosed) this.#teller.failed(target, failure)
        },
      },
    )
    this.#stays = new LaneStays({
      ask: (userId) => this.ask(userId),
      used: (reservationId) => deps.calendar.used(reservationId, deps.clock.nowMs()),
      // A retry may wait for the last request of the fallback.
      left: () => {
        if (this.isFallback) this.wake()
      },
    })
    this.#unsubscribe = [
      deps.slot.onChange(() => this.wake()),
      deps.calendar.onChange((lane) => {
        if (lane === this.name) this.wake()
      }),
    ]
  }

  /** Something may have changed. Wakes of one turn are one look. */
  wake(): void {
    if (this.#isWoken || this.#isClosed) return
    this.#isWoken = true
    queueMicrotask(() => this.look())
  }

  /** What it saw last; a moment that has passed since is looked at first. */
  seen(): LaneLook {
    if (this.#last === undefined || this.#deps.clock.nowMs() >= this.#dueMs) this.look()
    if (this.#last === undefined) throw new Error(`lane ${this.name} could not be looked at`)
    return this.#last
  }

  /** What it is on, or on its way to. */
  get current(): LaneTarget {
    return this.#drive.current
  }

  get history(): LaneHistory {
    return this.#teller.history
  }

  /** Does it load for this booking, which is about to start or has started? Source: SPEC 13 "while it starts". */
  isStarting(bookingId: string): boolean {
    return this.#drive.isStarting(bookingId)
  }

  /** Does the default serve in the place of what was booked? */
  get isFallback(): boolean {
    const served = this.#last?.served
    return served?.kind === 'run' && served.isFallback
  }

  /** The access list for this user, at the moment. Source: SPEC 14. */
  ask(userId: string): AccessAnswer {
    const { calendar, clock, estimateMs, facts, nameOfUser } = this.#deps
    const { decision, phase, running, served } = this.seen()
    const nowMs = clock.nowMs()
    const waits = served.kind === 'wait' ? served : undefined
    return decideAdmission({
      lane: this.name,
      userId,
      nowMs,
      running,
      ownerName: running === undefined ? undefined : nameOfUser(running.ownerId),
      phase,
      target: decision.target,
      remainingMs: this.#drive.remainingMs(() => facts().drainMs, estimateMs),
      failure: waits?.failure,
      retryInMs: waits?.reviewAtMs === undefined ? undefined : Math.max(0, waits.reviewAtMs - nowMs),
      storeProblem: calendar.unread,
    })
  }

  enter(userId: string, onEnd: (error: Hal0Error) => void): ReturnType<LaneStays['enter']> {
    return this.#stays.enter(userId, onEnd)
  }

  /** Starts the engine anew at once; what failed before is forgotten. Resolves when it is ready. Errors: `slot.not_ready` where nothing is targeted, and the load's. */
  async reload(): Promise<void> {
    const { target, reason, booking } = this.seen().decision
    if (target.kind === 'nothing') {
      const message = `lane ${this.name} is to run nothing now (${reason}); there is nothing to reload`
      const remedy = `Look why with \`hal0 lane explain ${this.name}\`.`
      throw Hal0Error.of('slot.not_ready', message, { details: { lane: this.name, remedy } })
    }
    this.failures.forgetAll()
    await this.#drive.change(target, booking, { drainMs: 0, restart: true })
  }

  /** The lane is no more: what it runs ends, after a drain. Never rejects. */
  async retire(drainMs: number): Promise<void> {
    this.close()
    const { log, slot } = this.#deps
    await slot.stop({ drainMs }).catch((cause: unknown) => {
      log.warn({ lane: this.name, reason: messageOf(cause) }, 'the engine of a lane that is gone could not be stopped')
    })
  }

  /** No more looks; what runs is let be. */
  close(): void {
    this.#isClosed = true
    this.#cancelTimer?.()
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }

  /** Takes everything in, decides and acts. */
  look(): void {
    this.#isWoken = false
    if (this.#isClosed) return
    try {
      this.#lookNow()
    } catch (cause) {
      this.#deps.log.error({ lane: this.name, err: cause }, 'a fault in the loop of a lane')
      this.#arm(this.#deps.clock.nowMs() + FAULT_PAUSE_MS)
    }
  }

  #lookNow(): void {
    const { calendar, clock, name } = this.#deps
    const facts = this.#deps.facts()
    const nowMs = clock.nowMs()
    // Whoever asks for the list on the way gets the last answer, not another look.
    this.#dueMs = Number.POSITIVE_INFINITY
    const { readySinceMs } = this.#drive
    const settleMs = calendar.settle(name, nowMs, { afterMs: facts.noShowMs, readySinceMs })
    this.#drive.observe(nowMs, facts.loadTimeoutMs)
    const { question, decision, served, running } = this.#decide(nowMs, facts)
    this.#act(served, decision, nowMs, facts)
    const phase = this.#drive.phase(served, running)
    this.#last = { question, decision, served, phase, running }
    this.#teller.looked({ ...this.#last, nowMs, current: this.current })
    const stayInMs = this.#stays.review(clock.monotonicMs(), facts.drainMs)
    const timeoutInMs = this.#drive.timeoutInMs(facts.loadTimeoutMs)
    const inMs = Math.min(facts.tickMs, stayInMs ?? facts.tickMs, timeoutInMs ?? facts.tickMs)
    const moments = [decision.reviewAtMs, served.reviewAtMs, settleMs, nowMs + Math.ceil(inMs)]
    this.#arm(Math.min(...moments.filter((atMs) => atMs !== undefined)))
  }

  #decide(nowMs: number, facts: LaneFacts): Omit<LaneLook, 'phase'> {
    const { calendar, estimateMs, name, slot } = this.#deps
    const { minPreloadMs, bufferMs, drainMs, stopTimeoutMs, manual } = facts
    const { current, readySinceMs } = this.#drive
    const bookings = calendar.upcoming(name, nowMs)
    const question: TargetQuestion = {
      ...{ nowMs, bookings, manual, current, estimateMs, minPreloadMs, bufferMs, drainMs, stopTimeoutMs },
      lastStartMs: calendar.lastStartMs(name, nowMs),
      default: facts.default,
      preparedFor: this.#preparedFor,
    }
    const decision = chooseTarget(question)
    this.failures.review(nowMs)
    if (this.failures.hasPermanent) this.#deps.refreshModels()
    const served = chooseServed({
      ...{ nowMs, decision, current, readySinceMs },
      default: facts.default,
      inFlight: slot.view().inFlight,
      failureOf: (target) => this.failures.of(target),
    })
    return { question, decision, served, running: bookings.find((booking) => isRunning(booking, nowMs)) }
  }

  #act(served: ServedDecision, decision: TargetDecision, nowMs: number, { drainMs }: LaneFacts): void {
    const { booking, target } = decision
    const failure = served.kind === 'wait' ? served.failure : served.isFallback ? this.failures.of(target) : undefined
    if (failure !== undefined && booking !== undefined) this.#teller.fallback(booking, failure, served)
    if (served.kind === 'wait') return
    if (!served.isFallback) this.#preparedFor = preparedBy(decision, nowMs)
    this.#drive.goTo(served.target, booking, drainMs)
  }

  #arm(atMs: number): void {
    this.#dueMs = atMs
    this.#cancelTimer?.()
    const { clock } = this.#deps
    this.#cancelTimer = clock.setTimer(Math.max(0, atMs - clock.nowMs()), () => this.look())
  }
}
