import type { NewEvent } from '../contract/events.ts'
import type { LanePhase, LaneTarget } from '../contract/lane.ts'
import type { CancelTimer, Clock } from '../kernel/clock.ts'
import { Hal0Error, messageOf, toHal0Error } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { isoTime, MINUTE_MS, SECOND_MS } from '../kernel/units.ts'
import type { Calendar } from './bookings/calendar.ts'
import { FailureBook } from './failure-book.ts'
import { LaneHistory } from './lane-history.ts'
import type { LaneSlot, LaneSlotView } from './lane-slot.ts'
import { type AccessAnswer, LaneStays } from './lane-stays.ts'
import type { Notices } from './notices/notices.ts'
import { type Booking, isRunning } from './rules/booking.ts'
import { chooseServed } from './rules/choose-served.ts'
import { chooseTarget } from './rules/choose-target.ts'
import { decideAdmission } from './rules/decide-admission.ts'
import type { LaneTimes, ManualChoice, ServedDecision, TargetDecision, TargetQuestion } from './rules/decision.ts'
import { NOTHING, sameTarget, targetText } from './rules/lane-target.ts'
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

export interface LaneActorDeps {
  readonly name: string
  readonly clock: Clock
  readonly log: Log
  readonly publish: (event: NewEvent) => void
  readonly slot: LaneSlot
  readonly calendar: Calendar
  /** Read at each look. */
  readonly facts: () => LaneFacts
  readonly estimateMs: (target: LaneTarget) => number
  /** What model and profile are at the moment: a failure that is theirs is over when it is another. */
  readonly fingerprintOf: (target: LaneTarget) => string
  readonly nameOfUser: (userId: string) => string | undefined
  readonly tell: Notices['tell']
  /** Who holds memory of the lane's GPUs (pid, program, bytes), in one sentence; '' = nobody, or it cannot be told. Never rejects. */
  readonly describeHolders: () => Promise<string>
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

/** A change of the slot that is under way. */
interface Switch {
  readonly target: LaneTarget
  readonly begunMs: number
  readonly booking: Booking | undefined
  loadingSinceMs: number | undefined
}

/** Ready for so long, what failed before does not count any more. */
const PROVEN_AFTER_MS = MINUTE_MS
/** Who holds the memory is asked of tools that may hang. */
const HOLDERS_WAIT_MS = 2 * SECOND_MS

/**
 * The loop of one lane, and the only one who drives its slot. A wake says that there may be something to see, never what: each look takes everything
 * in afresh, decides by the rules, acts, and arms one timer. Work that takes time runs outside and wakes it at its end. Source: SPEC 12, DESIGN "Level-triggered loops".
 */
export class LaneActor {
  readonly name: string
  readonly history = new LaneHistory()
  readonly #deps: LaneActorDeps
  readonly #stays: LaneStays
  readonly #failures: FailureBook
  #current: LaneTarget
  #readySinceMs: number | undefined
  #switch: Switch | undefined
  #preparedFor: TargetQuestion['preparedFor']
  #last: LaneLook | undefined
  /** Of what was told last, so that only changes are told. */
  #toldPhase = ''
  #toldTarget = ''
  #cancelTimer: CancelTimer | undefined
  #dueMs = Number.NEGATIVE_INFINITY
  #isWoken = false
  #isClosed = false
  #waitsForQuiet = false
  /** A stop that failed is not tried again at once. */
  #stopNotBeforeMs = Number.NEGATIVE_INFINITY
  readonly #fallbackOf = new Set<string>()
  readonly #memoryLooked = new Set<string>()
  readonly #unsubscribe: readonly (() => void)[]

