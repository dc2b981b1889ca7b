import { describe, expect, it } from 'vitest'
import type { Booking } from './booking.ts'
import { bookingWarnings, type WarningQuestion } from './booking-warnings.ts'

const A = { kind: 'model', model: 'a', profile: 'p' } as const
const B = { kind: 'model', model: 'b', profile: 'p' } as const
const EXCLUSIVE = { kind: 'exclusive' } as const

function booking(startMs: number, endMs: number, use: Booking['use'] = B): Booking {
  return {
    id: 'r1',
    lane: 'gpu0',
    ownerId: 'u',
    memberIds: [],
    startMs,
    endMs,
    status: 'approved',
    use,
    firstUsedMs: undefined,
  }
}

function warnings(more: Partial<WarningQuestion>): string[] {
  const question: WarningQuestion = {
    windows: [{ startMs: 100_000, endMs: 200_000 }],
    use: A,
    bookings: [],
    estimateMs: (target) => (target.kind === 'nothing' ? 5_000 : 20_000),
    ...{ exceedsVram: false, neverLoaded: false, needsApproval: false, outside: [], notes: [] },
    ...more,
  }
  return bookingWarnings(question).map(({ kind, message }) => `${kind}: ${message}`)
}

describe('neighbours', () => {
  it.each<[string, Partial<WarningQuestion>, string | undefined]>([
    ['none', {}, undefined],
    ['before, touching', { bookings: [booking(0, 100_000)] }, 'neighbour_before: the booking before (r1,'],
    ['before: so long', { bookings: [booking(0, 92_500)] }, 'the first 13 seconds go by to load yours'],
    ['before, in time to load', { bookings: [booking(0, 80_000)] }, undefined],
    ['before, 1 ms too late', { bookings: [booking(0, 80_001)] }, 'the first 1 second go'],
    ['before, the same', { bookings: [booking(0, 100_000, A)] }, undefined],
    ['before, another profile', { bookings: [booking(0, 100_000, { ...A, profile: 'q' })] }, 'a (profile q)'],
    ['before, the whole card', { bookings: [booking(0, 100_000, EXCLUSIVE)] }, 'has the whole card'],
    [
      'before an exclusive one',
      { use: EXCLUSIVE, bookings: [booking(0, 100_000)] },
      '5 seconds go by to free the card',
    ],
    ['after, touching', { bookings: [booking(200_000, 300_000)] }, 'neighbour_after: the booking after (r1,'],
    ['after, later than it loads', { bookings: [booking(220_000, 300_000)] }, undefined],
    ['after, 1 ms sooner', { bookings: [booking(219_999, 300_000)] }, 'the first 1 second of it'],
    ['after, the same', { bookings: [booking(200_000, 300_000, A)] }, undefined],
    ['itself is none', { bookings: [booking(100_000, 200_000, A)] }, undefined],
  ])('%s', (_, more, expected) => {
    const found = warnings(more)
    expect(found).toHaveLength(expected === undefined ? 0 : 1)
    expect(found[0] ?? '').toContain(expected ?? '')
  })
})

it('all else that is worth knowing, each once; of many three are named', () => {
  const found = warnings({
    ...{ exceedsVram: true, neverLoaded: true, needsApproval: true },
    outside: [{ limit: 'max_hours', message: '24 hours at most' }],
    notes: ['one', 'two', 'three', 'four', 'five'],
  })
  expect(found.map((text) => text.split(':')[0])).toEqual([
    ...['exceeds_vram', 'outside_limits', 'needs_approval', 'never_loaded', 'wall_time'],
  ])
  expect(found.at(-1)).toBe('wall_time: one; two; three, and 2 more')
})
