import type { Booking } from '../rules/booking.ts'

/** A row of the table `reservations`, with its members: a booking, and what people said of it. Times epoch ms. */
export interface Reservation extends Booking {
  readonly title: string
  /** What it says of its end, before it was ended early. */
  readonly bookedEndMs: number
  /** Of those that were booked together; undefined = by itself. */
  readonly seriesId: string | undefined
  /** IANA. */
  readonly timeZone: string
  readonly createdAtMs: number
  /** Why it was rejected, cancelled or released. */
  readonly note: string | undefined
}
