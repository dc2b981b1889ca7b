import { type Caller, isAdmin, userIdOf } from '../../access/caller.ts'
import { DELETED_USER, type People } from '../../access/people.ts'
import type { BookingConflict, ReservationRow } from '../../contract/reservation.ts'
import { isoTime } from '../../kernel/units.ts'
import { isHolder, targetOf } from '../rules/booking.ts'
import type { BookingWindow } from '../rules/booking-window.ts'
import type { Overlap } from '../rules/find-overlaps.ts'
import type { Reservation } from './reservation.ts'

type Names = Pick<People, 'byId'>

/** As this caller may see it: of others' bookings neither the title, nor the members, nor what was said of it. Source: SPEC 14. */
export function reservationRow(reservation: Reservation, by: Caller, people: Names): ReservationRow {
  const maySeeAll = isAdmin(by) || isHolder(reservation, userIdOf(by))
  const { firstUsedMs } = reservation
  const person = (id: string) => ({ id, name: personName(id, people) })
  return {
    id: reservation.id,
    lane: reservation.lane,
    status: reservation.status,
    start: isoTime(reservation.startMs),
    end: isoTime(reservation.endMs),
    booked_end: isoTime(reservation.bookedEndMs),
    target: reservation.use.kind === 'exclusive' ? null : targetOf(reservation),
    title: maySeeAll ? reservation.title : '',
    owner: person(reservation.ownerId),
    members: maySeeAll ? reservation.memberIds.map(person) : [],
    series_id: reservation.seriesId ?? null,
    time_zone: reservation.timeZone,
    created_at: isoTime(reservation.createdAtMs),
    changed_at: isoTime(reservation.changedAtMs),
    revision: reservation.revision,
    note: maySeeAll ? (reservation.note ?? null) : null,
    first_used_at: firstUsedMs === undefined ? null : isoTime(firstUsedMs),
  }
}

export function conflictRow({ booking, wanted }: Overlap<Reservation>, people: Names): BookingConflict {
  return {
    id: booking.id,
    start: isoTime(booking.startMs),
    end: isoTime(booking.endMs),
    owner: personName(booking.ownerId, people),
    wanted_start: isoTime(wanted.startMs),
  }
}

/** Null = there is none. */
export function windowRow(window: BookingWindow | undefined): { readonly start: string; readonly end: string } | null {
  return window === undefined ? null : { start: isoTime(window.startMs), end: isoTime(window.endMs) }
}

/** As messages and rows name a person; who is gone has no name any more. */
export function personName(id: string, people: Names): string {
  return people.byId(id)?.name ?? DELETED_USER
}
