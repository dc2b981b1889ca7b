import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { bookedAt, endOf, questionOf, type RandomLane, randomLane } from '../../../test/support/random-calendar.ts'
import { type Booking, isInForce } from './booking.ts'
import { chooseTarget } from './choose-target.ts'
import type { TargetDecision, TargetQuestion } from './decision.ts'
import { sameTarget } from './lane-target.ts'
import { preparedBy } from './plan-ahead.ts'

/** So many random calendars in each run. */
const CALENDARS = 20_000
/** A loop that looks more often than this does not come to rest. */
const MAX_LOOKS = 3_000

interface Change {
  readonly atMs: number
  readonly decision: TargetDecision
}

/** A plain error: `expect` is too slow for millions of checks. */
function must(isSo: boolean, text: string, ...facts: readonly unknown[]): void {
  if (!isSo) throw new Error(`${text}: ${JSON.stringify(facts)}`)
}

function isSame(a: TargetDecision, b: TargetDecision): boolean {
  return sameTarget(a.target, b.target) && a.reason === b.reason && a.booking === b.booking
}

/** Runs the lane as its loop does, where every load succeeds, and shows each look. Returns the changes of its target. */
function runLane(lane: RandomLane, seeLook: (question: TargetQuestion, decision: TargetDecision) => void): Change[] {
  const changes: Change[] = []
  const endMs = endOf(lane)
  let [nowMs, current, loads] = [0, lane.first, 0]
  let preparedFor: TargetQuestion['preparedFor']
  for (let looks = 0; nowMs < endMs; looks += 1) {
    must(looks < MAX_LOOKS, 'does not come to rest', nowMs)
    const question = questionOf(lane, { nowMs, current, preparedFor, loads })
    const decision = chooseTarget(question)
    seeLook(question, decision)
    preparedFor = preparedBy(decision, nowMs)
    if (!sameTarget(decision.target, current)) {
      changes.push({ atMs: nowMs, decision })
      current = decision.target
      loads += 1
      // The load wakes the loop: it looks again at once.
      continue
    }
    // Somebody chooses by hand: that wakes it too.
    const madeAtMs = lane.manual !== undefined && lane.manual.madeAtMs > nowMs ? lane.manual.madeAtMs : endMs
    nowMs = Math.min(decision.reviewAtMs ?? endMs, nowMs + lane.tickMs, madeAtMs)
  }
  return changes
}

/** (a) One change for each end of a booking, one for each start, one for what is chosen by hand and one for its end. */
function mustNotFlap(lane: RandomLane, changes: readonly Change[]): void {
  const inForce = lane.bookings.filter(isInForce)
  let fromMs = Number.NEGATIVE_INFINITY
  for (const booking of [...inForce, undefined]) {
    const untilMs = booking?.startMs ?? Number.POSITIVE_INFINITY
    const within = changes.filter(({ atMs }) => fromMs <= atMs && atMs <= untilMs)
    const toIt = within.filter(({ decision }) => decision.booking !== undefined && decision.booking === booking)
    const toBase = within.filter(({ decision }) => decision.booking === undefined)
    const { madeAtMs, untilMs: overMs } = lane.manual ?? {}
    const byHand = [madeAtMs, overMs].filter((atMs) => atMs !== undefined && fromMs <= atMs && atMs < untilMs)
    must(toIt.length <= 1, 'more than one change for a start', booking, changes)
    must(toBase.length <= 1 + byHand.length, 'more than one change for an end', fromMs, changes)
    const begunMs = toIt[0]?.atMs ?? Number.POSITIVE_INFINITY
    must(
      toBase.every(({ atMs }) => atMs <= begunMs),
      'back again from what it got ready for',
      changes,
    )
    const during = changes.filter(({ atMs }) => booking !== undefined && booking.startMs < atMs && atMs < booking.endMs)
    must(during.length === 0, 'a change within a booking', booking, during)
    fromMs = booking?.endMs ?? fromMs
  }
}

/** (b) Nothing changes before `reviewAtMs`. */
function mustBeHonest(question: TargetQuestion, decision: TargetDecision, part: number): void {
  const { nowMs } = question
  const { reviewAtMs } = decision
  must(reviewAtMs === undefined || reviewAtMs > nowMs, 'a review in the past', nowMs, decision)
  const lastMs = reviewAtMs === undefined ? nowMs + 1_000 : reviewAtMs - 1
  for (const atMs of [Math.min(nowMs + 1, lastMs), nowMs + Math.floor((lastMs - nowMs) * part), lastMs]) {
    const then = chooseTarget({ ...question, nowMs: atMs })
    must(isSame(decision, then), 'another answer before its review', nowMs, atMs, decision, then)
  }
}

/** A choice by hand counts from when it was made until its end, or until any booking starts. */
function mustHeedTheHand(lane: RandomLane, { nowMs }: TargetQuestion, { reason, branch }: TargetDecision): void {
  const { bookings, manual } = lane
  const isMade =
    manual !== undefined && manual.madeAtMs <= nowMs && nowMs < (manual.untilMs ?? Number.POSITIVE_INFINITY)
  const isOvertaken = bookings.some(
    (of) => isInForce(of) && of.startMs <= nowMs && of.startMs > (manual?.madeAtMs ?? 0),
  )
  if (branch >= 4) must((reason === 'manual') === (isMade && !isOvertaken), 'a choice by hand', nowMs, reason)
}

/** (e) From its lead on the lane is meant to be empty. */
function mustBeEmptyInTime(question: TargetQuestion, decision: TargetDecision): void {
  const { bookings, nowMs } = question
  const next = bookings.find((booking: Booking) => isInForce(booking) && booking.startMs > nowMs)
  if (next?.use.kind !== 'exclusive' || decision.branch === 1) return
  const leadBeginsMs = next.startMs - question.stopTimeoutMs - question.bufferMs
  if (leadBeginsMs <= nowMs)
    must(decision.target.kind === 'nothing', 'not emptied for an exclusive one', nowMs, decision)
  else
    must(
      (decision.reviewAtMs ?? Number.POSITIVE_INFINITY) <= leadBeginsMs,
      'an exclusive one is missed',
      nowMs,
      decision,
    )
}

describe('chooseTarget over random calendars', () => {
  const seen = new Map<string, number>()
  let calendars = 0
  afterAll(() => {
    expect(calendars).toBeGreaterThanOrEqual(CALENDARS)
    // What is never met is not proven.
    for (const reason of ['reserved', 'exclusive', 'preload', 'gap', 'manual', 'default'])
      expect(seen.get(reason), reason).toBeGreaterThan(CALENDARS / 20)
  })

  it('never flaps, reviews in time, obeys bookings and nothing that is pending', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(randomLane, fc.nat(99), (lane, percent) => {
        calendars += 1
        const changes = runLane(lane, (question, decision) => {
          seen.set(decision.reason, (seen.get(decision.reason) ?? 0) + 1)
          mustBeHonest(question, decision, percent / 100)
          // (c)
          const bookings = question.bookings.filter(isInForce)
          const without = chooseTarget({ ...question, bookings })
          must(
            isSame(without, decision) && without.reviewAtMs === decision.reviewAtMs,
            'a pending one matters',
            decision,
          )
          // (d)
          const booked = bookedAt(lane, question.nowMs)
          if (booked !== undefined)
            must(decision.branch === 1 && sameTarget(decision.target, booked), 'not what is booked', decision)
          mustBeEmptyInTime(question, decision)
          mustHeedTheHand(lane, question, decision)
        })
        mustNotFlap(lane, changes)
      }),
      { numRuns: CALENDARS },
    )
  })
})
