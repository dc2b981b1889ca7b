import type { Booking } from './booking.ts'
import type { BookingWindow } from './booking-window.ts'

/** A booking that is in the way, and of which of the wanted windows. */
export interface Overlap<T> {
  readonly booking: T
  readonly wanted: BookingWindow
}

/**
 * What is in the way of these windows? Windows in order; bookings blocking, in order, none overlapping another. Windows are half-open: touching
 * is fine. `exceptId`: the booking that is to be moved is not in its own way. Source: SPEC 13.
 */
export function findOverlaps<T extends Pick<Booking, 'id' | 'startMs' | 'endMs'>>(
  windows: readonly BookingWindow[],
  bookings: readonly T[],
  exceptId?: string,
): readonly Overlap<T>[] {
  const found: Overlap<T>[] = []
  for (const wanted of windows) {
    for (let at = firstEndingAfter(bookings, wanted.startMs); at < bookings.length; at++) {
      const booking = bookings[at]
      if (booking === undefined || booking.startMs >= wanted.endMs) break
      if (booking.id !== exceptId) found.push({ booking, wanted })
    }
  }
  return found
}

/** The place of the first that ends after `ms`; the length = none. Of bookings in order that do not overlap. */
export function firstEndingAfter(bookings: readonly Pick<Booking, 'endMs'>[], ms: number): number {
  return firstPlace(bookings, ({ endMs }) => endMs > ms)
}

/** The place of the first that starts after `ms`; the length = none. Of bookings in order. */
export function firstStartingAfter(bookings: readonly Pick<Booking, 'startMs'>[], ms: number): number {
  return firstPlace(bookings, ({ startMs }) => startMs > ms)
}

/** Where `isPast` turns from false to true. */
function firstPlace<T>(items: readonly T[], isPast: (item: T) => boolean): number {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const item = items[middle]
    if (item !== undefined && isPast(item)) high = middle
    else low = middle + 1
  }
  return low
}
