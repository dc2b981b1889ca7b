import type { LiveLanes } from '../config/lanes/live-lanes.ts'
import type { LaneBooking, LaneManual, LaneRow, PlanStep } from '../contract/lane.ts'
import { isoTime } from '../kernel/units.ts'
import type { LaneActor } from './lane-actor.ts'
import { type Booking, isInForce, targetOf } from './rules/booking.ts'
import { readFacts } from './rules/choose-target.ts'
import type { ManualChoice } from './rules/decision.ts'
import type { planAhead } from './rules/plan-ahead.ts'

type LaneFile = ReturnType<LiveLanes['all']>[number]

export interface RowSources {
  readonly file: LaneFile
  readonly actor: LaneActor
  readonly inFlight: number
  readonly manual: ManualChoice | undefined
  readonly storeProblem: string | undefined
  readonly nameOfUser: (userId: string) => string | undefined
}

/** The wire's view of one lane. Source: SPEC 16. */
export function buildLaneRow({ file, actor, inFlight, manual, storeProblem, nameOfUser }: RowSources): LaneRow {
  const { question, decision, phase, running } = actor.seen()
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
      message: failure.message,
      failed_at: isoTime(failure.failedAtMs),
      retry_at: failure.retry.kind === 'never' ? null : isoTime(failure.failedAtMs + failure.retry.delayMs),
    })),
    approval: config.approval,
    allow_exclusive: config.allow_exclusive,
    in_flight: inFlight,
    config_problem: file.problem ?? null,
    store_problem: storeProblem ?? null,
  }
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
