import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chooseTurn, type TurnWaiter } from './choose-turn.ts'

const queue = (...models: (string | undefined)[]): TurnWaiter[] => models.map((modelId, nth) => ({ modelId, nth }))

describe('chooseTurn', () => {
  it.each([
    ['all are for what is loaded', queue('a', undefined, 'a'), 0, [0, 1, 2], undefined],
    ['one for another model closes the turn for those behind it', queue('a', 'b', 'a'), 0, [0], 'b'],
    ['but not for those who waited when it began', queue('a', 'b', 'a', 'a'), 3, [0, 2], 'b'],
    ['the oldest foreign one is next', queue('c', 'b', 'a'), 3, [2], 'c'],
    ['without a wish any model will do, behind a foreign one as any other', queue('b', undefined), 0, [], 'b'],
    ['nobody waits', [], 7, [], undefined],
  ])('%s', (_name, waiters, begunAtNth, expected, next) => {
    const turn = chooseTurn('a', begunAtNth, waiters)
    expect(waiters.filter((waiter) => turn.mayHave(waiter)).map((waiter) => waiter.nth)).toEqual(expected)
    expect(turn.nextModelId).toBe(next)
  })

  /** Everybody who waits is served, with no more loads than there are models, however they came. */
  it('loads each model once for all who wait', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 }), (models) => {
        let waiting = queue(...models)
        let loaded = 'a'
        let loads = 0
        while (waiting.length > 0) {
          const turn = chooseTurn(loaded, models.length, waiting)
          waiting = waiting.filter((waiter) => !turn.mayHave(waiter))
          if (waiting.length === 0) break
          expect(turn.nextModelId).toBe(waiting[0]?.modelId)
          loaded = turn.nextModelId ?? ''
          loads++
        }
        expect(loads).toBeLessThanOrEqual(new Set(models.filter((model) => model !== 'a')).size)
      }),
    )
  })
})
