import type { LaneExplanation } from '../../contract/lane.ts'
import type { Booking } from './booking.ts'
import { chooseTarget, type NextBooking, readFacts, type TargetFacts } from './choose-target.ts'
import type { TargetDecision, TargetQuestion } from './decision.ts'
import { explainInstead, type Instead, type Standing } from './explain-instead.ts'
import { sameTarget, targetText } from './lane-target.ts'
import { durationText, timeText } from './time-words.ts'

/** Why a lane runs what it runs. */
export interface TargetExplanation {
  /** In order, up to the one that decided. */
  readonly branches: LaneExplanation['branches']
  /** What it would take for another answer, one sentence each. */
  readonly toChange: string[]
  /** When something may change by itself, epoch ms; undefined = never. */
  readonly reviewAtMs: number | undefined
  /** What happens then, a sentence; undefined = there is no such moment. */
  readonly review: string | undefined
  /** What is done because the target cannot be loaded; undefined = nothing stands against it. */
  readonly instead: Instead | undefined
}

/**
 * What did each branch find, and what would change the answer? `decision`: the answer to this very question. `standing`: how the lane is at that
 * moment; undefined = it is still to come. Source: SPEC 12 "Target", "Failure".
 */
export function explainTarget(
  question: TargetQuestion,
  decision: TargetDecision,
  standing: Standing | undefined,
): TargetExplanation {
  const facts = readFacts(question)
  const texts = [
    runningText(facts),
    leadText(facts, question),
    gapText(facts, question),
    manualText(facts, question),
    defaultText(question),
  ]
  const branches = texts.slice(0, decision.branch).map((text, index): LaneExplanation['branches'][number] => {
    const n = index + 1
    return { n, text, outcome: n === decision.branch ? 'chosen' : 'passed' }
  })
  const instead = standing && explainInstead(decision.target, standing)
  const retryMs = instead?.retryAtMs ?? Number.POSITIVE_INFINITY
  const isRetryFirst = retryMs < (decision.reviewAtMs ?? Number.POSITIVE_INFINITY)
  const reviewAtMs = isRetryFirst ? retryMs : decision.reviewAtMs
  return {
    branches,
    toChange: [
      ...(instead?.wayOut === undefined ? [] : [instead.wayOut]),
      ...waysOut(question, decision),
      ...undecided(question, decision),
      ...waiting(question, reviewAtMs),
    ],
    reviewAtMs,
    review: isRetryFirst
      ? `The load of ${targetText(decision.target)} is tried again.`
      : reviewText(facts, question, decision),
    instead,
  }
}

/** A review is the first of what may come; of two at one moment the first of these is told. */
function reviewText(facts: TargetFacts, question: TargetQuestion, decision: TargetDecision): string | undefined {
  const { reviewAtMs } = decision
  const { running, next, base } = facts
  if (reviewAtMs === undefined) return undefined
  if (running?.endMs === reviewAtMs) return `${nameOf(running)} ends.`
  if (next !== undefined) {
    const { booking, leadMs, switchMs } = next
    if (reviewAtMs === booking.startMs) return `${nameOf(booking)} starts.`
    if (reviewAtMs === booking.startMs - leadMs) {
      return `The lead of ${nameIn(booking)} begins: the lane gets ready for it.`
    }
    if (reviewAtMs === booking.startMs - switchMs + 1 && question.manual?.untilMs !== reviewAtMs) {
      return `From then on a switch to ${targetText(base.target)} is not worth it before ${nameIn(booking)}.`
    }
  }
  return 'The choice by hand ends.'
}

function runningText({ running }: TargetFacts): string {
  if (running === undefined) return 'No reservation is running.'
  return `${nameOf(running)} is running, until ${timeText(running.endMs)}: ${wantText(running)}.`
}

function leadText({ next }: TargetFacts, { nowMs }: TargetQuestion): string {
  if (next === undefined) return 'No reservation that is approved comes next.'
  const beginsMs = next.booking.startMs - next.leadMs
  const lead = `its lead of ${durationText(next.leadMs)}`
  const start = startText(next, nowMs)
  if (beginsMs <= nowMs)
    return `${start}: that is within ${lead}, so the lane gets ready for it: ${wantText(next.booking)}.`
  const begins = `${lead} begins at ${timeText(beginsMs)}`
  return next.preparedBranch === 2
    ? `${start}: ${begins}, but the lane got ready for it already and stays: ${wantText(next.booking)}.`
    : `${start}: ${begins}.`
}

