import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findFreeWindow } from './find-free-window.ts'
import { findOverlaps } from './find-overlaps.ts'

const booked = (...windows: readonly (readonly [number, number])[]) =>
  windows.map(([startMs, endMs], n) => ({ id: `r${n}`, startMs, endMs }))

describe('findFreeWindow', () => {
  it.each([
    ['nothing is booked', [], 100],
    ['the gap before is just long enough', [[110, 120]], 100],
    ['the gap before is 1 ms too short', [[109, 120]], 120],
    ['one has just begun', [[90, 105]], 105],
    ['one ends as it begins', [[90, 100]], 100],
    ['one ends 1 ms later', [[90, 101]], 101],
    [
      'two touch',
      [
        [95, 110],
        [110, 130],
      ],
      130,
    ],
    [
      'the gap between two is long enough',
      [
        [95, 110],
        [120, 130],
      ],
      110,
    ],
    [
      'the gap between two is 1 ms too short',
      [
        [95, 110],
        [119, 130],
      ],
      130,
    ],
    ['the last start is just reached', [[95, 200]], 200],
    ['the last start is missed by 1 ms', [[95, 201]], undefined],
  ] as const)('%s', (_, windows, expected) => {
    const question = { lengthMs: 10, fromMs: 100, lastStartMs: 200, bookings: booked(...windows) }
    const found = findFreeWindow(question)
    expect(found).toEqual(expected === undefined ? undefined : { startMs: expected, endMs: expected + 10 })
  })

  it('the one that is moved is not in its own way', () => {
    const question = { lengthMs: 10, fromMs: 100, lastStartMs: 200, bookings: booked([100, 110], [112, 120]) }
    expect(findFreeWindow({ ...question, exceptId: 'r0' })?.startMs).toBe(100)
    expect(findFreeWindow({ ...question, lengthMs: 13, exceptId: 'r0' })?.startMs).toBe(120)
  })

  it('is free, and nothing before it is', () => {
    const gaps = fc.array(fc.tuple(fc.nat(6), fc.integer({ min: 1, max: 6 })), { maxLength: 12 })
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 8 }), fc.nat(40), (list, lengthMs, fromMs) => {
        let at = 0
        const bookings = booked(
          ...list.map(([gap, length]) => {
            const startMs = at + gap
            at = startMs + length
            return [startMs, at] as const
          }),
        )
        const found = findFreeWindow({ lengthMs, fromMs, lastStartMs: 1_000, bookings })
        const isFree = (startMs: number) =>
          findOverlaps([{ startMs, endMs: startMs + lengthMs }], bookings).length === 0
        let first = fromMs
        while (!isFree(first)) first++
        expect(found?.startMs).toBe(first)
      }),
    )
  })
})
