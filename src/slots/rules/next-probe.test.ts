import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextProbeMs } from './next-probe.ts'

describe('the next look at an engine that comes up', () => {
  it.each<[string, number, number]>([
    ['at once after the start', 0, 5],
    ['a small model', 40, 5],
    ['until a twentieth is more than that', 100, 5],
    ['from there it grows', 200, 10],
    ['with the load', 1_000, 50],
    ['up to a tenth of a second', 2_000, 100],
    ['in the first minute', 59_999, 100],
    ['then half a second', 60_000, 500],
    ['for ever', 3_600_000, 500],
  ])('%s', (_name, elapsedMs, delayMs) => {
    expect(nextProbeMs(elapsedMs)).toBe(delayMs)
  })

  it('makes no load of the first minute longer by more than 5 ms or a twentieth', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 59_999, noNaN: true }), (elapsedMs) => {
        const delayMs = nextProbeMs(elapsedMs)
        return delayMs >= 5 && delayMs <= Math.max(5, elapsedMs / 20)
      }),
    )
  })

  it('never grows denser again', () => {
    const time = fc.double({ min: 0, max: 200_000, noNaN: true })
    fc.assert(fc.property(time, time, (a, b) => nextProbeMs(Math.min(a, b)) <= nextProbeMs(Math.max(a, b))))
  })
})
