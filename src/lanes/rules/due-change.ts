import { MINUTE_MS } from '../../kernel/units.ts'
import { type Booking, isInForce } from './booking.ts'

/** So long before its start the holders are reminded. Source: SPEC 13 "starting soon". */
export const STARTING_SOON_MS = 10 * MINUTE_MS
/** So long before its end they are; of one no longer than `SHORT_MS` they are not. */
export const ENDING_SOON_MS = 5 * MINUTE_MS
export const SHORT_MS = 15 * MINUTE_MS

/** When is an unused booking released? `afterMs` 0 = never; `readySinceMs` undefined = nobody can have used it yet. Epoch ms. */
export interface NoShowRule {
  readonly afterMs: number
  readonly readySinceMs: number | undefined
}

/** What a booking's moment brings: `expire` pending → rejected, `start` → active, `complete` → completed, `release` → ended early, unused. */
export interface DueChange<T> {
  readonly kind: 'expire' | 'start' | 'complete' | 'release'
  readonly booking: T
}

/** A reminder whose time has come. */
export interface DueReminder<T> {
  readonly event: 'starting_soon' | 'ending_soon'
  readonly booking: T
  /** What it reminds of, epoch ms; still ahead. */
  readonly momentMs: number
}

/**
 * Which changes are due by the clock, in the order in which they come? Bookings of one lane in order of start. One whose whole window has gone by
 * unseen has two. Source: SPEC 13.
 */
export function dueChanges<T extends Booking>(
  bookings: readonly T[],
  nowMs: number,
  noShow: NoShowRule,
): readonly DueChange<T>[] {
  const due: DueChange<T>[] = []
  for (const booking of bookings) {
    if (booking.startMs > nowMs) break
    if (booking.status === 'pending') due.push({ kind: 'expire', booking })
    if (!isInForce(booking)) continue
    if (booking.status === 'approved') due.push({ kind: 'start', booking })
    if (booking.endMs <= nowMs) due.push({ kind: 'complete', booking })
    else if ((releaseMs(booking, noShow) ?? Number.POSITIVE_INFINITY) <= nowMs) due.push({ kind: 'release', booking })
  }
  return due
}

/** Which reminders are due? Never one of a moment that has come already. Order as in `dueChanges`. */
export function dueReminders<T extends Booking & { readonly createdAtMs: number }>(
  bookings: readonly T[],
  nowMs: number,
): readonly DueReminder<T>[] {
  const due: DueReminder<T>[] = []
  for (const booking of bookings) {
    if (booking.startMs - STARTING_SOON_MS > nowMs) break
    for (const { event, atMs, momentMs } of remindersOf(booking)) {
      if (atMs <= nowMs && nowMs < momentMs) due.push({ event, booking, momentMs })
    }
  }
  return due
}

/** The next moment, after `nowMs`, at which something is due; undefined = none. Order as in `dueChanges`. */
export function nextDueMs(
  bookings: readonly (Booking & { readonly createdAtMs: number })[],
  nowMs: number,
  noShow: NoShowRule,
): number | undefined {
  let next = Number.POSITIVE_INFINITY
  for (const booking of bookings) {
    if (booking.startMs - STARTING_SOON_MS >= next) break
    const moments = [booking.startMs, ...remindersOf(booking).map(({ atMs }) => atMs)]
    if (isInForce(booking)) moments.push(booking.endMs, releaseMs(booking, noShow) ?? next)
    for (const moment of moments) if (moment > nowMs && moment < next) next = moment
  }
  return Number.isFinite(next) ? next : undefined
}

function remindersOf(booking: Booking & { readonly createdAtMs: number }) {
  if (!isInForce(booking)) return []
  const { startMs, endMs, createdAtMs } = booking
  const reminders: { event: DueReminder<Booking>['event']; atMs: number; momentMs: number }[] = []
  // Who books at short notice knows.
  if (createdAtMs < startMs - STARTING_SOON_MS) {
    reminders.push({ event: 'starting_soon', atMs: startMs - STARTING_SOON_MS, momentMs: startMs })
  }
  if (endMs - startMs > SHORT_MS) {
    reminders.push({ event: 'ending_soon', atMs: endMs - ENDING_SOON_MS, momentMs: endMs })
  }
  return reminders
}

/** When it is released if nobody uses it; undefined = never. Of an exclusive one no request is ever seen. */
function releaseMs({ use, firstUsedMs, startMs }: Booking, { afterMs, readySinceMs }: NoShowRule): number | undefined {
  if (afterMs <= 0 || readySinceMs === undefined) return undefined
  if (use.kind === 'exclusive' || firstUsedMs !== undefined) return undefined
  return Math.max(startMs, readySinceMs) + afterMs
}
