import assert from 'node:assert/strict'
import fc from 'fast-check'
import { it } from 'vitest'
import { ActorRun, type RunKnobs } from '../../../test/support/actor-model.ts'
import { anyStep, claimStep, crashStep } from '../../../test/support/actor-steps.ts'

/** Fewer would leave corners unseen. RUNS=60000 looks longer. */
const LEAST_STEPS = 10_000
const RUNS = Number(process.env['RUNS'] ?? 1_200)
/** Also the search for a small counterexample ends then. Without a fault a tenth of it is enough. */
const LONGEST_MS = Math.max(240_000, RUNS * 200)

const anyKnobs: fc.Arbitrary<RunKnobs> = fc.record({
  termDelayMs: fc.constantFrom(0, 0, 20, 35_000),
  ignoresTerm: fc.constantFrom(false, false, false, true),
  leavesGrandchild: fc.constantFrom(false, true),
  isGated: fc.boolean(),
  adopts: fc.constantFrom('nothing' as const, 'nothing' as const, 'unknown' as const, 'passed' as const),
  isUp: fc.boolean(),
  hasPort: fc.boolean(),
})

it.each([
  ['whatever happens in whatever order', anyStep, RUNS, LEAST_STEPS],
  ['when engines do not live long', crashStep, Math.ceil(RUNS / 3), 0],
  ['when others want the memory', claimStep, Math.ceil(RUNS / 3), 0],
] as const)(
  '%s, what must hold does (test/support/actor-model.ts says what)',
  async (_when, aStep, numRuns, leastSteps) => {
    let steps = 0
    await fc.assert(
      fc.asyncProperty(anyKnobs, fc.array(aStep, { minLength: 3, maxLength: 50, size: 'max' }), async (knobs, life) => {
        const run = new ActorRun(knobs)
        await run.begin()
        for (const step of life) {
          steps++
          await run.take(step)
          const isSettled = step.do === 'settle' || step.do === 'advance'
          if (isSettled) await run.slot.settle()
          run.check(isSettled)
        }
        await run.end()
        await run.checkClosed()
      }),
      { numRuns, interruptAfterTimeLimit: LONGEST_MS, markInterruptAsFailure: true },
    )
    assert.ok(steps >= leastSteps, `only ${steps} steps`)
  },
  2 * LONGEST_MS,
)