  constructor(deps: LaneActorDeps) {
    this.name = deps.name
    this.#deps = deps
    this.#failures = new FailureBook(deps.fingerprintOf)
    this.#current = deps.slot.view().running ?? NOTHING
    this.#stays = new LaneStays({
      ask: (userId) => this.ask(userId),
      used: (reservationId) => deps.calendar.used(reservationId, deps.clock.nowMs()),
      left: () => {
        if (this.#waitsForQuiet) this.wake()
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
    if (this.#last === undefined) throw new Error(`lane ${this.name} was closed before it was looked at`)
    return this.#last
  }

  get current(): LaneTarget {
    return this.#current
  }

  get failures(): FailureBook {
    return this.#failures
  }

  /** Does it load for this booking, which is about to start or has started? Source: SPEC 13 "while it starts". */
  isStarting(bookingId: string): boolean {
    return this.#switch?.booking?.id === bookingId
  }

  get isFallback(): boolean {
    const served = this.#last?.served
    return served?.kind === 'run' && served.isFallback
  }

  /** The access list for this user, at the moment. Source: SPEC 14. */
  ask(userId: string): AccessAnswer {
    const { decision, phase, running, served } = this.seen()
    const nowMs = this.#deps.clock.nowMs()
    const failure = served.kind === 'wait' ? served.failure : undefined
    return decideAdmission({
      lane: this.name,
      userId,
      nowMs,
      running,
      ownerName: running === undefined ? undefined : this.#deps.nameOfUser(running.ownerId),
      phase,
      target: decision.target,
      remainingMs: this.#remainingMs(nowMs),
      failure,
      retryInMs:
        served.kind === 'wait' && served.reviewAtMs !== undefined ? Math.max(0, served.reviewAtMs - nowMs) : undefined,
      storeProblem: this.#deps.calendar.problem,
    })
  }

  enter(userId: string, onEnd: (error: Hal0Error) => void): ReturnType<LaneStays['enter']> {
    return this.#stays.enter(userId, onEnd)
  }

  /** Starts the engine anew at once; what failed before is forgotten. Resolves when it is ready. Errors: `slot.not_ready` where nothing is targeted, and the load's. */
  async reload(): Promise<void> {
    const { decision } = this.seen()
    const { target } = decision
    if (target.kind === 'nothing') {
      throw Hal0Error.of(
        'slot.not_ready',
        `lane ${this.name} is to run nothing now (${decision.reason}); there is nothing to reload`,
        {
          details: { lane: this.name, remedy: `Look why with \`hal0 lane explain ${this.name}\`.` },
        },
      )
    }
    this.#failures.forgetAll()
    await this.#begin(target, decision.booking, { drainMs: 0, restart: true })
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
      // A fault of ours must not end the loop.
      this.#deps.log.error({ lane: this.name, err: cause }, 'a fault in the loop of a lane')
      this.#arm(this.#deps.clock.nowMs() + 5 * SECOND_MS)
    }
  }

  #lookNow(): void {
    const { calendar, clock, slot } = this.#deps
    const facts = this.#deps.facts()
    const nowMs = clock.nowMs()
    // Whoever asks for the list on the way gets the last answer, not another look.
    this.#dueMs = Number.POSITIVE_INFINITY
    const settleMs = calendar.settle(this.name, nowMs, { afterMs: facts.noShowMs, readySinceMs: this.#readySinceMs })
    this.#observe(slot.view(), nowMs, facts)
    const { question, decision, served, running } = this.#decide(nowMs, facts)
    this.#waitsForQuiet = decision.target.kind === 'model' && served.kind === 'run' && served.isFallback
    this.#act(served, decision, nowMs, facts)
    const phase = this.#phaseOf(slot.view(), served, running)
    this.#last = { question, decision, served, phase, running }
    this.#tellOf(this.#last, nowMs)
    const stayMs = this.#stays.review(nowMs, facts.drainMs)
    this.#arm(
      Math.min(
        ...[decision.reviewAtMs, served.reviewAtMs, settleMs, stayMs, this.#timeoutMs(facts)].map(
          (atMs) => atMs ?? Number.POSITIVE_INFINITY,
        ),
        nowMs + facts.tickMs,
      ),
    )
  }

  #decide(nowMs: number, facts: LaneFacts): Omit<LaneLook, 'phase'> {
    const { calendar, estimateMs, name, slot } = this.#deps
    const bookings = calendar.upcoming(name, nowMs)
    const question: TargetQuestion = {
      nowMs,
      bookings,
      lastStartMs: calendar.lastStartMs(name, nowMs),
      manual: facts.manual,
      default: facts.default,
      current: this.#current,
      preparedFor: this.#preparedFor,
      estimateMs,
      minPreloadMs: facts.minPreloadMs,
      bufferMs: facts.bufferMs,
      stopTimeoutMs: facts.stopTimeoutMs,
    }
    const decision = chooseTarget(question)
    this.#failures.review()
    const served = chooseServed({
      nowMs,
      decision,
      default: facts.default,
      current: this.#current,
      readySinceMs: this.#readySinceMs,
      inFlight: slot.view().inFlight,
      failureOf: (target) => this.#failures.of(target),
    })
    const running = bookings.find((booking) => isRunning(booking, nowMs))
    return { question, decision, served, running }
  }

  /** What became of the slot by itself. A switch that is under way tells its own end. */
  #observe(view: LaneSlotView, nowMs: number, facts: LaneFacts): void {
    const change = this.#switch
    if (change !== undefined) {
      if (view.state === 'loading') change.loadingSinceMs ??= nowMs
      const sinceMs = change.loadingSinceMs
      if (sinceMs === undefined || nowMs < sinceMs + facts.loadTimeoutMs) return
      const waited = `${Math.round(facts.loadTimeoutMs / SECOND_MS)} s`
      this.#failed(
        change.target,
        'slot.health_failed',
        `it was not ready within ${waited} (load_timeout_seconds)`,
        nowMs,
      )
      void this.#begin(NOTHING, undefined, { drainMs: 0, restart: false }).catch(() => undefined)
      return
    }
    if (this.#current.kind === 'nothing') {
      // Only what an earlier daemon left can be there: it is taken for what it is, and the decision goes from there.
      this.#current = view.running ?? NOTHING
      return
    }
    if (view.state === 'up') {
      this.#current = view.running ?? this.#current
      this.#readySinceMs ??= nowMs
      if (nowMs - this.#readySinceMs >= PROVEN_AFTER_MS) this.#failures.proven(this.#current)
      return
    }
    this.#readySinceMs = undefined
    if (view.state !== 'failed' && view.state !== 'down') return
    const { code = 'slot.spawn_failed', message = 'its engine ended' } = view.failure ?? {}
    this.#failed(this.#current, code, message, nowMs)
    this.#current = NOTHING
  }

