import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MINUTE_MS } from '../../kernel/units.ts'
import type { Booking } from './booking.ts'
import { dueChanges, dueReminders, nextDueMs } from './due-change.ts'

type Dated = Booking & { readonly createdAtMs: number }

function booking(more: Partial<Dated> = {}): Dated {
  return {
    ...{ id: 'r1', lane: 'gpu0', ownerId: 'u', memberIds: [], status: 'approved', createdAtMs: -60 * MINUTE_MS },
    ...{ startMs: 0, endMs: 60 * MINUTE_MS, firstUsedMs: undefined },
    use: { kind: 'model', model: 'a', profile: 'p' },
    ...more,
  }
}

const NEVER = { afterMs: 0, readySinceMs: 0 }
const AFTER_5 = { afterMs: 5 * MINUTE_MS, readySinceMs: 0 }
const END = 60 * MINUTE_MS
const EXCLUSIVE = { use: { kind: 'exclusive' } } as const

describe('dueChanges', () => {
  it.each<[string, Partial<Dated>, number, typeof NEVER, string[]]>([
    ['1 ms before its start', {}, -1, NEVER, []],
    ['at its start', {}, 0, NEVER, ['start']],
    ['pending, 1 ms before', { status: 'pending' }, -1, NEVER, []],
    ['pending at its start', { status: 'pending' }, 0, NEVER, ['expire']],
    ['active, 1 ms before its end', { status: 'active' }, END - 1, NEVER, []],
    ['active at its end', { status: 'active' }, END, NEVER, ['complete']],
    ['its whole window went by', {}, END, AFTER_5, ['start', 'complete']],
    ['unused, 1 ms less', { status: 'active' }, 5 * MINUTE_MS - 1, AFTER_5, []],
    ['unused', { status: 'active' }, 5 * MINUTE_MS, AFTER_5, ['release']],
    ['used', { status: 'active', firstUsedMs: 1 }, 5 * MINUTE_MS, AFTER_5, []],
    ['the whole card', { status: 'active', ...EXCLUSIVE }, 5 * MINUTE_MS, AFTER_5, []],
    ['cancelled', { status: 'cancelled' }, END, AFTER_5, []],
  ])('%s', (_, more, nowMs, noShow, expected) => {
    expect(dueChanges([booking(more)], nowMs, noShow).map(({ kind }) => kind)).toEqual(expected)
  })
})

describe('dueReminders', () => {
  const SOON = -10 * MINUTE_MS
  it.each<[string, Partial<Dated>, number, string[]]>([
    ['10 minutes and 1 ms before', {}, SOON - 1, []],
    ['10 minutes before', {}, SOON, ['starting_soon']],
    ['1 ms before', {}, -1, ['starting_soon']],
    ['at its start', {}, 0, []],
    ['made 10 minutes before', { createdAtMs: SOON }, -1, []],
    ['made 1 ms earlier', { createdAtMs: SOON - 1 }, -1, ['starting_soon']],
    ['pending', { status: 'pending' }, -1, []],
    ['5 minutes and 1 ms before its end', {}, END - 5 * MINUTE_MS - 1, []],
    ['5 minutes before its end', {}, END - 5 * MINUTE_MS, ['ending_soon']],
    ['at its end', {}, END, []],
    ['15 minutes are short', { endMs: 15 * MINUTE_MS }, 12 * MINUTE_MS, []],
    ['1 ms more are not', { endMs: 15 * MINUTE_MS + 1 }, 12 * MINUTE_MS, ['ending_soon']],
  ])('%s', (_, more, nowMs, expected) => {
    expect(dueReminders([booking(more)], nowMs).map(({ event }) => event)).toEqual(expected)
  })
})

it('always: before the moment that is said nothing new is due, and then something is', () => {
  const status = fc.constantFrom('pending' as const, 'approved' as const)
  const window = fc.record({ gap: fc.nat({ max: 40 }), length: fc.integer({ min: 1, max: 60 }), status })
  const windows = fc.array(window, { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(windows, fc.integer({ min: -20, max: 200 }), fc.nat({ max: 30 }), (list, now, after) => {
      let at = 0
      const bookings = list.map(({ gap, length, status: word }, n) => {
        const startMs = (at + gap) * MINUTE_MS
        at += gap + length
        return booking({ id: `r${n}`, startMs, endMs: at * MINUTE_MS, status: word })
      })
      const nowMs = now * MINUTE_MS
      const noShow = { afterMs: after * MINUTE_MS, readySinceMs: 0 }
      const due = (ms: number) => {
        const reminders = dueReminders(bookings, ms).map(({ event, booking: { id } }) => `${event} ${id}`)
        return [...dueChanges(bookings, ms, noShow).map(({ kind, booking: { id } }) => `${kind} ${id}`), ...reminders]
      }
      const next = nextDueMs(bookings, nowMs, noShow)
      const until = (next ?? Number.MAX_SAFE_INTEGER) - 1
      const fresh = due(until).filter((one) => !due(nowMs).includes(one))
      expect(fresh).toEqual([])
      if (next !== undefined) expect(next).toBeGreaterThan(nowMs)
    }),
    { numRuns: 500 },
  )
})
