import { describe, expect, it } from 'vitest'
import type { TargetReason } from '../../contract/lane.ts'
import { MINUTE_MS } from '../../kernel/units.ts'
import { chooseServed, RETRY_PATIENCE_MS } from './choose-served.ts'
import type { ServedQuestion, TargetDecision, TargetFailure } from './decision.ts'
import { type LaneTarget, NOTHING, sameTarget } from './lane-target.ts'

const N: LaneTarget = { kind: 'model', model: 'n', profile: 'p' }
const D: LaneTarget = { kind: 'model', model: 'd', profile: 'p' }
const X: LaneTarget = { kind: 'model', model: 'x', profile: 'p' }
const FAILED_AT = 100_000
const DELAY = 30_000
const DUE = FAILED_AT + DELAY
/** The fallback became ready 5 s after the failure. */
const READY = FAILED_AT + 5_000
const LATE = READY + DELAY

const failure: TargetFailure = {
  failures: 1,
  code: 'slot.spawn_failed',
  message: 'out of memory',
  failedAtMs: FAILED_AT,
  retry: { kind: 'after', delayMs: DELAY },
}
const never: TargetFailure = { ...failure, retry: { kind: 'never', fingerprint: 'f' } }
const decisionOf = (reason: TargetReason, target: LaneTarget = N): TargetDecision => ({
  target,
  reason,
  branch: 1,
  booking: undefined,
  reviewAtMs: undefined,
})

interface Case {
  readonly nowMs?: number
  readonly reason?: TargetReason
  readonly target?: LaneTarget
  readonly default?: LaneTarget
  readonly current?: LaneTarget
  readonly readySinceMs?: number | undefined
  readonly inFlight?: number
  readonly failure?: TargetFailure | undefined
  readonly defaultFailure?: TargetFailure
}
function ask(of: Case) {
  const { defaultFailure, failure: against = failure, reason = 'reserved', target = N, ...rest } = of
  const question: ServedQuestion = {
    nowMs: FAILED_AT,
    decision: decisionOf(reason, target),
    default: D,
    current: NOTHING,
    readySinceMs: undefined,
    inFlight: 0,
    failureOf: (asked) => (sameTarget(asked, target) ? against : sameTarget(asked, D) ? defaultFailure : undefined),
    ...rest,
  }
  const decision = chooseServed(question)
  if (decision.kind === 'wait') return ['wait', decision.failure, decision.reviewAtMs]
  return [decision.isFallback ? 'fallback' : 'run', decision.target, decision.reviewAtMs]
}

