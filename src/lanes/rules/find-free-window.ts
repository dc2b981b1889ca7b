import type { Booking } from './booking.ts'
import type { BookingWindow } from './booking-window.ts'
import { firstEndingAfter } from './find-overlaps.ts'

export interface FreeWindowQuestion {
  /** How long it has to be; above 0. */
  readonly lengthMs: number
  /** Not before, epoch ms. */
  readonly fromMs: number
  /** It has to start by then, epoch ms. */
  readonly lastStartMs: number
  /** Blocking ones of the lane that end after `fromMs` and start before `lastStartMs + lengthMs`, in order, none overlapping another. */
  readonly bookings: readonly Pick<Booking, 'id' | 'startMs' | 'endMs'>[]
  /** The booking that is to be moved is not in its own way. */
  readonly exceptId?: string | undefined
}

/** The first window of that length in which nothing is booked; touching is fine. Undefined = there is none by then. Source: SPEC 13. */
export function findFreeWindow(question: FreeWindowQuestion): BookingWindow | undefined {
  const { lengthMs, fromMs, lastStartMs, bookings, exceptId } = question
  let startMs = fromMs
  for (let at = firstEndingAfter(bookings, fromMs); at < bookings.length; at++) {
    const booking = bookings[at]
    if (booking === undefined || booking.id === exceptId) continue
    if (startMs + lengthMs <= booking.startMs) break
    startMs = Math.max(startMs, booking.endMs)
  }
  return startMs > lastStartMs ? undefined : { startMs, endMs: startMs + lengthMs }
}
