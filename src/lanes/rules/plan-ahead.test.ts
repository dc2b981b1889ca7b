import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endOf, questionOf, randomLane } from '../../../test/support/random-calendar.ts'
import type { Booking } from './booking.ts'
import { chooseTarget } from './choose-target.ts'
import type { TargetQuestion } from './decision.ts'
import { type LaneTarget, NOTHING, sameTarget } from './lane-target.ts'
import { planAhead, preparedBy } from './plan-ahead.ts'

const D: LaneTarget = { kind: 'model', model: 'd', profile: 'p' }
const A = { kind: 'model', model: 'a', profile: 'p' } as const
const bookingOf = (id: string, startMs: number, endMs: number, use: Booking['use'] = A): Booking => ({
  id,
  lane: 'gpu0',
  ownerId: 'u1',
  memberIds: [],
  startMs,
  endMs,
  status: 'approved',
  use,
  firstUsedMs: undefined,
})
/** Lead of a booking: 10 ms; of an exclusive one: 5 ms; a switch between two: 20 ms. */
const calm: TargetQuestion = {
  nowMs: 0,
  bookings: [],
  lastStartMs: Number.NEGATIVE_INFINITY,
  manual: undefined,
  default: D,
  current: NOTHING,
  preparedFor: undefined,
  estimateMs: () => 9,
  minPreloadMs: 0,
  bufferMs: 1,
  stopTimeoutMs: 4,
}
const textOf = (question: TargetQuestion, untilMs: number) =>
  planAhead(question, untilMs).map(
    ({ fromMs, untilMs: endMs, decision: { booking, reason, target } }) =>
      `${fromMs}-${endMs} ${target.kind === 'nothing' ? '-' : target.model} ${reason}${booking === undefined ? '' : ` ${booking.id}`}`,
  )

describe('planAhead', () => {
  it.each<readonly [string, Partial<TargetQuestion>, number, readonly string[]]>([
    ['nothing to plan', {}, 0, []],
    ['the default', {}, 50, ['0-50 d default']],
    [
      'a booking',
      { bookings: [bookingOf('r1', 100, 200)] },
      300,
      ['0-90 d default', '90-100 a preload r1', '100-200 a reserved r1', '200-300 d default'],
    ],
    ['cut at its end', { bookings: [bookingOf('r1', 100, 200)] }, 95, ['0-90 d default', '90-95 a preload r1']],
    [
      'a short gap, then an exclusive one that touches',
      {
        nowMs: 150,
        current: A,
        bookings: [
          bookingOf('r1', 100, 200),
          bookingOf('r2', 219, 300, { ...A, model: 'b' }),
          bookingOf('r3', 300, 400, { kind: 'exclusive' }),
        ],
      },
      500,
      [
        '150-200 a reserved r1',
        '200-209 b gap r2',
        '209-219 b preload r2',
        '219-300 b reserved r2',
        '300-400 - exclusive r3',
        '400-500 d default',
      ],
    ],
    [
      'a choice by hand ends with the first start',
      {
        nowMs: 10,
        manual: { target: A, madeAtMs: 5, madeBy: 'ada', untilMs: undefined },
        bookings: [bookingOf('r1', 100, 200, { kind: 'exclusive' })],
      },
      300,
      ['10-95 a manual', '95-100 - preload r1', '100-200 - exclusive r1', '200-300 d default'],
    ],
    [
      'or at its time',
      { nowMs: 10, manual: { target: NOTHING, madeAtMs: 5, madeBy: 'ada', untilMs: 40 } },
      300,
      ['10-40 - manual', '40-300 d default'],
    ],
  ])('%s', (_name, change, untilMs, expected) => {
    expect(textOf({ ...calm, ...change }, untilMs)).toEqual(expected)
  })

  it('is what the lane does, ms by ms', () => {
    fc.assert(
      fc.property(randomLane, fc.nat(300), (lane, fromMs) => {
        const first = questionOf(lane, { nowMs: fromMs, current: lane.first, preparedFor: undefined, loads: 0 })
        const untilMs = Math.max(endOf(lane), fromMs + 1)
        const pieces = planAhead(first, untilMs)
        let { current, preparedFor } = first
        let index = 0
        for (let nowMs = fromMs; nowMs < untilMs; nowMs += 1) {
          const decision = chooseTarget({ ...first, nowMs, current, preparedFor })
          current = decision.target
          preparedFor = preparedBy(decision, nowMs)
          if (pieces[index]?.untilMs === nowMs) index += 1
          const piece = pieces[index]
          if (piece === undefined) throw new Error(`no piece at ${nowMs}`)
          const planned = piece.decision
          const isAsPlanned =
            sameTarget(planned.target, decision.target) &&
            planned.reason === decision.reason &&
            planned.booking === decision.booking
          if (!isAsPlanned || nowMs < piece.fromMs || piece.untilMs <= nowMs)
            throw new Error(`not as planned at ${nowMs}`)
        }
        expect(index).toBe(pieces.length - 1)
      }),
      { numRuns: 1_000 },
    )
  })
})
