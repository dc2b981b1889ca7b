import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { questionOf, randomLane } from '../../../test/support/random-calendar.ts'
import { MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'
import type { Booking } from './booking.ts'
import { chooseTarget } from './choose-target.ts'
import type { TargetFailure, TargetQuestion } from './decision.ts'
import type { Standing } from './explain-instead.ts'
import { explainTarget } from './explain-target.ts'
import type { LaneTarget } from './lane-target.ts'

const D: LaneTarget = { kind: 'model', model: 'd', profile: 'p' }
const B: LaneTarget = { kind: 'model', model: 'b', profile: 'p' }
const NOW = Date.UTC(2026, 11, 1, 10)
const START = NOW + 90 * MINUTE_MS
const booking: Booking = {
  id: 'r1',
  lane: 'gpu0',
  ownerId: 'u1',
  memberIds: [],
  startMs: START,
  endMs: START + 60 * MINUTE_MS,
  status: 'approved',
  use: { kind: 'model', model: 'a', profile: 'p' },
  firstUsedMs: undefined,
}
const calm: TargetQuestion = {
  nowMs: NOW,
  bookings: [booking],
  lastStartMs: Number.NEGATIVE_INFINITY,
  manual: undefined,
  default: D,
  current: D,
  preparedFor: undefined,
  estimateMs: () => 2 * MINUTE_MS,
  minPreloadMs: 0,
  bufferMs: MINUTE_MS,
  stopTimeoutMs: 30 * SECOND_MS,
}
const explain = (change: Partial<TargetQuestion>) => {
  const question = { ...calm, ...change }
  return explainTarget(question, chooseTarget(question), undefined)
}

describe('explainTarget', () => {
  it('5: tells what all five found', () => {
    const { branches, toChange } = explain({})
    expect(branches).toEqual([
      { n: 1, text: 'No reservation is running.', outcome: 'passed' },
      {
        n: 2,
        text: 'Reservation r1 starts at 2026-12-01T11:30:00.000Z, in 1 h 30 min: its lead of 3 min begins at 2026-12-01T11:27:00.000Z.',
        outcome: 'passed',
      },
      {
        n: 3,
        text: 'The lane is on d (profile p) already, which rule 5 names: no switch to save.',
        outcome: 'passed',
      },
      { n: 4, text: 'Nobody chose anything by hand.', outcome: 'passed' },
      { n: 5, text: 'The default of the lane: d (profile p).', outcome: 'chosen' },
    ])
    expect(toChange.join('\n')).toContain('hal0 lane load')
    expect(toChange.at(-1)).toBe('Wait until 2026-12-01T11:27:00.000Z (1 h 27 min): by itself nothing changes before.')
  })

  it.each<readonly [string, Partial<TargetQuestion>, string | undefined]>([
    ['nothing ahead', { bookings: [] }, undefined],
    ['a lead', {}, 'The lead of reservation r1 begins: the lane gets ready for it.'],
    ['a start', { nowMs: START - MINUTE_MS }, 'Reservation r1 starts.'],
    ['an end', { nowMs: START }, 'Reservation r1 ends.'],
    [
      'a choice by hand',
      { bookings: [], manual: { target: D, madeAtMs: NOW, madeBy: 'ada', untilMs: START } },
      'The choice by hand ends.',
    ],
    [
      'a choice by hand, before a lead',
      { manual: { target: D, madeAtMs: NOW, madeBy: 'ada', untilMs: NOW + MINUTE_MS } },
      'The choice by hand ends.',
    ],
    [
      'too late to switch',
      { current: B },
      'From then on a switch to d (profile p) is not worth it before reservation r1.',
    ],
  ])('what happens at the review: %s', (_, change, review) => {
    const question = { ...calm, ...change }
    expect([explain(change).review, chooseTarget(question).reviewAtMs !== undefined]).toEqual([
      review,
      review !== undefined,
    ])
  })

  it.each<readonly [string, Partial<TargetQuestion>, number, string, string]>([
    [
      '1',
      { nowMs: START, bookings: [{ ...booking, status: 'active' }] },
      1,
      'Reservation r1 is running, until 2026-12-01T12:30:00.000Z: a (profile p).',
      'reservation end r1',
    ],
    [
      '1 exclusive',
      { nowMs: START, bookings: [{ ...booking, status: 'active', use: { kind: 'exclusive' } }] },
      1,
      'the whole card, nothing is loaded',
      'reservation end r1',
    ],
    ['1 that is still to begin', { nowMs: START }, 1, 'Reservation r1 is running', 'reservation cancel r1'],
    ['2', { nowMs: START - 1_500 }, 2, 'in 1.5 s: that is within its lead of 3 min', 'reservation cancel r1'],
    [
      '2 begun earlier',
      { preparedFor: { bookingId: 'r1', startMs: START, branch: 2 }, current: booking.use as LaneTarget },
      2,
      'got ready for it already and stays',
      'reservation cancel r1',
    ],
    [
      '3',
      { nowMs: START - 5 * MINUTE_MS, current: B },
      3,
      'takes 6 min (both loads and 2 × 1 min); only 5 min are left, so the lane goes straight to a (profile p)',
      'reservation cancel r1',
    ],
    [
      '3 begun earlier',
      { preparedFor: { bookingId: 'r1', startMs: START, branch: 3 }, current: booking.use as LaneTarget },
      3,
      'went straight to a (profile p)',
      'reservation cancel r1',
    ],
    [
      '4',
      { manual: { target: B, madeAtMs: NOW, madeBy: 'ada', untilMs: START } },
      4,
      'ada chose b (profile p) by hand at 2026-12-01T10:00:00.000Z, until 2026-12-01T11:30:00.000Z, or until a reservation starts.',
      'hal0 lane clear',
    ],
    [
      '5 without a default',
      { default: { kind: 'nothing' } },
      5,
      'The lane has no default.',
      'Give the lane a `default`',
    ],
    [
      'a pending one is pointed at',
      { nowMs: START - 1_500, bookings: [{ ...booking, status: 'pending' }] },
      5,
      'The default',
      'reservation approve r1',
    ],
  ])('%s: names what decided, and the way out', (_name, change, n, text, wayOut) => {
    const { branches, toChange } = explain(change)
    expect(branches.at(-1)).toMatchObject({ n, outcome: 'chosen' })
    expect(branches.at(-1)?.text).toContain(text)
    expect(toChange.join('\n')).toContain(wayOut)
  })

  it.each<readonly [string, Partial<TargetQuestion>, string]>([
    ['over', { manual: { target: B, madeAtMs: NOW - 9, madeBy: 'ada', untilMs: NOW } }, 'that is over'],
    [
      'overtaken',
      { lastStartMs: NOW - 1, manual: { target: B, madeAtMs: NOW - 9, madeBy: 'ada', untilMs: undefined } },
      'which ended when a reservation started at 2026-12-01T09:59:59.999Z',
    ],
  ])('4: says why a choice does not count: %s', (_name, change, text) => {
    expect(explain(change).branches[3]?.text).toContain(text)
  })

  it.each<readonly [string, Partial<TargetQuestion>, boolean]>([
    ['1 ms before its lead', { nowMs: START - 3 * MINUTE_MS - 1 }, false],
    ['at its lead', { nowMs: START - 3 * MINUTE_MS }, true],
    ['in its window', { nowMs: START }, true],
    ['at its end', { nowMs: START + 60 * MINUTE_MS }, false],
    ['while it would change nothing', { nowMs: START, default: booking.use as LaneTarget, current: D }, false],
  ])('names a pending one only where approving it changes the answer: %s', (_name, change, isNamed) => {
    const { toChange } = explain({ bookings: [{ ...booking, status: 'pending' }], ...change })
    expect(toChange.some((text) => text.startsWith('Approve reservation r1'))).toBe(isNamed)
  })

  it('of a pending one after one that runs says nothing', () => {
    const running: Booking = { ...booking, id: 'r0', startMs: NOW, endMs: START, status: 'active' }
    const { toChange } = explain({ bookings: [running, { ...booking, status: 'pending' }] })
    expect(toChange.join()).not.toContain('Approve')
  })

  describe('where the target could not be loaded', () => {
    const active: Booking = { ...booking, status: 'active' }
    const FAILED = START + 10_000
    const RETRY = FAILED + 30_000
    const failure: TargetFailure = {
      ...{ failures: 1, code: 'slot.spawn_failed', message: '/models/a.gguf: no', failedAtMs: FAILED },
      retry: { kind: 'after', delayMs: 30_000 },
    }
    const fallback = { kind: 'run', target: D, isFallback: true, reviewAtMs: RETRY } as const
    const told = (standing: Partial<Standing>) => {
      const question = { ...calm, nowMs: FAILED + 1, bookings: [active] }
      const now = { lane: 'gpu0', served: fallback, failure, current: D, ...standing }
      return explainTarget(question, chooseTarget(question), now)
    }

    it('says why, what serves and when it is tried again, which is what changes next', () => {
      const { instead, review, reviewAtMs, toChange } = told({})
      expect(instead).toMatchObject({ target: D, isFallback: true, code: 'slot.spawn_failed', retryAtMs: RETRY })
      expect(instead?.text).toBe(
        'a (profile p) could not be loaded: its engine did not start, or ended by itself (slot.spawn_failed); it failed once. d (profile p), the default, is in its place. The next try is at 2026-12-01T11:30:40.000Z; requests that run then are waited for.',
      )
      expect([reviewAtMs, review]).toEqual([RETRY, 'The load of a (profile p) is tried again.'])
      expect(toChange[0]).toContain('`hal0 lane reload gpu0`')
      expect(toChange.at(-1)).toMatch(/^Wait until 2026-12-01T11:30:40\.000Z /)
    })

    it.each<readonly [string, Partial<Standing>, string, number]>([
      [
        'nothing serves',
        { served: { kind: 'wait', failure, reviewAtMs: RETRY }, current: { kind: 'nothing' } },
        'Nothing is in its place. The next try is at 2026',
        RETRY,
      ],
      [
        'what runs goes on',
        { served: { kind: 'wait', failure, reviewAtMs: RETRY }, current: B },
        'b (profile p) runs on.',
        RETRY,
      ],
      [
        'the stand-in loads',
        { served: { ...fallback, reviewAtMs: undefined } },
        'a while after that is ready.',
        active.endMs,
      ],
      [
        'it is never tried again',
        { failure: { ...failure, retry: { kind: 'never', fingerprint: '' } } },
        'not tried again before the model',
        active.endMs,
      ],
      ['it is tried again', { served: { ...fallback, isFallback: false } }, 'being tried again now.', active.endMs],
      [
        'often',
        { failure: { ...failure, failures: 3, cause: 'out_of_memory' } },
        'it ran out of memory (slot.spawn_failed); it failed 3 times.',
        RETRY,
      ],
    ])('%s', (_name, standing, part, nextMs) => {
      const { instead, reviewAtMs } = told(standing)
      expect(instead?.text).toContain(part)
      expect(instead?.text).not.toContain('/models')
      expect(reviewAtMs).toBe(nextMs)
    })

    it('says nothing where nothing failed', () => expect(told({ failure: undefined }).instead).toBeUndefined())
  })

  it('has words for every question', () => {
    fc.assert(
      fc.property(randomLane, fc.nat(600), (lane, nowMs) => {
        const question = questionOf(lane, { nowMs, current: lane.first, preparedFor: undefined, loads: 0 })
        const decision = chooseTarget(question)
        const { branches, toChange } = explainTarget(question, decision, undefined)
        expect(branches.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5].slice(0, decision.branch))
        expect(branches.filter(({ outcome }) => outcome === 'chosen')).toEqual([branches.at(-1)])
        expect(toChange.length).toBeGreaterThan(0)
        expect([...branches.map(({ text }) => text), ...toChange].join()).not.toMatch(/undefined|NaN|Infinity/)
      }),
      { numRuns: 2_000 },
    )
  })
})
