import type { ReservationsClient } from '../client/reservations.ts'
import { type ReservationRow, statusText } from '../contract/reservation.ts'

/** What is still to come or runs. */
export const OPEN_STATUSES = ['pending', 'approved', 'active'] as const

/** The most that the daemon tells at once. */
export const MAX_ROWS = 5_000

/** The open ones of the series of a booking, in order of their start; itself, where it is of none. */
async function openSeriesOf(reservations: ReservationsClient, id: string): Promise<readonly ReservationRow[]> {
  const row = await reservations.show(id)
  const { lane, series_id: series } = row
  if (series === null) return [row]
  const open = await reservations.list({ lane, status: OPEN_STATUSES, limit: MAX_ROWS })
  const found = open.filter(({ series_id: other }) => other === series)
  return found.some((one) => one.id === id) ? found : [row, ...found]
}

/**
 * Does something to a whole series; which of its bookings have become something else by it, in order of their start? Itself at least. Errors:
 * those of `operation`.
 */
export async function changeSeries(
  reservations: ReservationsClient,
  id: string,
  operation: () => Promise<ReservationRow>,
): Promise<readonly ReservationRow[]> {
  const before = await openSeriesOf(reservations, id)
  const row = await operation()
  if (row.series_id === null) return [row]
  const was = new Map(before.map(({ id: one, status }) => [one, status]))
  const starts = before.map(({ start }) => start).toSorted()
  const now = await reservations.list({ lane: row.lane, from: starts[0], limit: MAX_ROWS })
  const changed = now.filter(({ id: one, status }) => was.has(one) && was.get(one) !== status)
  return changed.length === 0 ? [row] : changed
}

/** `3 reservations: 2 cancelled, 1 ended early`. */
export function countText(rows: readonly ReservationRow[]): string {
  const counts = new Map<string, number>()
  for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1)
  const parts = [...counts].map(([status, count]) => `${count} ${statusText(status)}`)
  return `${rows.length} reservation${rows.length === 1 ? '' : 's'}: ${parts.join(', ')}`
}