  #act(served: ServedDecision, decision: TargetDecision, nowMs: number, facts: LaneFacts): void {
    const { target } = decision
    const isPreparation = decision.reason === 'preload' || decision.reason === 'gap'
    if (served.kind === 'run' && !served.isFallback)
      this.#preparedFor = isPreparation ? preparedBy(decision, nowMs) : undefined
    const failure = served.kind === 'wait' ? served.failure : served.isFallback ? this.#failures.of(target) : undefined
    if (failure !== undefined && decision.booking !== undefined)
      this.#tellFallback(decision.booking, failure.message, served)
    if (served.kind === 'wait') return
    if (sameTarget(served.target, this.#current)) return
    if (served.target.kind === 'nothing' && nowMs < this.#stopNotBeforeMs) return
    const options = { drainMs: facts.drainMs, restart: false }
    void this.#begin(served.target, decision.booking, options).catch(() => undefined)
  }

  /** Another switch may be under way: this one counts. */
  async #begin(
    target: LaneTarget,
    booking: Booking | undefined,
    options: { readonly drainMs: number; readonly restart: boolean },
  ): Promise<void> {
    const { clock, log, slot } = this.#deps
    const change: Switch = { target, booking, begunMs: clock.nowMs(), loadingSinceMs: undefined }
    this.#switch = change
    this.#current = target
    this.#readySinceMs = undefined
    log.info({ lane: this.name, target: targetText(target), reservation: booking?.id }, 'the lane switches')
    try {
      await (target.kind === 'nothing' ? slot.stop({ drainMs: options.drainMs }) : slot.run(target, options))
      if (this.#switch !== change) throw this.#overtaken(target)
      this.#ready(change)
    } catch (thrown) {
      if (this.#switch !== change) throw thrown
      const error = toHal0Error(thrown)
      const detail = await this.#withHolders(messageOf(error), slot.view())
      if (this.#switch !== change) throw error
      this.#switch = undefined
      this.#failed(target, error.code, detail, clock.nowMs())
      // A mistake in the files is found before anything is stopped: then the old one still runs.
      this.#current = slot.view().running ?? NOTHING
      throw error
    } finally {
      this.wake()
    }
  }

  #ready(change: Switch): void {
    this.#switch = undefined
    const { clock, tell } = this.#deps
    if (change.target.kind === 'model') {
      this.#readySinceMs = clock.nowMs()
      this.#failures.succeeded(change.target)
    }
    const { booking } = change
    if (booking === undefined) return
    const isItsOwn = booking.use.kind === 'model' && sameTarget(booking.use, change.target)
    if (isItsOwn && this.#fallbackOf.delete(booking.id)) tell({ event: 'recovered', booking, occasion: '', detail: '' })
    if (booking.use.kind === 'exclusive') void this.#lookAtMemory(booking)
  }

  #failed(target: LaneTarget, code: string, message: string, nowMs: number): void {
    if (target.kind === 'nothing') {
      this.#stopNotBeforeMs = nowMs + this.#deps.facts().tickMs
      this.#deps.log.warn({ lane: this.name, code, reason: message }, 'the engine of a lane could not be stopped')
      return
    }
    const failure = this.#failures.failed(target, { nowMs, code, message })
    this.#readySinceMs = undefined
    const next =
      failure.retry.kind === 'never'
        ? 'it is not tried again before the model or the profile is another'
        : `it is tried again in ${Math.round(failure.retry.delayMs / SECOND_MS)} s`
    const text = `lane ${this.name}: ${targetText(target)} failed (${failure.failures}): ${message}; ${next}`
    this.#publish('lane.failed', 'error', text, { target, failures: failure.failures, code })
  }

  #tellFallback(booking: Booking, reason: string, served: ServedDecision): void {
    if (this.#fallbackOf.has(booking.id)) return
    this.#fallbackOf.add(booking.id)
    const standIn =
      served.kind === 'run'
        ? `${targetText(served.target)}, the default of the lane, serves in its place until a retry succeeds.`
        : 'Nothing stands in for it: the lane has no other default.'
    this.#deps.tell({ event: 'fallback', booking, occasion: '', detail: `${reason}. ${standIn}` })
  }

  /** Before the whole card is somebody's: is it really empty? Source: SPEC 12 "Before an exclusive start". */
  async #lookAtMemory(booking: Booking): Promise<void> {
    if (this.#memoryLooked.has(booking.id)) return
    this.#memoryLooked.add(booking.id)
    const holders = await this.#deps.describeHolders()
    if (holders === '' || this.#isClosed) return
    this.#deps.tell({ event: 'memory_held', booking, occasion: '', detail: holders })
    this.#publish('lane.memory_held', 'warning', `lane ${this.name} is empty, and its memory is not: ${holders}`, {
      reservation: booking.id,
    })
  }

  /** Out of memory: who else has it? */
  async #withHolders(message: string, view: LaneSlotView): Promise<string> {
    if (view.failure?.cause !== 'out_of_memory') return message
    const { clock, describeHolders } = this.#deps
    const holders = await new Promise<string>((resolve) => {
      const cancel = clock.setTimer(HOLDERS_WAIT_MS, () => resolve(''))
      void describeHolders().then((text) => {
        cancel()
        resolve(text)
      })
    })
    return holders === '' ? message : `${message}. ${holders}`
  }

  #phaseOf(view: LaneSlotView, served: ServedDecision, running: Booking | undefined): LanePhase {
    const change = this.#switch
    if (change !== undefined) {
      if (view.state === 'draining' || view.state === 'stopping') return view.state
      if (view.state === 'up' && view.running !== undefined && !sameTarget(view.running, change.target))
        return 'draining'
      return change.target.kind === 'model' ? 'loading' : 'off'
    }
    // What still runs serves those who come by; a holder has booked something else.
    if (served.kind === 'wait' && (running !== undefined || view.state !== 'up')) return 'waiting'
    if (view.state === 'draining' || view.state === 'stopping') return view.state
    if (this.#current.kind === 'nothing') return 'off'
    return view.state === 'up' ? 'ready' : 'loading'
  }

  /** When can it probably serve? ms; undefined = nothing is on its way. */
  #remainingMs(nowMs: number): number | undefined {
    const change = this.#switch
    if (change === undefined) return undefined
    const { drainMs } = this.#deps.facts()
    const sinceMs = change.loadingSinceMs ?? Math.max(nowMs, change.begunMs + drainMs)
    return Math.max(SECOND_MS, sinceMs + this.#deps.estimateMs(change.target) - nowMs)
  }

  #timeoutMs({ loadTimeoutMs }: LaneFacts): number | undefined {
    const sinceMs = this.#switch?.loadingSinceMs
    return sinceMs === undefined ? undefined : sinceMs + loadTimeoutMs
  }

