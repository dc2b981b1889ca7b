import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SECOND_MS } from '../../kernel/units.ts'
import { chooseServed, RETRY_PATIENCE_MS } from './choose-served.ts'
import type { ServedDecision, ServedQuestion, TargetFailure } from './decision.ts'
import { type LaneTarget, NOTHING, sameTarget, targetKey } from './lane-target.ts'
import { nextFailure } from './next-failure.ts'

const N: LaneTarget = { kind: 'model', model: 'n', profile: 'p' }
const D: LaneTarget = { kind: 'model', model: 'd', profile: 'p' }
const HORIZON_MS = 7_200 * SECOND_MS
const WANTED = { target: N, reason: 'reserved', branch: 1, booking: undefined, reviewAtMs: undefined } as const

function must(isSo: boolean, text: string, ...facts: readonly unknown[]): void {
  if (!isSo) throw new Error(`${text}: ${JSON.stringify(facts)}`)
}

/** A booking of `n` that begins at 0 on an empty lane. Times in ms. */
interface Day {
  /** Outcomes of the loads of each, in turn; after the last they succeed. `permanent`: it is not tried again. */
  readonly loads: { readonly n: readonly Outcome[]; readonly d: readonly Outcome[] }
  readonly loadMs: { readonly n: number; readonly d: number }
  /** Requests come at these times, and last so long where something serves them. */
  readonly requests: readonly (readonly [atMs: number, lastsMs: number])[]
}
type Outcome = 'ready' | 'failed' | 'permanent'

interface Step {
  readonly atMs: number
  readonly served: ServedDecision
  readonly question: ServedQuestion
  /** What serves the holder from here on; undefined = nothing. */
  readonly serving: LaneTarget | undefined
  readonly isLoading: boolean
  /** Attempts to load `n` that have ended. */
  readonly attempts: number
}

/** Runs a day as the lane's loop does; a stop takes no time. */
function runDay(day: Day, standIn: LaneTarget): readonly Step[] {
  const steps: Step[] = []
  const failures = new Map<string, TargetFailure>()
  const begun = { n: 0, d: 0 }
  let [nowMs, attempts] = [0, 0]
  let current = NOTHING
  let readySinceMs: number | undefined
  let loadedAtMs: number | undefined
  const nameOf = (target: LaneTarget) => (sameTarget(target, N) ? 'n' : 'd')
  const busyUntil = (sinceMs: number) =>
    day.requests.filter(([atMs, lastsMs]) => sinceMs <= atMs && atMs <= nowMs && nowMs < atMs + lastsMs)
  for (let looks = 0; nowMs < HORIZON_MS; looks += 1) {
    must(looks < 5_000, 'does not come to rest', nowMs)
    if (loadedAtMs === nowMs) {
      const name = nameOf(current)
      const outcome = day.loads[name][begun[name] - 1] ?? 'ready'
      loadedAtMs = undefined
      if (name === 'n') attempts += 1
      const key = targetKey(current)
      if (outcome === 'ready') {
        readySinceMs = nowMs
        failures.delete(key)
      } else {
        const isPermanent = outcome === 'permanent'
        const now = { nowMs, code: 'slot.spawn_failed', message: 'why', fingerprint: 'f', isPermanent }
        failures.set(key, nextFailure(failures.get(key), now))
        current = NOTHING
      }
    }
    const inFlight = readySinceMs === undefined ? [] : busyUntil(readySinceMs)
    const failureOf = (target: LaneTarget) => failures.get(targetKey(target))
    const question: ServedQuestion = {
      nowMs,
      decision: WANTED,
      default: standIn,
      current,
      readySinceMs,
      inFlight: inFlight.length,
      failureOf,
    }
    const served = chooseServed({ ...question })
    if (served.kind === 'run' && !sameTarget(served.target, current)) {
      current = served.target
      readySinceMs = undefined
      begun[nameOf(current)] += 1
      loadedAtMs = nowMs + day.loadMs[nameOf(current)]
    }
    const serving = readySinceMs === undefined ? undefined : current
    const isLoading = loadedAtMs !== undefined
    // What the rule was told must not change under what is kept of it.
    const told = new Map(failures)
    steps.push({
      atMs: nowMs,
      served,
      question: { ...question, failureOf: (of) => told.get(targetKey(of)) },
      serving,
      isLoading,
      attempts,
    })
    if (loadedAtMs === nowMs) continue
    const events = [served.reviewAtMs, loadedAtMs, ...day.requests.flatMap(([atMs, lasts]) => [atMs, atMs + lasts])]
    nowMs = Math.min(HORIZON_MS, ...events.filter((atMs) => atMs !== undefined && atMs > nowMs).map(Number))
  }
  return steps
}

const outcome = fc.constantFrom<Outcome>('failed', 'failed', 'failed', 'ready', 'permanent')
const seconds = (max: number) => fc.integer({ min: 0, max }).map((s) => s * SECOND_MS)
const day: fc.Arbitrary<Day> = fc.record({
  loads: fc.record({ n: fc.array(outcome, { minLength: 1, maxLength: 8 }), d: fc.array(outcome, { maxLength: 3 }) }),
  loadMs: fc.record({ n: seconds(120), d: seconds(120) }),
  requests: fc.array(
    fc.tuple(
      seconds(3_600),
      fc.integer({ min: 1, max: 1_500 }).map((s) => s * SECOND_MS),
    ),
    {
      maxLength: 6,
    },
  ),
})

