import { ClientError } from '../client/client-errors.ts'
import type { ReservationsClient } from '../client/reservations.ts'
import { listNames } from '../kernel/list-names.ts'
import { counted } from '../kernel/sentence.ts'
import { MAX_ROWS, OPEN_STATUSES } from './reservation-series.ts'

type Bookings = Pick<ReservationsClient, 'list'>

/**
 * Does something that may end bookings of a user; what ended with it, as `; 2 bookings ended: r1, r2`. '' = none did, or nobody can say.
 * Errors: those of `action`. Source: SPEC 14.
 */
export async function endingBookings<T>(
  reservations: Bookings,
  user: string,
  action: () => Promise<T>,
): Promise<{ readonly done: T; readonly ended: string }> {
  const before = await openBookings(reservations)
  const done = await action()
  const own = before.filter(({ owner }) => owner.name === user.toLowerCase() || owner.id === user)
  if (own.length === 0) return { done, ended: '' }
  const open = new Set((await openBookings(reservations)).map(({ id }) => id))
  const ids = own.map(({ id }) => id).filter((id) => !open.has(id))
  return { done, ended: ids.length === 0 ? '' : `; ${counted(ids.length, 'booking')} ended: ${listNames(ids)}` }
}

/** Where they cannot be listed, what was asked for is done all the same. */
async function openBookings(reservations: Bookings) {
  try {
    return await reservations.list({ status: OPEN_STATUSES, limit: MAX_ROWS })
  } catch (thrown) {
    if (thrown instanceof ClientError) return []
    throw thrown
  }
}
