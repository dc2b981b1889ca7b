import { type Booking, isInForce, isRunning, targetOf } from './booking.ts'
import type { LaneTimes, TargetDecision, TargetQuestion } from './decision.ts'
import { type LaneTarget, sameTarget } from './lane-target.ts'

/** What a length of time is reckoned from. */
type Reckoning = LaneTimes & Pick<TargetQuestion, 'estimateMs'>

/** How long before its start a lane gets ready for a booking, whole ms ≥ 0. Source: SPEC 12 "Target" 2. */
export function leadMs({ use }: Pick<Booking, 'use'>, lane: Reckoning): number {
  // Who streams when it begins must not make the booking late.
  const spareMs = Math.max(lane.bufferMs, lane.drainMs ?? 0)
  if (use.kind === 'exclusive') return Math.ceil(lane.stopTimeoutMs + spareMs)
  return Math.ceil(Math.max(estimateOf(use, lane) + spareMs, lane.minPreloadMs))
}

function estimateOf(target: LaneTarget, lane: Reckoning): number {
  return target.kind === 'nothing' ? lane.stopTimeoutMs : lane.estimateMs(target)
}

/** Why a manual choice counts or not. `overtaken`: a booking has started since it was made. */
export type ManualStanding = 'none' | 'counts' | 'over' | 'overtaken'

/** The next booking in force, as branches 2 and 3 look at it. */
export interface NextBooking {
  readonly booking: Booking
  readonly target: LaneTarget
  /** Whole ms before its start. */
  readonly leadMs: number
  /** The branch that the lane went to its target by, and is on it still: that stands, whatever an estimate says by now. Undefined = it did not. */
  readonly preparedBranch: 2 | 3 | undefined
  /** With less time than this until its start it is not worth a switch to what 4 or 5 name, whole ms. */
  readonly switchMs: number
}

/** What the five branches find. */
export interface TargetFacts {
  readonly running: Booking | undefined
  readonly next: NextBooking | undefined
  readonly manual: ManualStanding
  /** Start of the last booking that has started, epoch ms; `-Infinity` = none. */
  readonly lastStartMs: number
  /** What branch 4 or 5 names. */
  readonly base:
    | { readonly target: LaneTarget; readonly reason: 'manual'; readonly branch: 4 }
    | { readonly target: LaneTarget; readonly reason: 'default'; readonly branch: 5 }
  /** The lane is neither on, nor loading, what 4 or 5 name. */
  readonly mustSwitch: boolean
}

/** What do the branches find at this moment? Source: SPEC 12 "Target". */
export function readFacts(question: TargetQuestion): TargetFacts {
  const { nowMs, bookings, current } = question
  let { lastStartMs } = question
  let running: Booking | undefined
  let next: Booking | undefined
  for (const booking of bookings) {
    if (!isInForce(booking)) continue
    if (booking.startMs > nowMs) {
      next = booking
      break
    }
    lastStartMs = Math.max(lastStartMs, booking.startMs)
    if (isRunning(booking, nowMs)) running = booking
  }
  const manual = judgeManual(question, lastStartMs)
  const base = chooseBase(question, manual)
  return {
    running,
    next: next === undefined ? undefined : lookAtNext(next, base.target, question),
    manual,
    lastStartMs,
    base,
    mustSwitch: !sameTarget(current, base.target),
  }
}

function judgeManual({ manual, nowMs }: TargetQuestion, lastStartMs: number): ManualStanding {
  if (manual === undefined) return 'none'
  if (manual.untilMs !== undefined && nowMs >= manual.untilMs) return 'over'
  return lastStartMs <= manual.madeAtMs ? 'counts' : 'overtaken'
}

function chooseBase(question: TargetQuestion, standing: ManualStanding): TargetFacts['base'] {
  const { manual } = question
  return manual !== undefined && standing === 'counts'
    ? { target: manual.target, reason: 'manual', branch: 4 }
    : { target: question.default, reason: 'default', branch: 5 }
}

function lookAtNext(booking: Booking, base: LaneTarget, question: TargetQuestion): NextBooking {
  const target = targetOf(booking)
  const { preparedFor, current, bufferMs } = question
  const isMeant = preparedFor?.bookingId === booking.id && preparedFor.startMs === booking.startMs
  return {
    booking,
    target,
    leadMs: leadMs(booking, question),
    preparedBranch: isMeant && sameTarget(current, target) ? preparedFor.branch : undefined,
    switchMs: Math.ceil(estimateOf(base, question) + estimateOf(target, question) + 2 * bufferMs),
  }
}

/**
 * What should a lane run now? The first of five branches that matches decides; only bookings in force count. At every whole ms from `nowMs` up
 * to, not including, `reviewAtMs` the same question has the same target, reason and booking. Source: SPEC 12 "Target".
 */
export function chooseTarget(question: TargetQuestion): TargetDecision {
  const { nowMs, manual } = question
  const facts = readFacts(question)
  const { running, next, base } = facts
  // 1
  if (running !== undefined) {
    const reason = running.use.kind === 'exclusive' ? 'exclusive' : 'reserved'
    return { target: targetOf(running), reason, branch: 1, booking: running, reviewAtMs: running.endMs }
  }
  const manualEndsMs = facts.manual === 'counts' ? manual?.untilMs : undefined
  if (next === undefined) return { ...base, booking: undefined, reviewAtMs: manualEndsMs }
  const { booking, target } = next
  const leadBeginsMs = booking.startMs - next.leadMs
  // 2
  if (leadBeginsMs <= nowMs || next.preparedBranch === 2) {
    return { target, reason: 'preload', branch: 2, booking, reviewAtMs: booking.startMs }
  }
  // 3
  if (next.preparedBranch === 3) return { target, reason: 'gap', branch: 3, booking, reviewAtMs: leadBeginsMs }
  const tooLateMs = booking.startMs - next.switchMs + 1
  if (facts.mustSwitch && tooLateMs <= nowMs) {
    return { target, reason: 'gap', branch: 3, booking, reviewAtMs: soonest(leadBeginsMs, manualEndsMs) }
  }
  // 4, 5
  const reviewAtMs = soonest(leadBeginsMs, manualEndsMs, facts.mustSwitch ? tooLateMs : undefined)
  return { ...base, booking: undefined, reviewAtMs }
}

function soonest(first: number, ...others: readonly (number | undefined)[]): number {
  return others.reduce<number>((best, at) => (at === undefined ? best : Math.min(best, at)), first)
}
