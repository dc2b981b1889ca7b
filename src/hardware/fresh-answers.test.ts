import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { createFreshAnswers } from './fresh-answers.ts'

/** Looks end when the test says so; an answer is the time at which its look began. */
function harness({ reusesEnded = true, restMs = 0 } = {}) {
  const clock = new ManualClock()
  const running: (() => void)[] = []
  let most = 0
  let looks = 0
  const ask = createFreshAnswers<number>({
    clock,
    maxAgeMs: 500,
    reusesEnded,
    restMs: () => restMs,
    look: () => {
      looks++
      const sinceMs = clock.monotonicMs()
      const answer = new Promise<number>((resolve) => {
        running.push(() => resolve(sinceMs))
      })
      most = Math.max(most, running.length)
      return { sinceMs, answer }
    },
  })
  const end = async () => {
    running.shift()?.()
    await clock.advance(0)
  }
  return { clock, ask, end, looks: () => looks, most: () => most }
}

describe('createFreshAnswers', () => {
  it('many who ask at once share one look', async () => {
    const { ask, end, looks } = harness()
    const answers = Array.from({ length: 20 }, () => ask().answer)
    await end()
    expect(new Set(await Promise.all(answers))).toEqual(new Set([0]))
    expect(looks()).toBe(1)
  })

  it.each([
    [500, 1],
    [501, 2],
  ])('an answer that is %i ms old: %i looks', async (ageMs, expected) => {
    const { ask, end, looks, clock } = harness()
    ask()
    await end()
    await clock.advance(ageMs)
    ask()
    expect(looks()).toBe(expected)
  })

  it('counts the age from the beginning of a look, not from its end', async () => {
    const { ask, end, looks, clock } = harness()
    ask()
    await clock.advance(400)
    await end()
    await clock.advance(101)
    ask()
    expect(looks()).toBe(2)
  })

  it('who comes too late for the running look gets the next, together with all who come after', async () => {
    const { ask, end, looks, clock, most } = harness()
    const first = ask().answer
    await clock.advance(501)
    const late = [ask().answer, ask().answer]
    await clock.advance(2000)
    late.push(ask().answer)
    expect(looks()).toBe(1)
    await end()
    expect(looks()).toBe(2)
    await end()
    expect(await first).toBe(0)
    expect(await Promise.all(late)).toEqual([2501, 2501, 2501])
    expect(most()).toBe(1)
  })

  it('shares only what is on its way when it is told so', async () => {
    const { ask, end, looks } = harness({ reusesEnded: false })
    ask()
    ask()
    await end()
    ask()
    expect(looks()).toBe(2)
  })

  it('rests after an answer that asks for it', async () => {
    const { ask, end, looks, clock } = harness({ restMs: 10_000 })
    ask()
    await end()
    await clock.advance(9_999)
    ask()
    expect(looks()).toBe(1)
    await clock.advance(1)
    ask()
    expect(looks()).toBe(2)
  })

  it('a look that fails is told to those who asked, and the next one looks again', async () => {
    let looks = 0
    const ask = createFreshAnswers<number>({
      clock: new ManualClock(),
      maxAgeMs: 500,
      reusesEnded: true,
      look: () => ({ sinceMs: 0, answer: ++looks === 1 ? Promise.reject(new Error('broken')) : Promise.resolve(7) }),
    })
    await expect(ask().answer).rejects.toThrow('broken')
    expect(await ask().answer).toBe(7)
  })

  it('nobody is ever given what is older than 500 ms at the time he asked, and one look runs at a time', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 1200 }) }),
      fc.record({ do: fc.constantFrom('ask' as const, 'end' as const) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.boolean(), async (steps, reusesEnded) => {
        const { ask, end, clock, most } = harness({ reusesEnded })
        const asked: { readonly atMs: number; readonly answer: Promise<number> }[] = []
        for (const one of steps) {
          if (one.do === 'wait') await clock.advance(one.ms)
          else if (one.do === 'end') await end()
          else asked.push({ atMs: clock.monotonicMs(), answer: ask().answer })
        }
        await end()
        await end()
        for (const { atMs, answer } of asked) expect(await answer).toBeGreaterThanOrEqual(atMs - 500)
        expect(most()).toBeLessThanOrEqual(1)
      }),
      { numRuns: 200 },
    )
  })
})
