import fc from 'fast-check'
import { expect, it } from 'vitest'
import { nextPollDelayMs } from './poll-delay.ts'

it.each([
  [1, 100],
  [2, 150],
  [3, 225],
  [8, 1709],
  [9, 2000],
  [1_000_000, 2000],
])('after %i looks: %i ms', (looks, delayMs) => expect(nextPollDelayMs(looks)).toBe(delayMs))

it('only grows', () => {
  fc.assert(fc.property(fc.nat(5000), (looks) => nextPollDelayMs(looks + 1) >= nextPollDelayMs(looks)))
})
