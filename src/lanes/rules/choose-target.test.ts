import { describe, expect, it } from 'vitest'
import type { Booking } from './booking.ts'
import { chooseTarget, leadMs } from './choose-target.ts'
import type { ManualChoice, TargetQuestion } from './decision.ts'
import { type LaneTarget, NOTHING } from './lane-target.ts'

const modelOf = (model: string): LaneTarget & { readonly kind: 'model' } => ({ kind: 'model', model, profile: 'p' })
const [A, B, D, M] = [modelOf('a'), modelOf('b'), modelOf('d'), modelOf('m')]
const EXCLUSIVE = { kind: 'exclusive' } as const
const START = 100_000
const END = 200_000
/** Loads of a, b, d and m. */
const LOAD_MS: Readonly<Record<string, number>> = { a: 8_000, b: 6_000, d: 5_000, m: 3_000 }
/** Of a booking of `a`: 8 s and 1 s of buffer. */
const LEAD = 9_000
/** From elsewhere to the default, and on to `a`: 5 s, 8 s, and twice the buffer. */
const SWITCH = 15_000

const bookingOf = (change: Partial<Booking> = {}): Booking => ({
  id: 'r1',
  lane: 'gpu0',
  ownerId: 'u1',
  memberIds: [],
  startMs: START,
  endMs: END,
  status: 'approved',
  use: A,
  firstUsedMs: undefined,
  ...change,
})
const manualOf = (change: Partial<ManualChoice> = {}): ManualChoice => ({
  target: M,
  madeAtMs: 1_000,
  madeBy: 'ada',
  untilMs: undefined,
  ...change,
})
const calm: TargetQuestion = {
  nowMs: 10_000,
  bookings: [bookingOf()],
  lastStartMs: Number.NEGATIVE_INFINITY,
  manual: undefined,
  default: D,
  current: D,
  preparedFor: undefined,
  estimateMs: (target) => (target.kind === 'nothing' ? 4_000 : (LOAD_MS[target.model] ?? 0)),
  minPreloadMs: 0,
  bufferMs: 1_000,
  stopTimeoutMs: 4_000,
}
type Expected = readonly [target: LaneTarget, reason: string, branch: number, reviewAtMs: number | undefined]
type Row = readonly [name: string, change: Partial<TargetQuestion>, expected: Expected]

function decide(change: Partial<TargetQuestion>): Expected {
  const { booking, branch, reason, reviewAtMs, target } = chooseTarget({ ...calm, ...change })
  // Branches 1 to 3 decide for a booking, and say which.
  expect(booking === undefined).toBe(branch >= 4)
  return [target, reason, branch, reviewAtMs]
}

describe('chooseTarget 1: a reservation is running', () => {
  const at = (nowMs: number, change: Partial<TargetQuestion> = {}) => ({ nowMs, ...change })
  it.each<Row>([
    ['1 ms before its start', at(START - 1), [A, 'preload', 2, START]],
    ['at its start', at(START), [A, 'reserved', 1, END]],
    ['1 ms before its end', at(END - 1), [A, 'reserved', 1, END]],
    ['at its end', at(END), [D, 'default', 5, undefined]],
    ['exclusive', at(START, { bookings: [bookingOf({ use: EXCLUSIVE })] }), [NOTHING, 'exclusive', 1, END]],
    ['it beats a manual choice', at(START, { manual: manualOf() }), [A, 'reserved', 1, END]],
    ['also one made meanwhile', at(START + 9, { manual: manualOf({ madeAtMs: START + 5 }) }), [A, 'reserved', 1, END]],
    ['active by name too', at(START, { bookings: [bookingOf({ status: 'active' })] }), [A, 'reserved', 1, END]],
    [
      'pending does not count',
      at(START, { bookings: [bookingOf({ status: 'pending' })] }),
      [D, 'default', 5, undefined],
    ],
    ['ended', at(START, { bookings: [bookingOf({ status: 'ended_early' })] }), [D, 'default', 5, undefined]],
    ['rejected', at(START, { bookings: [bookingOf({ status: 'rejected' })] }), [D, 'default', 5, undefined]],
    ['cancelled', at(START, { bookings: [bookingOf({ status: 'cancelled' })] }), [D, 'default', 5, undefined]],
    [
      'touching: the next one takes over',
      at(END, { bookings: [bookingOf(), bookingOf({ id: 'r2', startMs: END, endMs: 250_000, use: B })] }),
      [B, 'reserved', 1, 250_000],
    ],
    [
      'the lead of the next one waits for the end',
      at(END - 1, { bookings: [bookingOf(), bookingOf({ id: 'r2', startMs: END, endMs: 250_000, use: B })] }),
      [A, 'reserved', 1, END],
    ],
  ])('%s', (_name, change, expected) => {
    expect(decide(change)).toEqual(expected)
  })
})

