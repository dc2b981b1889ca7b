import { type Caller, LOCAL_USER_ID, userIdOf } from '../../access/caller.ts'
import { laneFacts, needReservation } from './booking-desk.ts'
import { createBookingStore } from './booking-store.ts'
import { createBookingTeller } from './booking-teller.ts'
import type { Bookings } from './bookings.ts'
import type { BookingsDeps } from './bookings-deps.ts'
import type { Calendar } from './calendar.ts'
import { createChanger } from './change-bookings.ts'
import { createEnder } from './end-bookings.ts'
import { createMaker } from './make-bookings.ts'
import { type GoneReason, releaseUser } from './release-bookings.ts'
import { reservationRow } from './reservation-row.ts'
import { createSettler } from './settle-bookings.ts'

/** As many as a list has when nobody says how many. */
const DEFAULT_LIMIT = 500
const MAX_LIMIT = 5_000

/** The timetable of all lanes. */
export interface BookingBook {
  readonly bookings: Bookings
  readonly calendar: Calendar
  /** What the local admin booked is this user's from now on. Errors: `lane.store_unavailable`. */
  adoptLocal(userId: string): void
  /** Who is about to be deleted or disabled has no open bookings any more. The answer: how many they had. Errors: `lane.store_unavailable`. */
  releaseUser(userId: string, why: GoneReason, by: Caller): number
  /** Writes what is owed; nobody is told of anything any more. Never throws. The database is its owner's to close, afterwards. */
  close(): void
}

/**
 * Reads what the store has; while it cannot, `calendar.problem` says why, and it is tried again. Nothing happens by itself: whoever runs the lanes
 * calls `calendar.settle`. Errors: none. Source: SPEC 13.
 */
export function createBookings(deps: BookingsDeps): BookingBook {
  const { people, clock, log } = deps
  const store = createBookingStore(deps)
  const teller = createBookingTeller(deps)
  const settler = createSettler({ store, teller, clock, log })
  const desk = { deps, store, teller, settler }

  const bookings: Bookings = {
    list(query, by) {
      const { lane, mine = false, status = [], fromMs, toMs, limit = DEFAULT_LIMIT } = query
      if (lane !== undefined) laneFacts(desk, lane)
      const userId = mine ? userIdOf(by) : undefined
      const count = Math.min(Math.max(1, limit), MAX_LIMIT)
      const found = store.read((table) => table.find({ lane, userId, status, fromMs, toMs, limit: count }))
      return found.map((reservation) => reservationRow(reservation, by, people))
    },
    show: (id, by) =>
      reservationRow(
        store.read((table) => needReservation(table, id)),
        by,
        people,
      ),
    ...createMaker(desk),
    ...createChanger(desk),
    ...createEnder(desk),
  }

  const calendar: Calendar = {
    upcoming: (lane, nowMs) => store.mirror.upcoming(lane, nowMs),
    lastStartMs: (lane, nowMs) => store.mirror.lastStartMs(lane, nowMs),
    onChange: (listener) => store.onChange(listener),
    settle: (lane, nowMs, noShow) => settler.settle(lane, nowMs, noShow),
    used: (bookingId, nowMs) => store.used(bookingId, nowMs),
    get problem() {
      return store.problem
    },
    get unread() {
      return store.unread
    },
  }

  return {
    bookings,
    calendar,
    adoptLocal(userId) {
      store.write((table) => {
        table.handOver(LOCAL_USER_ID, userId, clock.nowMs())
        return { value: undefined, changed: [] }
      })
      store.reloadAll()
    },
    releaseUser: (userId, why, by) => releaseUser(desk, userId, why, by),
    close: () => store.close(),
  }
}
