import { expect, it } from 'vitest'
import type { Hal0Error } from '../kernel/errors.ts'
import { type BookedThing, refuseBookedLane, refuseBookedTarget } from './refuse-booked.ts'
import type { Booking } from './rules/booking.ts'

const booking = (id: string, use: Booking['use']): Booking => ({
  ...{ id, lane: 'gpu0', ownerId: 'ada', memberIds: [], startMs: 0, endMs: 1_000, status: 'approved', use },
  firstUsedMs: undefined,
})
const BIG = booking('r1', { kind: 'model', model: 'big', profile: 'mine' })
const OPEN = [
  BIG,
  booking('r2', { kind: 'exclusive' }),
  booking('r3', { kind: 'model', model: 'small', profile: 'mine' }),
]

function failure(action: () => void): Pick<Hal0Error, 'code' | 'message' | 'details'> | undefined {
  try {
    action()
    return undefined
  } catch (thrown) {
    return thrown as Hal0Error
  }
}

it.each<[BookedThing, string | undefined, string]>([
  [{ kind: 'model', model: 'big' }, 'model.in_use', 'model "big" is booked by reservation r1 (lane gpu0)'],
  [
    { kind: 'profile', profile: 'mine' },
    'profile.in_use',
    'profile "mine" is booked by reservations r1 (lane gpu0), r3 (lane gpu0)',
  ],
  [{ kind: 'model', model: 'mine' }, undefined, ''],
  [{ kind: 'profile', profile: 'big' }, undefined, ''],
])('%j: %s', (thing, code, message) => {
  const error = failure(() => refuseBookedTarget(thing, OPEN))
  expect([error?.code, error?.message ?? '']).toEqual([code, message])
  if (code !== undefined) expect(error?.details?.['remedy']).toContain('`hal0 reservation cancel r1`')
})

it('of many the first are named', () => {
  const many = Array.from({ length: 7 }, (_, n) => ({ ...BIG, id: `r${n}` }))
  const error = failure(() => refuseBookedTarget({ kind: 'model', model: 'big' }, many))
  expect(error?.message).toMatch(/r4 \(lane gpu0\) and 2 more$/)
  expect(error?.details?.['reservations']).toHaveLength(7)
})

it('a lane with bookings says so', () => {
  expect(failure(() => refuseBookedLane('gpu0', []))).toBeUndefined()
  expect(failure(() => refuseBookedLane('gpu0', OPEN))?.message).toBe(
    'lane gpu0 has 3 reservations (the next is r1) that are not over',
  )
})