describe('chooseTarget 2: the lead of the next', () => {
  const prepared = { bookingId: 'r1', startMs: START, branch: 2 } as const
  const at = (beforeMs: number, change: Partial<TargetQuestion> = {}) => ({ nowMs: START - beforeMs, ...change })
  const exclusive = [bookingOf({ use: EXCLUSIVE })]
  it.each<Row>([
    ['1 ms before the lead', at(LEAD + 1), [D, 'default', 5, START - LEAD]],
    ['the lead begins', at(LEAD), [A, 'preload', 2, START]],
    ['in the lead', at(LEAD - 1), [A, 'preload', 2, START]],
    ['never shorter than min_preload_s', at(20_000, { minPreloadMs: 20_000 }), [A, 'preload', 2, START]],
    ['min_preload_s, 1 ms early', at(20_001, { minPreloadMs: 20_000 }), [D, 'default', 5, START - 20_000]],
    ['a fraction of a ms is a whole one', at(8_002, { bufferMs: 1.5 }), [A, 'preload', 2, START]],
    ['exclusive: stop and buffer', at(5_000, { bookings: exclusive }), [NOTHING, 'preload', 2, START]],
    ['exclusive, 1 ms early', at(5_001, { bookings: exclusive }), [D, 'default', 5, START - 5_000]],
    [
      'exclusive: min_preload_s does not count',
      at(6_000, { bookings: exclusive, minPreloadMs: 1e6 }),
      [D, 'default', 5, START - 5_000],
    ],
    ['it beats a manual choice', at(LEAD, { manual: manualOf() }), [A, 'preload', 2, START]],
    ['a preload begun stands', at(50_000, { preparedFor: prepared, current: A }), [A, 'preload', 2, START]],
    ['not if the lane is on something else', at(50_000, { preparedFor: prepared }), [D, 'default', 5, START - LEAD]],
    [
      'not if the booking was moved',
      at(50_000, { preparedFor: { ...prepared, startMs: START - 1 }, current: A }),
      [D, 'default', 5, START - SWITCH + 1],
    ],
    [
      'not if another booking comes first',
      at(50_000, { preparedFor: { ...prepared, bookingId: 'r0' }, current: A }),
      [D, 'default', 5, START - SWITCH + 1],
    ],
    [
      'not if its model is another now',
      at(50_000, { preparedFor: prepared, current: A, bookings: [bookingOf({ use: B })] }),
      [D, 'default', 5, START - 13_000 + 1],
    ],
    [
      'a pending one is not prepared for',
      at(1, { bookings: [bookingOf({ status: 'pending' })] }),
      [D, 'default', 5, undefined],
    ],
    [
      'the one behind a pending one is',
      at(LEAD, {
        bookings: [bookingOf({ id: 'r0', startMs: START - 1, endMs: START, status: 'pending' }), bookingOf()],
      }),
      [A, 'preload', 2, START],
    ],
    ['no time to wait at all', at(1, { estimateMs: () => 0, bufferMs: 0 }), [D, 'default', 5, START]],
    ['an endless load', at(50_000, { estimateMs: () => Number.POSITIVE_INFINITY }), [A, 'preload', 2, START]],
  ])('%s', (_name, change, expected) => {
    expect(decide(change)).toEqual(expected)
  })
})

describe('chooseTarget 3: the gap is too short for a switch', () => {
  const at = (beforeMs: number, change: Partial<TargetQuestion> = {}) => ({
    nowMs: START - beforeMs,
    current: B,
    ...change,
  })
  const prepared = { bookingId: 'r1', startMs: START, branch: 3 } as const
  it.each<Row>([
    ['long enough to the ms', at(SWITCH), [D, 'default', 5, START - SWITCH + 1]],
    ['1 ms too short', at(SWITCH - 1), [A, 'gap', 3, START - LEAD]],
    ['long enough, 1 ms more', at(SWITCH + 1), [D, 'default', 5, START - SWITCH + 1]],
    ['on the default already', at(SWITCH - 1, { current: D }), [D, 'default', 5, START - LEAD]],
    ['another profile is a switch', at(SWITCH - 1, { current: { ...D, profile: 'q' } }), [A, 'gap', 3, START - LEAD]],
    ['on the next one already', at(SWITCH - 1, { current: A }), [A, 'gap', 3, START - LEAD]],
    ['at the lead it is a preload', at(LEAD), [A, 'preload', 2, START]],
    ['1 ms before the lead', at(LEAD + 1), [A, 'gap', 3, START - LEAD]],
    ['a stop counts as stop_timeout', at(13_999, { default: NOTHING }), [A, 'gap', 3, START - LEAD]],
    ['a stop, long enough', at(14_000, { default: NOTHING }), [NOTHING, 'default', 5, START - 14_000 + 1]],
    [
      'what is off stays off',
      at(13_999, { default: NOTHING, current: NOTHING }),
      [NOTHING, 'default', 5, START - LEAD],
    ],
    [
      'before an exclusive one',
      at(10_999, { bookings: [bookingOf({ use: EXCLUSIVE })] }),
      [NOTHING, 'gap', 3, START - 5_000],
    ],
    [
      'before an exclusive one, long enough',
      at(11_000, { bookings: [bookingOf({ use: EXCLUSIVE })] }),
      [D, 'default', 5, START - 10_999],
    ],
    ['to a manual choice', at(12_999, { manual: manualOf() }), [A, 'gap', 3, START - LEAD]],
    ['to a manual choice, long enough', at(13_000, { manual: manualOf() }), [M, 'manual', 4, START - 12_999]],
    [
      'its end is looked at',
      at(12_999, { manual: manualOf({ untilMs: START - 12_000 }) }),
      [A, 'gap', 3, START - 12_000],
    ],
    [
      'begun, it stands',
      at(50_000, { preparedFor: prepared, current: A, manual: manualOf() }),
      [A, 'gap', 3, START - LEAD],
    ],
    ['begun, until the lead', at(LEAD, { preparedFor: prepared, current: A }), [A, 'preload', 2, START]],
    ['nothing comes next', at(1, { bookings: [] }), [D, 'default', 5, undefined]],
  ])('%s', (_name, change, expected) => {
    expect(decide(change)).toEqual(expected)
  })
})

