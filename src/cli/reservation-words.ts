import { ClientError } from '../client/client-errors.ts'
import { type BookingCheck, bookingConflictSchema, type ReservationRow } from '../contract/reservation.ts'
import { targetText } from './lane-words.ts'
import { withLocalErrors } from './local-errors.ts'
import type { Output } from './output.ts'
import { momentText, windowText } from './rules/time-text.ts'
import type { Zone } from './rules/zone.ts'

type Conflict = BookingCheck['conflicts'][number]

/** What became of a booking, in one line: `reservation r1 on gpu0: approved, 2026-12-24 18:00 to 20:00 Europe/Berlin, hello (chat)`. */
export function reservationText(row: ReservationRow, zone: Zone): string {
  const { id, lane, status, start, end, target } = row
  return `reservation ${id} on ${lane}: ${statusText(status)}, ${windowText(start, end, zone)}, ${targetText(target)}`
}

/** What is to say of a change by which a booking that was approved has to be approved again; undefined = nothing. */
export function approvalText(before: ReservationRow, after: ReservationRow): string | undefined {
  if (before.status !== 'approved' || after.status !== 'pending') return undefined
  return `warning: ${after.id} was approved, and by this change waits for an admin's approval again`
}

/** `ended_early` → `ended early`. */
export function statusText(status: string): string {
  return status.replaceAll('_', ' ')
}

/** What is in the way, a line for each. With several windows asked for, the one that is hit is named. */
export function conflictLines(conflicts: readonly Conflict[], zone: Zone): string[] {
  const isOne = new Set(conflicts.map(({ wanted_start: start }) => start)).size === 1
  return conflicts.map(({ id, start, end, owner, wanted_start: wanted }) => {
    const who = owner === null ? '' : ` of ${owner}`
    const whom = isOne ? '' : ` (for the one at ${momentText(wanted, zone)})`
    return `in the way: ${id}${who}, ${windowText(start, end, zone)}${whom}`
  })
}

/**
 * Says on stderr what is in the way, where the failure is an overlap; its error body says the same with `--json`. The failure goes on, with the
 * times of its message in the zone.
 */
export function tellingConflicts<T>(output: Output, zone: Zone, action: () => Promise<T>): Promise<T> {
  return withLocalErrors(output, zone, async () => {
    try {
      return await action()
    } catch (thrown) {
      if (!output.json && thrown instanceof ClientError && thrown.code === 'reservation.overlap') {
        const conflicts = bookingConflictSchema.array().safeParse(thrown.details['conflicts'])
        for (const line of conflictLines(conflicts.success ? conflicts.data : [], zone)) output.note(line)
      }
      throw thrown
    }
  })
}