function gapText({ next, base, mustSwitch }: TargetFacts, { nowMs, bufferMs }: TargetQuestion): string {
  const baseText = targetText(base.target)
  if (next === undefined) return 'No start to be in time for.'
  if (next.preparedBranch === 3) {
    return `The lane went straight to ${targetText(next.target)}, what reservation ${next.booking.id} wants, and stays.`
  }
  if (!mustSwitch) return `The lane is on ${baseText} already, which rule ${base.branch} names: no switch to save.`
  const needs = `A switch to ${baseText}, which rule ${base.branch} names, and from it to what reservation ${next.booking.id} wants takes ${durationText(next.switchMs)} (both loads and 2 × ${durationText(bufferMs)})`
  const gapMs = next.booking.startMs - nowMs
  return gapMs < next.switchMs
    ? `${needs}; only ${durationText(gapMs)} are left, so the lane goes straight to ${targetText(next.target)}.`
    : `${needs}; ${durationText(gapMs)} are left, which is enough.`
}

function manualText({ manual: standing, lastStartMs }: TargetFacts, { manual }: TargetQuestion): string {
  if (manual === undefined || standing === 'none') return 'Nobody chose anything by hand.'
  const made = `${manual.madeBy} chose ${targetText(manual.target)} by hand at ${timeText(manual.madeAtMs)}`
  const { untilMs } = manual
  if (standing === 'overtaken') return `${made}, which ended when a reservation started at ${timeText(lastStartMs)}.`
  const until = untilMs === undefined ? '' : timeText(untilMs)
  if (standing === 'over') return `${made}, until ${until}: that is over.`
  return `${made}, ${until === '' ? 'until a reservation starts' : `until ${until}, or until a reservation starts`}.`
}

function defaultText({ default: target }: TargetQuestion): string {
  return target.kind === 'nothing' ? 'The lane has no default.' : `The default of the lane: ${targetText(target)}.`
}

function waysOut({ default: target }: TargetQuestion, { branch, booking, target: chosen }: TargetDecision): string[] {
  const byHand = 'Choose a model by hand (`hal0 lane load`, as an administrator).'
  switch (branch) {
    case 1:
      if (booking === undefined) return []
      // One that is still to begin at the time of asking cannot be ended.
      return booking.status === 'active'
        ? [`End ${nameIn(booking)} early: \`hal0 reservation end ${booking.id}\`.`]
        : [cancelText(booking)]
    case 2:
    case 3: {
      if (booking === undefined) return []
      return [cancelText(booking)]
    }
    case 4:
      return [
        'Take the choice by hand back (`hal0 lane clear`), or make another (`hal0 lane load`, `hal0 lane unload`), as an administrator.',
      ]
    case 5: {
      const edit =
        target.kind === 'nothing'
          ? 'Give the lane a `default` in its file (as an administrator).'
          : "Change `default` in the lane's file (as an administrator)."
      const rest = 'Book the lane (`hal0 reservation add`).'
      return chosen.kind === 'nothing'
        ? [edit, byHand, rest]
        : [
            edit,
            'Choose another model by hand, or none (`hal0 lane load`, `hal0 lane unload`, as an administrator).',
            rest,
          ]
    }
  }
}

function cancelText(booking: Booking): string {
  return `Cancel ${nameIn(booking)}, or move its start: \`hal0 reservation cancel ${booking.id}\`.`
}

/** A pending booking changes nothing: often it is what people miss. Only where the answer would be another were it approved. */
function undecided(question: TargetQuestion, { target }: TargetDecision): string[] {
  const pending = question.bookings.find((one) => {
    if (one.status !== 'pending' || one.endMs <= question.nowMs) return false
    const bookings = question.bookings.map((other) => (other === one ? { ...one, status: 'approved' as const } : other))
    return !sameTarget(chooseTarget({ ...question, bookings }).target, target)
  })
  if (pending === undefined) return []
  return [
    `Approve ${nameIn(pending)}, which starts at ${timeText(pending.startMs)} and is pending: \`hal0 reservation approve ${pending.id}\` (as an administrator).`,
  ]
}

function waiting({ nowMs }: TargetQuestion, reviewAtMs: number | undefined): string[] {
  if (reviewAtMs === undefined) return []
  return [`Wait until ${timeText(reviewAtMs)} (${durationText(reviewAtMs - nowMs)}): by itself nothing changes before.`]
}

function nameOf({ id }: Booking): string {
  return `Reservation ${id}`
}

function nameIn({ id }: Booking): string {
  return `reservation ${id}`
}

function startText({ booking }: NextBooking, nowMs: number): string {
  return `${nameOf(booking)} starts at ${timeText(booking.startMs)}, in ${durationText(booking.startMs - nowMs)}`
}

function wantText({ use }: Booking): string {
  return use.kind === 'exclusive' ? 'the whole card, nothing is loaded' : targetText(use)
}
