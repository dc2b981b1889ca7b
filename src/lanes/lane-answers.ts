import type { LaneExplanation, LaneManualAnswer, LaneRow, LaneTimeline } from '../contract/lane.ts'
import { plainFailureText } from '../contract/plain-failure.ts'
import type { ReservationRow } from '../contract/reservation.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { HOUR_MS, isoTime } from '../kernel/units.ts'
import type { LaneActor } from './lane-actor.ts'
import { manualRow, planRows, retryAtOf } from './lane-rows.ts'
import { chooseTarget } from './rules/choose-target.ts'
import type { ManualChoice, TargetQuestion } from './rules/decision.ts'
import type { LoadEstimate } from './rules/estimate-load.ts'
import { explainTarget } from './rules/explain-target.ts'
import { type LaneTarget, targetKey } from './rules/lane-target.ts'
import { planAhead, preparedBy } from './rules/plan-ahead.ts'

const DAY_MS = 24 * HOUR_MS
/** As far as a manual choice is looked ahead for. */
const MANUAL_AHEAD_MS = 31 * DAY_MS

/**
 * Which rule decides at that moment (undefined = now), what would change it, and the 24 hours from there. What failed is not looked ahead for.
 * Errors: `validation.invalid` for a moment that has passed. Source: SPEC 12, 18 `lane explain`.
 */
export function explainLane(
  actor: LaneActor,
  atMs: number | undefined,
  estimate: (target: LaneTarget) => LoadEstimate,
): LaneExplanation {
  const { question: now, served } = actor.seen()
  const question = questionAt(now, atMs ?? now.nowMs)
  const decision = chooseTarget(question)
  const failure = actor.failures.of(decision.target)
  const standing = question === now ? { lane: actor.name, served, failure, current: actor.current } : undefined
  const { branches, toChange, review, reviewAtMs, instead } = explainTarget(question, decision, standing)
  const plan = planAhead(question, question.nowMs + DAY_MS)
  const targets = new Map(
    [decision.target, question.default, ...plan.map((piece) => piece.decision.target)].map((one) => [
      targetKey(one),
      one,
    ]),
  )
  return {
    lane: actor.name,
    at: isoTime(question.nowMs),
    target: decision.target,
    reason: decision.reason,
    review_at: reviewAtMs === undefined ? null : isoTime(reviewAtMs),
    review: review ?? null,
    instead:
      instead === undefined
        ? null
        : {
            target: instead.target,
            is_fallback: instead.isFallback,
            code: instead.code,
            retry_at: instead.retryAtMs === undefined ? null : isoTime(instead.retryAtMs),
            text: instead.text,
          },
    branches: [...branches],
    to_change: [...toChange],
    plan: planRows(plan),
    estimates: [...targets.values()].map((target) => {
      const { ms, source } = estimate(target)
      return { target, seconds: ms / 1000, source }
    }),
  }
}

/** The lane as it will be then, if all goes as planned. */
function questionAt(now: TargetQuestion, atMs: number): TargetQuestion {
  if (atMs < now.nowMs) {
    throw Hal0Error.of('validation.invalid', `at: ${isoTime(atMs)} has passed; expected now or later`, {
      param: 'at',
      details: { remedy: 'What was is told by `hal0 lane timeline`.' },
    })
  }
  const last = planAhead(now, atMs).at(-1)?.decision
  if (last === undefined) return now
  return { ...now, nowMs: atMs, current: last.target, preparedFor: preparedBy(last, now.nowMs) }
}

/** Whether and when a choice by hand counts. Source: SPEC 12 "Target" 4. */
export function manualAnswer(actor: LaneActor, choice: ManualChoice, lane: LaneRow): LaneManualAnswer {
  const { question } = actor.seen()
  const pieces = planAhead({ ...question, manual: choice }, question.nowMs + MANUAL_AHEAD_MS)
  const nth = pieces.findIndex(({ decision }) => decision.reason === 'manual')
  const piece = pieces[nth]
  const manual = manualRow(choice)
  if (piece === undefined) {
    const message = 'It will not count: the next booking begins before it could.'
    return { manual, effect: 'never', at: null, ends_at: null, message, lane }
  }
  const endsAt = pieces.length > nth + 1 ? isoTime(piece.untilMs) : null
  const ends = endsAt === null ? '' : `, until ${endsAt}`
  return nth === 0
    ? { manual, effect: 'now', at: isoTime(piece.fromMs), ends_at: endsAt, message: `It counts now${ends}.`, lane }
    : {
        manual,
        effect: 'later',
        at: isoTime(piece.fromMs),
        ends_at: endsAt,
        message: `It counts from ${isoTime(piece.fromMs)}${ends}.`,
        lane,
      }
}

/** What the lane did, what is booked, and what it will do. `rows`: the bookings, as whoever asks may see them. */
export function timelineOf(
  actor: LaneActor,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  rows: readonly ReservationRow[],
): LaneTimeline {
  const { question } = actor.seen()
  const plan = toMs > question.nowMs ? planAhead(question, toMs) : []
  return {
    lane: actor.name,
    from: isoTime(fromMs),
    to: isoTime(toMs),
    reservations: rows.map(({ id, start, end, target, owner, status, title }) => ({
      ...{ id, start, end, target, status, title },
      owner: owner.name,
    })),
    past: actor.history.within({ fromMs, toMs }).map(({ atMs, phase, target, reason, inPlaceOf }) => {
      return { at: isoTime(atMs), phase, target, reason, in_place_of: inPlaceOf ?? null }
    }),
    failures: actor.history.failuresWithin({ fromMs, toMs }).map(({ target, failure }) => ({
      at: isoTime(failure.failedAtMs),
      target,
      code: failure.code,
      text: plainFailureText(failure),
      retry_at: retryAtOf(failure),
    })),
    plan: planRows(plan.filter(({ untilMs }) => untilMs > fromMs)),
  }
}