  #overtaken(target: LaneTarget): Hal0Error {
    return Hal0Error.of(
      'model_switching',
      `lane ${this.name} was given something else to run than ${targetText(target)}`,
      {
        retryAfterS: 5,
      },
    )
  }

  #tellOf({ decision, phase, served }: LaneLook, nowMs: number): void {
    const { target, reason, booking, reviewAtMs, branch } = decision
    const isFallback = served.kind === 'run' && served.isFallback
    const data = {
      target,
      reason,
      branch,
      reservation: booking?.id ?? null,
      phase,
      current: this.#current,
      is_fallback: isFallback,
    }
    const toldTarget = JSON.stringify([target, reason, booking?.id, isFallback])
    if (toldTarget !== this.#toldTarget) {
      this.#toldTarget = toldTarget
      const until = reviewAtMs === undefined ? '' : `, until ${isoTime(reviewAtMs)} or a change`
      const standIn = served.kind === 'run' && isFallback ? ` (${targetText(served.target)} stands in)` : ''
      this.#publish(
        'lane.target',
        'info',
        `lane ${this.name}: ${targetText(target)} [${reason}]${standIn}${until}`,
        data,
      )
    }
    const toldPhase = JSON.stringify([phase, this.#current])
    if (toldPhase === this.#toldPhase) return
    this.history.add({ atMs: nowMs, phase, target: this.#current, reason })
    this.#toldPhase = toldPhase
    this.#publish('lane.phase', 'info', `lane ${this.name} is ${phase}: ${targetText(this.#current)}`, data)
  }

  #publish(
    type: string,
    severity: NewEvent['severity'],
    message: string,
    data: Readonly<Record<string, unknown>>,
  ): void {
    const event: NewEvent = { type, severity, source: `lane:${this.name}`, message, data: { lane: this.name, ...data } }
    this.#deps.log[severity === 'error' ? 'error' : severity === 'warning' ? 'warn' : 'info'](
      { lane: this.name, ...data },
      message,
    )
    this.#deps.publish(event)
  }

  #arm(atMs: number): void {
    this.#dueMs = atMs
    this.#cancelTimer?.()
    const { clock } = this.#deps
    this.#cancelTimer = clock.setTimer(Math.max(0, atMs - clock.nowMs()), () => this.look())
  }
}
