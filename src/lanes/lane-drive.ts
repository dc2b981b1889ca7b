import type { LanePhase, LaneTarget } from '../contract/lane.ts'
import type { Clock } from '../kernel/clock.ts'
import { Hal0Error, messageOf, toHal0Error } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { FailureBook } from './failure-book.ts'
import type { LaneSlot, LaneSlotView } from './lane-slot.ts'
import type { Booking } from './rules/booking.ts'
import type { ServedDecision } from './rules/decision.ts'
import { NOTHING, sameTarget, targetText } from './rules/lane-target.ts'

export interface LaneDriveDeps {
  readonly name: string
  readonly clock: Clock
  readonly log: Log
  readonly slot: LaneSlot
  readonly failures: FailureBook
  /** Who holds memory of the lane's GPUs, in one sentence; '' = nobody, or it cannot be told. Never rejects. */
  readonly describeHolders: () => Promise<string>
}

export interface LaneDriveHost {
  /** There may be something new to see. */
  wake(): void
  /** It is there: loaded, or (nothing) gone. */
  onArrived(target: LaneTarget, booking: Booking | undefined): void
  onFailed(target: LaneTarget): void
}

/** A change of the slot that is under way. */
interface Switch {
  readonly target: LaneTarget
  /** Monotonic ms, as is the next. */
  readonly begunMs: number
  readonly booking: Booking | undefined
  loadingSinceMs: number | undefined
}

export interface SwitchOptions {
  readonly drainMs: number
  readonly restart: boolean
}

/** Ready for so long, what failed before does not count any more. */
const PROVEN_AFTER_MS = 60 * SECOND_MS
/** Who holds the memory is asked of tools that may hang. */
const HOLDERS_WAIT_MS = 2 * SECOND_MS
/** A stop that failed is not tried again at once. */
const STOP_PAUSE_MS = 5 * SECOND_MS

/**
 * What the slot of one lane is on, and the changes of it; belongs to the lane's loop. How long something has taken is asked of the monotonic clock:
 * a machine that slept has not loaded meanwhile, and a wall clock that was set back makes nothing take longer. Source: SPEC 12 "Switching", "Failure".
 */
export class LaneDrive {
  readonly #deps: LaneDriveDeps
  readonly #host: LaneDriveHost
  #current: LaneTarget
  #readySinceMs: number | undefined
  #switch: Switch | undefined
  /** The booking that it was got ready for last. */
  #arrivedFor: string | undefined
  /** Of a load that nobody here began: an earlier daemon left it, or its engine stands still. Monotonic ms. */
  #foundLoadingMs: number | undefined
  #stopNotBeforeMs = Number.NEGATIVE_INFINITY

  constructor(deps: LaneDriveDeps, host: LaneDriveHost) {
    this.#deps = deps
    this.#host = host
    this.#current = foundOn(deps.slot.view())
  }

  /** What the lane is on, or on its way to. */
  get current(): LaneTarget {
    return this.#current
  }

  /** Since when it can serve, epoch ms, never in the future; undefined = it cannot. */
  get readySinceMs(): number | undefined {
    return this.#readySinceMs
  }

  /** Is it on its way to this booking for the first time? Once it was there, a later load is no start any more. */
  isStarting(bookingId: string): boolean {
    return this.#switch?.booking?.id === bookingId && this.#arrivedFor !== bookingId
  }

