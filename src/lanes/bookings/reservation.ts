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
  /** When it was last written, by somebody or by the clock. */
  readonly changedAtMs: number
  /** How often it was since it was made; 0 = never. */
  readonly revision: number
  /** Why it was rejected, cancelled or released. */
  readonly note: string | undefined
}

/** Tells apart what may happen to it more than once: no two of its notices have the same. */
export function occasionOf({ revision }: Reservation): string {
  return `revision ${revision}`
}

/** The same, about to be written with what is new of it: it counts as changed now. */
export function revised(before: Reservation, change: Partial<Reservation>, nowMs: number): Reservation {
  return { ...before, ...change, revision: before.revision + 1, changedAtMs: Math.round(nowMs) }
}
