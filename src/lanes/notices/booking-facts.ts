import { DELETED_USER, type Person } from '../../access/people.ts'
import { isoTime } from '../../kernel/units.ts'
import { type Booking, targetOf } from '../rules/booking.ts'

/** A booking as a webhook tells it, in JSON: names as in the API, without what only its holders may see. `target` null = exclusive: nothing is loaded. */
export function describeBooking(booking: Booking, owner: Person | undefined): string {
  const { id, lane, status, startMs, endMs, ownerId, use } = booking
  return JSON.stringify({
    id,
    lane,
    status,
    start: isoTime(startMs),
    end: isoTime(endMs),
    target: use.kind === 'exclusive' ? null : targetOf(booking),
    owner: { id: ownerId, name: owner?.name ?? DELETED_USER },
  })
}
