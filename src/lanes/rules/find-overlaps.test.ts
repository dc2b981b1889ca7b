import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findOverlaps, firstEndingAfter, firstStartingAfter } from './find-overlaps.ts'

const windowOf = (startMs: number, endMs: number) => ({ startMs, endMs })
const BOOKED = [
  { id: 'a', ...windowOf(100, 200) },
  { id: 'b', ...windowOf(200, 300) },
  { id: 'c', ...windowOf(400, 500) },
]

describe('findOverlaps', () => {
  it.each<[string, number, number, string]>([
    ['touches the start', 0, 100, ''],
    ['1 ms into it', 0, 101, 'a'],
    ['the same', 100, 200, 'a'],
    ['inside', 150, 151, 'a'],
    ['around all', 0, 999, 'a b c'],
    ['1 ms of two', 199, 201, 'a b'],
    ['fills the hole', 300, 400, ''],
    ['1 ms before its end', 499, 999, 'c'],
    ['touches the end', 500, 999, ''],
  ])('%s', (_, startMs, endMs, expected) => {
    const found = findOverlaps([windowOf(startMs, endMs)], BOOKED)
    expect(found.map(({ booking }) => booking.id).join(' ')).toBe(expected)
  })

  it('says of which window, and leaves out the one that is moved', () => {
    const wanted = [windowOf(150, 250), windowOf(450, 460)]
    const found = findOverlaps(wanted, BOOKED, 'b').map(({ booking, wanted: { startMs } }) => [booking.id, startMs])
    expect(found).toEqual([
      ['a', 150],
      ['c', 450],
    ])
  })

  it('always: those that share a ms', () => {
    const steps = fc.array(fc.tuple(fc.nat({ max: 5 }), fc.integer({ min: 1, max: 5 })), { maxLength: 12 })
    const row = (list: [number, number][]) => {
      let at = 0
      return list.map(([gap, length], n) => {
        const startMs = at + gap
        at = startMs + length
        return { id: String(n), startMs, endMs: at }
      })
    }
    fc.assert(
      fc.property(steps, steps, (a, b) => {
        const [windows, bookings] = [row(a), row(b)]
        const expected = windows.flatMap((wanted) => {
          return bookings
            .filter(({ startMs, endMs }) => startMs < wanted.endMs && wanted.startMs < endMs)
            .map((booking) => ({ booking, wanted }))
        })
        expect(findOverlaps(windows, bookings)).toEqual(expected)
      }),
    )
  })
})

it.each([
  [99, 0, 0],
  [100, 0, 1],
  [199, 0, 1],
  [200, 1, 2],
  [500, 3, 3],
])('at %i: the first that ends, that starts after it', (ms, ends, starts) => {
  expect([firstEndingAfter(BOOKED, ms), firstStartingAfter(BOOKED, ms)]).toEqual([ends, starts])
  expect([firstEndingAfter([], ms), firstStartingAfter([], ms)]).toEqual([0, 0])
})
