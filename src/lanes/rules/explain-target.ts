import type { LaneExplanation } from '../../contract/lane.ts'
import { HOUR_MS, isoTime, MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'
import type { Booking } from './booking.ts'
import { type NextBooking, readFacts, type TargetFacts } from './choose-target.ts'
import type { TargetDecision, TargetQuestion } from './decision.ts'
import { targetText } from './lane-target.ts'

/** Why a lane runs what it runs. */
export interface TargetExplanation {
  /** In order, up to the one that decided. */
  readonly branches: LaneExplanation['branches']
  /** What it would take for another answer, one sentence each. */
  readonly toChange: string[]
  /** What happens at the decision's `reviewAtMs`, a sentence; undefined = there is none. */
  readonly review: string | undefined
}

/** What did each branch find, and what would change the answer? `decision`: the answer to this very question. Source: SPEC 12 "Target". */
export function explainTarget(question: TargetQuestion, decision: TargetDecision): TargetExplanation {
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
  return {
    branches,
    toChange: [...waysOut(question, decision), ...undecided(question), ...waiting(question, decision)],
    review: reviewText(facts, question, decision),
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
      return booking === undefined ? [] : [`End ${nameIn(booking)} early: \`hal0 reservation end ${booking.id}\`.`]
    case 2:
    case 3: {
      if (booking === undefined) return []
      return [`Cancel ${nameIn(booking)}, or move its start: \`hal0 reservation cancel ${booking.id}\`.`]
    }
    case 4:
      return [
        'Take the choice by hand back (`hal0 lane clear`), or make another (`hal0 lane load`, `hal0 lane unload`).',
      ]
    case 5: {
      const edit =
        target.kind === 'nothing' ? 'Give the lane a `default` in its file.' : "Change `default` in the lane's file."
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

/** A pending booking changes nothing: often it is what people miss. */
function undecided({ bookings, nowMs }: TargetQuestion): string[] {
  const pending = bookings.find(({ status, endMs }) => status === 'pending' && endMs > nowMs)
  if (pending === undefined) return []
  return [
    `Approve ${nameIn(pending)}, which starts at ${timeText(pending.startMs)} and is pending: \`hal0 reservation approve ${pending.id}\`.`,
  ]
}

function waiting({ nowMs }: TargetQuestion, { reviewAtMs }: TargetDecision): string[] {
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

/** The last moment that a Date can hold, epoch ms. */
const LAST_MS = 8.64e15

function timeText(ms: number): string {
  return Math.abs(ms) <= LAST_MS ? isoTime(ms) : 'no time that could be named'
}

/** 5_400_000 → "1 h 30 min"; the two largest units that it has. */
function durationText(ms: number): string {
  if (!Number.isFinite(ms)) return 'forever'
  if (ms < SECOND_MS) return `${Math.ceil(ms)} ms`
  if (ms < MINUTE_MS) return `${Math.round(ms / 100) / 10} s`
  const [large, small, unit, subunit] =
    ms < HOUR_MS ? ([MINUTE_MS, SECOND_MS, 'min', 's'] as const) : ([HOUR_MS, MINUTE_MS, 'h', 'min'] as const)
  const smalls = Math.round(ms / small)
  const perLarge = large / small
  const rest = smalls % perLarge
  return `${Math.floor(smalls / perLarge)} ${unit}${rest === 0 ? '' : ` ${rest} ${subunit}`}`
}
