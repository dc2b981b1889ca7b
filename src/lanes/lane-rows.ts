import type { LiveLanes } from '../config/lanes/live-lanes.ts'
import type { LaneBooking, LaneManual, LaneRow, PlanStep } from '../contract/lane.ts'
import { isoTime } from '../kernel/units.ts'
import type { LaneActor } from './lane-actor.ts'
import { type Booking, isInForce, targetOf } from './rules/booking.ts'
import { readFacts } from './rules/choose-target.ts'
import type { ManualChoice, ServedDecision, TargetFailure } from './rules/decision.ts'
import { sameTarget } from './rules/lane-target.ts'
import { laneWarnings } from './rules/lane-warnings.ts'
import type { planAhead } from './rules/plan-ahead.ts'

type LaneFile = ReturnType<LiveLanes['all']>[number]

export interface RowSources {
  readonly file: LaneFile
  readonly actor: LaneActor
  readonly inFlight: number
  readonly manual: ManualChoice | undefined
  readonly storeProblem: string | undefined
  readonly nameOfUser: (userId: string) => string | undefined
  /** GPUs of the lane that this machine does not show. */
  readonly missingGpus: readonly number[]
}

/** The wire's view of one lane. Source: SPEC 16. */
export function buildLaneRow(sources: RowSources): LaneRow {
  const { file, actor, inFlight, manual, storeProblem, nameOfUser, missingGpus } = sources
  const { question, decision, served, phase, running } = actor.seen()
  const { config } = file
  const next = question.bookings.find((booking) => isInForce(booking) && booking.startMs > question.nowMs)
  const toRow = (one: Booking | undefined) => (one === undefined ? null : bookingRow(one, nameOfUser))
  return {
    name: file.name,
    device: config.device,
    gpus: [...config.gpus],
    phase,
    target: decision.target,
    reason: decision.reason,
    review_at: decision.reviewAtMs === undefined ? null : isoTime(decision.reviewAtMs),
    current: actor.current,
    is_fallback: actor.isFallback,
    active: toRow(running),
    next: toRow(next),
    // One that is over, or that a booking has ended, is of no use to anybody.
    manual: manual === undefined || readFacts(question).manual !== 'counts' ? null : manualRow(manual),
    default: question.default,
    failures: actor.failures.all().map(({ target, failure }) => ({
      target,
      failures: failure.failures,
      code: failure.code,
      cause: failure.cause ?? null,
      message: failure.message,
      failed_at: isoTime(failure.failedAtMs),
      retry_at: retryAtOf(failure, sameTarget(target, decision.target) ? served : undefined),
    })),
    approval: config.approval,
    allow_exclusive: config.allow_exclusive,
    in_flight: inFlight,
    config_problem: file.problem ?? null,
    store_problem: storeProblem ?? null,
    warnings: [...laneWarnings({ config, missingGpus, bookings: question.bookings, nowMs: question.nowMs })],
  }
}

/** When it is tried again; null = not before the model or the profile is another. `served`: what is done with it meanwhile, where it is wanted. */
export function retryAtOf({ retry, failedAtMs }: TargetFailure, served?: ServedDecision): string | null {
  if (retry.kind === 'never') return null
  // Over a stand-in the clock begins when that is ready.
  const standInMs = served?.kind === 'run' && served.isFallback ? served.reviewAtMs : undefined
  return isoTime(standInMs ?? failedAtMs + retry.delayMs)
}

export function bookingRow(booking: Booking, nameOfUser: (userId: string) => string | undefined): LaneBooking {
  return {
    id: booking.id,
    start: isoTime(booking.startMs),
    end: isoTime(booking.endMs),
    target: booking.use.kind === 'exclusive' ? null : targetOf(booking),
    owner: nameOfUser(booking.ownerId) ?? null,
  }
}

export function manualRow({ target, madeAtMs, madeBy, untilMs }: ManualChoice): LaneManual {
  return { target, made_at: isoTime(madeAtMs), made_by: madeBy, until: untilMs === undefined ? null : isoTime(untilMs) }
}

export function planRows(pieces: ReturnType<typeof planAhead>): PlanStep[] {
  return pieces.map(({ fromMs, untilMs, decision }) => ({
    from: isoTime(fromMs),
    until: isoTime(untilMs),
    target: decision.target,
    reason: decision.reason,
    reservation_id: decision.booking?.id ?? null,
  }))
}