/** What a holder has between the n-th attempt and the next: the best of it. */
function servedAfter(steps: readonly Step[], attempts: number): boolean {
  return steps.some((step) => step.attempts === attempts && step.serving !== undefined)
}

function mustBeFair({ question, served, serving, isLoading, atMs }: Step): void {
  const { current, failureOf, inFlight, readySinceMs } = question
  const failure = failureOf(N)
  // A retry leaves the fallback only when nobody is on it, or after 10 minutes.
  if (sameTarget(current, D) && readySinceMs !== undefined && served.kind === 'run' && !served.isFallback) {
    const delayMs = failure?.retry.kind === 'after' ? failure.retry.delayMs : 0
    const dueMs = Math.max(readySinceMs, failure?.failedAtMs ?? 0) + delayMs
    must(dueMs <= atMs, 'a retry before its time', atMs, dueMs)
    must(inFlight === 0 || atMs >= dueMs + RETRY_PATIENCE_MS, 'a retry cuts requests', atMs, dueMs, inFlight)
  }
  // Nothing is served and nothing loads: then everything has failed.
  if (serving === undefined && !isLoading) {
    must(failure !== undefined && failureOf(D) !== undefined, 'the holder is left with nothing', atMs, served)
  }
  must(served.reviewAtMs === undefined || served.reviewAtMs > atMs, 'a review in the past', atMs, served)
  const lastMs = served.reviewAtMs === undefined ? atMs + HORIZON_MS : served.reviewAtMs - 1
  const then = chooseServed({ ...question, nowMs: lastMs })
  must(isSame(served, then), 'another answer before its review', atMs, lastMs, served, then)
}

function isSame(a: ServedDecision, b: ServedDecision): boolean {
  if (a.kind === 'wait' || b.kind === 'wait') return a.kind === b.kind
  return sameTarget(a.target, b.target) && a.isFallback === b.isFallback
}

describe('a fallback over random failures', () => {
  it('leaves the holder never worse off, and cuts no request for 10 minutes', { timeout: 60_000 }, () => {
    let fallbacks = 0
    let putOff = 0
    fc.assert(
      fc.property(day, (of) => {
        const steps = runDay(of, D)
        const without = runDay(of, NOTHING)
        for (const step of steps) mustBeFair(step)
        // Attempt by attempt, for a fallback costs time: who is served without one is served with it too.
        const last = steps.at(-1)?.attempts ?? 0
        for (let attempts = 0; attempts <= last; attempts += 1) {
          if (servedAfter(without, attempts)) must(servedAfter(steps, attempts), 'worse off with it', attempts)
        }
        // And nobody ends with nothing who would have ended with something.
        const end = [without.at(-1), steps.at(-1)] as const
        if (end[0]?.serving !== undefined)
          must(end[1]?.serving !== undefined || end[1]?.isLoading === true, 'nothing in the end')
        if (steps.some(({ serving }) => serving !== undefined && sameTarget(serving, D))) fallbacks += 1
        if (
          steps.some(
            ({ question, served }) =>
              question.inFlight > 0 && served.kind === 'run' && !served.isFallback && sameTarget(question.current, D),
          )
        )
          putOff += 1
      }),
      { numRuns: 4_000 },
    )
    expect(fallbacks).toBeGreaterThan(500)
    expect(putOff).toBeGreaterThan(20)
  })

  it('where loads take no time and the default loads, it serves at every moment', () => {
    fc.assert(
      fc.property(day, (of) => {
        const steps = runDay({ ...of, loads: { n: of.loads.n, d: [] }, loadMs: { n: 0, d: 0 } }, D)
        for (const [index, step] of steps.entries()) {
          const isLast = steps[index + 1]?.atMs !== step.atMs
          must(!isLast || step.serving !== undefined, 'a moment without', step)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('whatever it is asked: with a default it does no less than without', () => {
    const failure = fc.option(
      fc.record({ failedAtMs: fc.nat(100), delayMs: fc.nat(60), isForGood: fc.boolean() }).map(
        ({ failedAtMs, delayMs, isForGood }): TargetFailure => ({
          failures: 1,
          code: 'slot.spawn_failed',
          message: 'why',
          failedAtMs,
          retry: isForGood ? { kind: 'never', fingerprint: 'f' } : { kind: 'after', delayMs },
        }),
      ),
      { nil: undefined },
    )
    const asked = fc.record({
      nowMs: fc.nat(200),
      current: fc.constantFrom(NOTHING, N, D),
      readySinceMs: fc.option(fc.nat(200), { nil: undefined }),
      inFlight: fc.nat(2),
      n: failure,
      d: failure,
    })
    fc.assert(
      fc.property(asked, ({ n, d, ...rest }) => {
        const failureOf = (target: LaneTarget) => (sameTarget(target, N) ? n : d)
        const question = { ...rest, decision: WANTED, failureOf }
        const served = chooseServed({ ...question, default: D })
        const without = chooseServed({ ...question, default: NOTHING })
        // What would be tried or kept is tried or kept; or the default serves, or loads, in the meantime.
        if (without.kind === 'run') must(served.kind === 'run', 'waits where it would have tried', served)
        const isUp = sameTarget(rest.current, N) && rest.readySinceMs !== undefined
        if (isUp) must(served.kind === 'run' && sameTarget(served.target, N), 'leaves what serves', served)
      }),
      { numRuns: 5_000 },
    )
  })
})