  /** Looks at what became of the slot by itself; a change that is under way tells its own end, if it comes in time. */
  observe(nowMs: number, loadTimeoutMs: number): void {
    const { clock, failures, slot } = this.#deps
    const view = slot.view()
    if (this.#switch !== undefined || view.state !== 'loading') this.#foundLoadingMs = undefined
    if (this.#switch !== undefined) return this.#observeSwitch(this.#switch, view, nowMs, loadTimeoutMs)
    if (this.#current.kind === 'nothing') {
      // It is taken for what it is, and the decision goes from there.
      this.#current = foundOn(view)
      return
    }
    if (view.state === 'up') {
      this.#current = view.running ?? this.#current
      // One of the future is of a clock that was set back.
      this.#readySinceMs = Math.min(this.#readySinceMs ?? nowMs, nowMs)
      if (nowMs - this.#readySinceMs >= PROVEN_AFTER_MS) failures.proven(this.#current)
      return
    }
    this.#readySinceMs = undefined
    if (view.state === 'loading') {
      this.#foundLoadingMs ??= clock.monotonicMs()
      if (clock.monotonicMs() >= this.#foundLoadingMs + loadTimeoutMs) this.#giveUp(this.#current, nowMs, loadTimeoutMs)
      return
    }
    if (view.state !== 'failed' && view.state !== 'down') return
    const { code = 'slot.spawn_failed', message = 'its engine ended' } = view.failure ?? {}
    this.#failed(this.#current, code, message, nowMs)
    this.#current = NOTHING
  }

  #observeSwitch(change: Switch, view: LaneSlotView, nowMs: number, loadTimeoutMs: number): void {
    const monotonicMs = this.#deps.clock.monotonicMs()
    if (view.state === 'loading') change.loadingSinceMs ??= monotonicMs
    const sinceMs = change.loadingSinceMs
    if (sinceMs === undefined || monotonicMs < sinceMs + loadTimeoutMs) return
    this.#giveUp(change.target, nowMs, loadTimeoutMs)
  }

  #giveUp(target: LaneTarget, nowMs: number, loadTimeoutMs: number): void {
    const waited = `${Math.round(loadTimeoutMs / SECOND_MS)} s`
    this.#failed(target, 'slot.health_failed', `it was not ready within ${waited} (load_timeout_seconds)`, nowMs)
    this.begin(NOTHING, undefined, { drainMs: 0, restart: false })
  }

  /** Goes there, if it is not there or on its way. */
  goTo(target: LaneTarget, booking: Booking | undefined, drainMs: number): void {
    if (sameTarget(target, this.#current)) return
    if (target.kind === 'nothing' && this.#deps.clock.monotonicMs() < this.#stopNotBeforeMs) return
    this.begin(target, booking, { drainMs, restart: false })
  }

  /** As `change`, for those who do not wait: its end is seen at the next look. */
  begin(target: LaneTarget, booking: Booking | undefined, options: SwitchOptions): void {
    void this.change(target, booking, options).catch(() => undefined)
  }

  /** Another change may be under way: this one counts. Resolves when it has arrived. Errors: the load's; `model_switching` when a later one counts. */
  async change(target: LaneTarget, booking: Booking | undefined, options: SwitchOptions): Promise<void> {
    const { clock, log, name, slot } = this.#deps
    const change: Switch = { target, booking, begunMs: clock.monotonicMs(), loadingSinceMs: undefined }
    this.#switch = change
    this.#current = target
    this.#readySinceMs = undefined
    log.info({ lane: name, target: targetText(target), reservation: booking?.id }, 'the lane switches')
    try {
      await (target.kind === 'nothing' ? slot.stop({ drainMs: options.drainMs }) : slot.run(target, options))
      if (this.#switch !== change) throw overtaken(name, target)
      this.#arrived(change)
    } catch (thrown) {
      if (this.#switch === change) await this.#changeFailed(change, thrown)
      throw thrown
    } finally {
      this.#host.wake()
    }
  }

  #arrived({ target, booking }: Switch): void {
    this.#switch = undefined
    this.#arrivedFor = booking?.id
    if (target.kind === 'model') {
      this.#readySinceMs = this.#deps.clock.nowMs()
      this.#deps.failures.succeeded(target)
    }
    this.#host.onArrived(target, booking)
  }

  async #changeFailed(change: Switch, thrown: unknown): Promise<void> {
    const { clock, slot } = this.#deps
    const error = toHal0Error(thrown)
    const message = await this.#withHolders(messageOf(error))
    if (this.#switch !== change) return
    this.#switch = undefined
    this.#failed(change.target, error.code, message, clock.nowMs())
    // A mistake in the files is found before anything is stopped: then the old one still runs.
    this.#current = slot.view().running ?? NOTHING
  }

  #failed(target: LaneTarget, code: string, message: string, nowMs: number): void {
    this.#readySinceMs = undefined
    if (target.kind === 'nothing') {
      this.#stopNotBeforeMs = this.#deps.clock.monotonicMs() + STOP_PAUSE_MS
      this.#deps.log.warn({ lane: this.#deps.name, code, reason: message }, 'the engine of a lane could not be stopped')
      return
    }
    const { cause = null } = this.#deps.slot.view().failure ?? {}
    this.#deps.failures.failed(target, { nowMs, code, message, cause })
    this.#host.onFailed(target)
  }

  /** Out of memory: who else has it? */
  async #withHolders(message: string): Promise<string> {
    const { clock, describeHolders, slot } = this.#deps
    if (slot.view().failure?.cause !== 'out_of_memory') return message
    const holders = await new Promise<string>((resolve) => {
      const cancel = clock.setTimer(HOLDERS_WAIT_MS, () => resolve(''))
      void describeHolders().then((text) => {
        cancel()
        resolve(text)
      })
    })
    return holders === '' ? message : `${message}. ${holders}`
  }

  /** `running`: the booking whose window it is. */
  phase(served: ServedDecision, running: Booking | undefined): LanePhase {
    const view = this.#deps.slot.view()
    const change = this.#switch
    const isOnTheWayOut = view.state === 'draining' || view.state === 'stopping'
    if (change !== undefined) {
      if (isOnTheWayOut) return view.state === 'draining' ? 'draining' : 'stopping'
      const isOld = view.state === 'up' && view.running !== undefined && !sameTarget(view.running, change.target)
      if (isOld) return 'draining'
      return change.target.kind === 'model' ? 'loading' : 'off'
    }
    // What still runs serves those who come by; a holder has booked something else.
    if (served.kind === 'wait' && (running !== undefined || view.state !== 'up')) return 'waiting'
    if (isOnTheWayOut) return view.state === 'draining' ? 'draining' : 'stopping'
    if (this.#current.kind === 'nothing') return 'off'
    return view.state === 'up' ? 'ready' : 'loading'
  }

  /** When can it probably serve? ms from now; undefined = nothing is on its way. */
  remainingMs(drainMs: () => number, estimateMs: (target: LaneTarget) => number): number | undefined {
    const change = this.#switch
    if (change === undefined) return undefined
    const monotonicMs = this.#deps.clock.monotonicMs()
    const sinceMs = change.loadingSinceMs ?? Math.max(monotonicMs, change.begunMs + drainMs())
    return Math.max(SECOND_MS, sinceMs + estimateMs(change.target) - monotonicMs)
  }

  /** In how many ms the load that runs has taken too long. */
  timeoutInMs(loadTimeoutMs: number): number | undefined {
    const sinceMs = this.#switch === undefined ? this.#foundLoadingMs : this.#switch.loadingSinceMs
    return sinceMs === undefined ? undefined : sinceMs + loadTimeoutMs - this.#deps.clock.monotonicMs()
  }
}

/**
 * What a slot is on that this lane did not bring there: an earlier daemon left it. What is on its way out is a lane's of the same name that is gone:
 * it is no more.
 */
function foundOn({ state, running }: LaneSlotView): LaneTarget {
  return state === 'draining' || state === 'stopping' ? NOTHING : (running ?? NOTHING)
}

function overtaken(lane: string, target: LaneTarget): Hal0Error {
  return Hal0Error.of('model_switching', `lane ${lane} was given something else to run than ${targetText(target)}`, {
    retryAfterS: 5,
  })
}
