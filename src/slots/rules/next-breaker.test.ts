import { describe, expect, it } from 'vitest'
import { chooseCoolDownMs, decideStart, viewBreaker } from './next-breaker.ts'

const entry = (failures: number, failedAtMs = 1_000_000) => ({
  model_id: 'm',
  failures,
  failed_at_ms: failedAtMs,
  launch: 'x',
})

describe('chooseCoolDownMs', () => {
  it.each([
    [1, 5],
    [2, 10],
    [3, 20],
    [4, 40],
    [5, 300],
    [6, 600],
    [7, 1_200],
    [8, 2_400],
    [9, 3_600],
    [10, 3_600],
    [1_000, 3_600],
  ])('%i failures: %i s', (failures, seconds) => {
    expect(chooseCoolDownMs(failures)).toBe(seconds * 1_000)
  })
})

describe('decideStart', () => {
  it.each([
    ['nothing failed', undefined, 0, { kind: 'start', isTrial: false, failures: 0 }],
    ['just failed', entry(1), 1_000_000, { kind: 'refuse', isParked: false, failures: 1, waitMs: 5_000 }],
    ['1 ms too early', entry(1), 1_004_999, { kind: 'refuse', isParked: false, failures: 1, waitMs: 1 }],
    ['on time', entry(1), 1_005_000, { kind: 'start', isTrial: false, failures: 1 }],
    ['parked', entry(5), 1_299_999, { kind: 'refuse', isParked: true, failures: 5, waitMs: 1 }],
    ['half open', entry(5), 1_300_000, { kind: 'start', isTrial: true, failures: 5 }],
    [
      'the clock was set back a day',
      entry(1),
      1_000_000 - 86_400_000,
      { kind: 'refuse', isParked: false, failures: 1, waitMs: 5_000 },
    ],
    ['the machine slept', entry(9), 1_000_000 + 86_400_000, { kind: 'start', isTrial: true, failures: 9 }],
  ] as const)('%s', (_name, of, nowMs, expected) => {
    expect(decideStart(of, nowMs)).toEqual(expected)
  })
})

describe('viewBreaker', () => {
  it.each([
    ['nothing', undefined, 0, false, null],
    ['backoff', entry(2), 1_000_001, false, { state: 'backoff', failures: 2, retry_after_s: 10 }],
    ['over', entry(2), 1_010_000, false, { state: 'backoff', failures: 2, retry_after_s: 0 }],
    ['a start that runs', entry(2), 1_000_001, true, { state: 'backoff', failures: 2, retry_after_s: 0 }],
    ['parked', entry(6), 1_000_000, false, { state: 'parked', failures: 6, retry_after_s: 600 }],
    ['its trial may begin', entry(6), 1_600_000, false, { state: 'half_open', failures: 6, retry_after_s: 0 }],
    ['its trial runs', entry(6), 1_600_001, true, { state: 'half_open', failures: 6, retry_after_s: 0 }],
  ] as const)('%s', (_name, of, nowMs, isStarted, expected) => {
    expect(viewBreaker(of, nowMs, isStarted)).toEqual(expected)
  })
})
