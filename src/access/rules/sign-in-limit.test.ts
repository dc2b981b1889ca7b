import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideSignIn } from './sign-in-limit.ts'

const limit = { attempts: 3, windowMs: 1_000 }

describe('how often somebody may try', () => {
  it.each([
    ['none before', [], 5_000, undefined],
    ['one less than allowed', [5_000, 5_001], 5_002, undefined],
    ['as many as allowed', [5_000, 5_001, 5_002], 5_002, 6_000],
    ['1 ms before the first is over', [5_000, 5_001, 5_002], 5_999, 6_000],
    ['at the moment it is over', [5_000, 5_001, 5_002], 6_000, undefined],
    ['with more than allowed', [5_000, 5_001, 5_002, 5_003], 5_004, 6_001],
    ['set back clock', [9_000, 9_001, 9_002], 5_000, undefined],
  ] as const)('%s', (_name, failed, nowMs, untilMs) => {
    const expected = untilMs === undefined ? { kind: 'go' } : { kind: 'wait', untilMs }
    expect(decideSignIn(failed, nowMs, limit)).toEqual(expected)
  })

  it('is honest: nothing goes before it says, and at that moment it goes', () => {
    const times = fc
      .array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 12 })
      .map((all) => all.toSorted((a, b) => a - b))
    fc.assert(
      fc.property(
        times,
        fc.integer({ min: 3_000, max: 4_000 }),
        fc.integer({ min: 1, max: 4 }),
        (failed, nowMs, attempts) => {
          const own = { attempts, windowMs: 1_000 }
          const decision = decideSignIn(failed, nowMs, own)
          if (decision.kind === 'go') return
          expect(decideSignIn(failed, decision.untilMs - 1, own).kind).toBe('wait')
          expect(decideSignIn(failed, decision.untilMs, own)).toEqual({ kind: 'go' })
        },
      ),
    )
  })
})