describe('chooseTarget 4: a manual choice', () => {
  const UNTIL = 60_000
  const before = bookingOf({ id: 'r0', startMs: 500, endMs: 900 })
  const manual = manualOf()
  const none: Partial<TargetQuestion> = { bookings: [], manual }
  it.each<Row>([
    ['open', none, [M, 'manual', 4, undefined]],
    ['to unload', { ...none, manual: manualOf({ target: NOTHING }) }, [NOTHING, 'manual', 4, undefined]],
    ['until then', { ...none, manual: manualOf({ untilMs: UNTIL }) }, [M, 'manual', 4, UNTIL]],
    ['1 ms before', { ...none, nowMs: UNTIL - 1, manual: manualOf({ untilMs: UNTIL }) }, [M, 'manual', 4, UNTIL]],
    ['over', { ...none, nowMs: UNTIL, manual: manualOf({ untilMs: UNTIL }) }, [D, 'default', 5, undefined]],
    ['made 1 ms after the last start', { ...none, lastStartMs: 999 }, [M, 'manual', 4, undefined]],
    ['made with the last start', { ...none, lastStartMs: 1_000 }, [M, 'manual', 4, undefined]],
    ['a booking has started since', { ...none, lastStartMs: 1_001 }, [D, 'default', 5, undefined]],
    ['one that is over may still be listed', { manual, nowMs: END }, [D, 'default', 5, undefined]],
    ['one from before does not end it', { manual, bookings: [before] }, [M, 'manual', 4, undefined]],
    [
      'a pending one does not end it',
      { manual, nowMs: END, bookings: [bookingOf({ status: 'pending' })] },
      [M, 'manual', 4, undefined],
    ],
    ['the lead comes first', { manual: manualOf({ untilMs: START }), current: M }, [M, 'manual', 4, START - LEAD]],
    ['its end comes first', { manual: manualOf({ untilMs: UNTIL }) }, [M, 'manual', 4, UNTIL]],
    ['the gap comes first', { manual, current: B }, [M, 'manual', 4, START - 13_000 + 1]],
  ])('%s', (_name, change, expected) => {
    expect(decide(change)).toEqual(expected)
  })
})

describe('chooseTarget 5: the default', () => {
  it.each<Row>([
    ['a default', { bookings: [] }, [D, 'default', 5, undefined]],
    ['none', { bookings: [], default: NOTHING, current: A }, [NOTHING, 'default', 5, undefined]],
    ['until the next lead', {}, [D, 'default', 5, START - LEAD]],
    [
      'a profile of its own',
      { default: { ...D, profile: 'q' }, bookings: [] },
      [{ ...D, profile: 'q' }, 'default', 5, undefined],
    ],
  ])('%s', (_name, change, expected) => {
    expect(decide(change)).toEqual(expected)
  })
})

describe('leadMs', () => {
  it.each([
    ['load and buffer', bookingOf(), {}, LEAD],
    ['the least', bookingOf(), { minPreloadMs: LEAD + 1 }, LEAD + 1],
    ['exclusive', bookingOf({ use: EXCLUSIVE }), { minPreloadMs: LEAD + 1 }, 5_000],
    ['whole ms', bookingOf(), { bufferMs: 0.2 }, 8_001],
    ['a drain shorter than the buffer', bookingOf(), { drainMs: calm.bufferMs - 1 }, LEAD],
    // Who streams when the lead begins must not make the booking late.
    ['a drain longer than the buffer', bookingOf(), { drainMs: calm.bufferMs + 500 }, LEAD + 500],
    ['the same, exclusive', bookingOf({ use: EXCLUSIVE }), { drainMs: calm.bufferMs + 500 }, 5_500],
  ])('%s', (_name, booking, change, expected) => {
    expect(leadMs(booking, { ...calm, ...change })).toBe(expected)
  })
})
