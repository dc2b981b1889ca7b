import { chooseTarget } from './choose-target.ts'
import type { Preparation, TargetDecision, TargetQuestion } from './decision.ts'
import { sameTarget } from './lane-target.ts'

/** A plan has no more steps than these; one that would has ends early. */
const MAX_STEPS = 5_000

/** A stretch of a plan: `fromMs ≤ t < untilMs`, epoch ms. */
export interface PlanPiece {
  readonly fromMs: number
  readonly untilMs: number
  /** The first one of the stretch; the others have its target, reason and booking. */
  readonly decision: TargetDecision
}

/** What does a lane get ready for, once it did what was decided? Undefined = nothing. For the next question. Source: SPEC 12 "Target" 2, 3. */
export function preparedBy({ branch, booking }: TargetDecision, nowMs: number): Preparation | undefined {
  if ((branch !== 2 && branch !== 3) || booking === undefined || booking.startMs <= nowMs) return undefined
  return { bookingId: booking.id, startMs: booking.startMs, branch }
}

/**
 * What will a lane run from now until then, if every load succeeds at once and nobody books, cancels or chooses? In order, without holes, from
 * `nowMs` to `untilMs`; empty when that is not later. Neighbours differ in target, reason or booking. Source: SPEC 12, 16 "timeline".
 */
export function planAhead(question: TargetQuestion, untilMs: number): readonly PlanPiece[] {
  const pieces: PlanPiece[] = []
  let { nowMs, current, preparedFor } = question
  for (let step = 0; step < MAX_STEPS && nowMs < untilMs; step += 1) {
    const decision = chooseTarget({ ...question, nowMs, current, preparedFor })
    const endMs = Math.min(decision.reviewAtMs ?? untilMs, untilMs)
    const last = pieces.at(-1)
    if (last !== undefined && isSame(last.decision, decision)) pieces[pieces.length - 1] = { ...last, untilMs: endMs }
    else pieces.push({ fromMs: nowMs, untilMs: endMs, decision })
    current = decision.target
    preparedFor = preparedBy(decision, nowMs)
    nowMs = endMs
  }
  return pieces
}

function isSame(a: TargetDecision, b: TargetDecision): boolean {
  return a.reason === b.reason && a.booking?.id === b.booking?.id && sameTarget(a.target, b.target)
}