describe('chooseServed', () => {
  it('runs what nothing stands against', () => {
    const question: ServedQuestion = {
      nowMs: 0,
      decision: decisionOf('reserved'),
      default: D,
      current: D,
      readySinceMs: 0,
      inFlight: 3,
      failureOf: (of) => (sameTarget(of, D) ? failure : undefined),
    }
    expect(chooseServed(question)).toEqual({ kind: 'run', target: N, isFallback: false, reviewAtMs: undefined })
  })

  it.each<readonly [string, Case, readonly unknown[]]>([
    ['falls back at once', {}, ['fallback', D, DUE]],
    ['in a preload', { reason: 'preload' }, ['fallback', D, DUE]],
    ['in a gap', { reason: 'gap' }, ['fallback', D, DUE]],
    ['from another model that runs', { current: X, readySinceMs: 1, inFlight: 2 }, ['fallback', D, DUE]],
    ['1 ms before the retry', { nowMs: DUE - 1 }, ['fallback', D, DUE]],
    ['retries', { nowMs: DUE }, ['run', N, undefined]],
    ['goes on with a retry that loads', { nowMs: DUE + 9, current: N }, ['run', N, undefined]],
    ['never leaves what serves', { current: N, readySinceMs: FAILED_AT }, ['run', N, undefined]],
    ['no review while the fallback loads', { current: D }, ['fallback', D, undefined]],
    ['no retry while the fallback loads', { current: D, nowMs: LATE + 9 }, ['fallback', D, undefined]],
    ['the clock starts when it is ready', { current: D, readySinceMs: READY, nowMs: READY }, ['fallback', D, LATE]],
    ['1 ms before that', { current: D, readySinceMs: READY, nowMs: LATE - 1 }, ['fallback', D, LATE]],
    ['then', { current: D, readySinceMs: READY, nowMs: LATE }, ['run', N, undefined]],
    ['not before its own delay', { current: D, readySinceMs: 1, nowMs: DUE - 1 }, ['fallback', D, DUE]],
    ['it ran before already', { current: D, readySinceMs: 1, nowMs: DUE }, ['run', N, undefined]],
    [
      'put off for requests in flight',
      { current: D, readySinceMs: READY, nowMs: LATE, inFlight: 1 },
      ['fallback', D, LATE + RETRY_PATIENCE_MS],
    ],
    [
      'in flight before it is due changes nothing',
      { current: D, readySinceMs: READY, nowMs: LATE - 1, inFlight: 1 },
      ['fallback', D, LATE],
    ],
    [
      'put off, the last ms',
      { current: D, readySinceMs: READY, nowMs: LATE + 10 * MINUTE_MS - 1, inFlight: 9 },
      ['fallback', D, LATE + 10 * MINUTE_MS],
    ],
    [
      'put off long enough',
      { current: D, readySinceMs: READY, nowMs: LATE + 10 * MINUTE_MS, inFlight: 9 },
      ['run', N, undefined],
    ],
    [
      'in flight elsewhere does not count',
      { current: X, readySinceMs: 1, nowMs: DUE, inFlight: 9 },
      ['run', N, undefined],
    ],
    [
      'never again: the fallback stays',
      { failure: never, current: D, readySinceMs: READY },
      ['fallback', D, undefined],
    ],
    ['never again, however late', { failure: never, nowMs: 1e12 }, ['fallback', D, undefined]],
    [
      'the default has failed too',
      { defaultFailure: { ...failure, failedAtMs: FAILED_AT + 9 } },
      ['wait', failure, DUE],
    ],
    [
      'the default is due first',
      { defaultFailure: { ...failure, failedAtMs: FAILED_AT - 9 } },
      ['wait', failure, DUE - 9],
    ],
    [
      'the default is due',
      { nowMs: DUE - 9, defaultFailure: { ...failure, failedAtMs: FAILED_AT - 9 } },
      ['fallback', D, DUE],
    ],
    [
      'the default loads although it failed: the retry does not wait for it',
      { current: D, nowMs: DUE, defaultFailure: never },
      ['run', N, undefined],
    ],
    [
      'the default serves although it failed: it stays',
      { current: D, readySinceMs: READY, defaultFailure: never },
      ['fallback', D, LATE],
    ],
    ['the default fails for good', { defaultFailure: never }, ['wait', failure, DUE]],
    ['both for good', { failure: never, defaultFailure: never }, ['wait', never, undefined]],
    ['for good, and the default later', { failure: never, defaultFailure: failure }, ['wait', never, DUE]],
    ['no default', { default: NOTHING }, ['wait', failure, DUE]],
    ['no default, 1 ms early', { default: NOTHING, nowMs: DUE - 1 }, ['wait', failure, DUE]],
    ['no default, due', { default: NOTHING, nowMs: DUE }, ['run', N, undefined]],
    ['no default, for good', { default: NOTHING, failure: never }, ['wait', never, undefined]],
    ['the default is the same', { default: N }, ['wait', failure, DUE]],
    [
      'another profile is another default',
      { default: { ...N, profile: 'q' } },
      ['fallback', { ...N, profile: 'q' }, DUE],
    ],
    ['chosen by hand: no fallback', { reason: 'manual' }, ['wait', failure, DUE]],
    ['chosen by hand, due', { reason: 'manual', nowMs: DUE }, ['run', N, undefined]],
    ['the default itself', { reason: 'default', target: D }, ['wait', failure, DUE]],
    [
      'the default itself, something else runs',
      { reason: 'default', target: D, current: X, readySinceMs: 1 },
      ['wait', failure, DUE],
    ],
    ['a stop that failed', { reason: 'exclusive', target: NOTHING, current: X }, ['wait', failure, DUE]],
  ])('%s', (_name, of, expected) => {
    expect(ask(of)).toEqual(expected)
  })
})
