import type { NewEvent } from '../contract/events.ts'
import type { LanePhase, LaneTarget } from '../contract/lane.ts'
import { plainFailureText } from '../contract/plain-failure.ts'
import type { Log } from '../kernel/log.ts'
import { sentence } from '../kernel/sentence.ts'
import { isoTime, SECOND_MS } from '../kernel/units.ts'
import { LaneHistory } from './lane-history.ts'
import type { Notices } from './notices/notices.ts'
import { type Booking, targetOf } from './rules/booking.ts'
import type { ServedDecision, TargetDecision, TargetFailure } from './rules/decision.ts'
import { sameTarget, targetText } from './rules/lane-target.ts'

export interface LaneTellerDeps {
  readonly name: string
  readonly log: Log
  readonly publish: (event: NewEvent) => void
  readonly tell: Notices['tell']
  /** Absent = only what this life told counts. */
  readonly wasTold?: Notices['wasTold']
  readonly describeHolders: () => Promise<string>
}

/** What is told of one look. */
export interface ToldLook {
  readonly decision: TargetDecision
  readonly served: ServedDecision
  readonly phase: LanePhase
  readonly current: LaneTarget
  readonly nowMs: number
}

/** Tells what a lane does: each change once to log and bus, and to people what concerns their booking. Source: SPEC 12, 13, 17. */
export class LaneTeller {
  readonly history = new LaneHistory()
  readonly #deps: LaneTellerDeps
  #toldPhase = ''
  #toldTarget = ''
  readonly #fallbackOf = new Set<string>()
  readonly #memoryLooked = new Set<string>()

  constructor(deps: LaneTellerDeps) {
    this.#deps = deps
  }

  looked({ decision, served, phase, current, nowMs }: ToldLook): void {
    const { name } = this.#deps
    const { target, reason, booking, reviewAtMs, branch } = decision
    const isFallback = served.kind === 'run' && served.isFallback
    const data = { target, reason, branch, reservation: booking?.id ?? null, phase, current, is_fallback: isFallback }
    const toldTarget = JSON.stringify([target, reason, booking?.id, isFallback])
    if (toldTarget !== this.#toldTarget) {
      this.#toldTarget = toldTarget
      const until = reviewAtMs === undefined ? '' : `, until ${isoTime(reviewAtMs)} or a change`
      const standIn = served.kind === 'run' && isFallback ? ` (${targetText(served.target)} stands in)` : ''
      this.#publish('lane.target', 'info', `lane ${name}: ${targetText(target)} [${reason}]${standIn}${until}`, data)
    }
    const inPlaceOf = isFallback && sameTarget(current, served.target) ? target : undefined
    const toldPhase = JSON.stringify([phase, current, inPlaceOf])
    if (toldPhase === this.#toldPhase) return
    this.#toldPhase = toldPhase
    this.history.add({ atMs: nowMs, phase, target: current, reason, inPlaceOf })
    // Of a change it is told what comes after it.
    const what = phase === 'draining' || phase === 'stopping' ? ', then' : ':'
    const standIn = inPlaceOf === undefined ? '' : `, in the place of ${targetText(inPlaceOf)}`
    this.#publish('lane.phase', 'info', `lane ${name} is ${phase}${what} ${targetText(current)}${standIn}`, data)
  }

  failed(target: LaneTarget, failure: TargetFailure): void {
    const { name } = this.#deps
    this.history.addFailure({ target, failure })
    const next =
      failure.retry.kind === 'never'
        ? 'it is not tried again before the model or the profile is another'
        : `it is tried again in ${Math.round(failure.retry.delayMs / SECOND_MS)} s`
    const text = `lane ${name}: ${targetText(target)} failed (${failure.failures}): ${failure.message}; ${next}`
    this.#publish('lane.failed', 'error', text, { target, failures: failure.failures, code: failure.code })
  }

  /** What was booked cannot be loaded now. Once per booking; people are told, also across restarts, by the notices. */
  fallback(booking: Booking, failure: TargetFailure, served: ServedDecision): void {
    if (this.#fallbackOf.has(booking.id)) return
    this.#fallbackOf.add(booking.id)
    const standIn =
      served.kind === 'run'
        ? `The default of the lane, ${targetText(served.target)}, serves in its place.`
        : 'Nothing stands in for it: the lane has no other default that works.'
    const next =
      failure.retry.kind === 'never'
        ? 'It is not tried again before the model or the profile is another.'
        : 'hal0 keeps trying.'
    const detailOf = (why: string) => [sentence(why), standIn, next].join(' ')
    const [detail, adminDetail] = [detailOf(plainFailureText(failure)), detailOf(failure.message)]
    this.#deps.tell({ event: 'fallback', booking, occasion: '', detail, adminDetail })
  }

  /** The lane is on this now. */
  arrived(target: LaneTarget, booking: Booking | undefined): void {
    if (booking === undefined || !sameTarget(targetOf(booking), target)) return
    if (booking.use.kind === 'exclusive') return void this.#lookAtMemory(booking)
    // Also who was told by a daemon that was killed meanwhile hears that it is over.
    const isKnown = this.#fallbackOf.delete(booking.id) || this.#deps.wasTold?.('fallback', booking.id) === true
    if (isKnown) this.#deps.tell({ event: 'recovered', booking, occasion: '', detail: '' })
  }

  /** Before the whole card is somebody's: is it really empty? Source: SPEC 12 "Before an exclusive start". */
  async #lookAtMemory(booking: Booking): Promise<void> {
    if (this.#memoryLooked.has(booking.id)) return
    this.#memoryLooked.add(booking.id)
    const holders = await this.#deps.describeHolders()
    if (holders === '') return
    this.#deps.tell({ event: 'memory_held', booking, occasion: '', detail: holders })
    const text = `lane ${this.#deps.name} is empty, and its memory is not: ${holders}`
    this.#publish('lane.memory_held', 'warning', text, { reservation: booking.id })
  }

  #publish(
    type: string,
    severity: NewEvent['severity'],
    message: string,
    facts: Readonly<Record<string, unknown>>,
  ): void {
    const { log, name, publish } = this.#deps
    const data = { lane: name, ...facts }
    log[severity === 'warning' ? 'warn' : severity](data, message)
    publish({ type, severity, source: `lane:${name}`, message, data })
  }
}
