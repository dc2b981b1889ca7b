import { z } from 'zod'
import { ClientError } from '../client/client-errors.ts'
import { type BookingCheck, bookingConflictSchema, type ReservationRow, statusText } from '../contract/reservation.ts'
import { targetText } from './lane-words.ts'
import type { Output } from './output.ts'
import { rephraseError } from './rephrase-error.ts'
import { localTimes } from './rules/local-times.ts'
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
 * Says on stderr what is in the way, where the failure is an overlap, and leaves it out of the error, which lists the same; with `--json` the
 * error body says it all. The failure goes on.
 */
export async function tellingConflicts<T>(output: Output, zone: Zone, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (thrown) {
    if (output.json || !(thrown instanceof ClientError) || thrown.code !== 'reservation.overlap') throw thrown
    const overlap = overlapSchema.safeParse(thrown.details)
    if (!overlap.success) throw thrown
    for (const line of conflictLines(overlap.data.conflicts, zone)) output.note(line)
    throw rephraseError(thrown, { message: overlapText(overlap.data, zone) })
  }
}

/** The details of `reservation.overlap`. */
const overlapSchema = z.object({
  conflicts: bookingConflictSchema.array().min(1),
  next_free: z.object({ start: z.string(), end: z.string() }).optional(),
  limits: z.object({ limit: z.string(), message: z.string() }).array().optional(),
})

function overlapText({ next_free: free, limits = [] }: z.infer<typeof overlapSchema>, zone: Zone): string {
  const where = free === undefined ? '' : `; it is free from ${windowText(free.start, free.end, zone)}`
  const broken = limits.map(({ limit, message }) => `${limit}: ${localTimes(message, zone)}`).join('; ')
  const also = broken === '' ? '' : `. It does not allow it either: ${broken}`
  return `the lane is booked already${where}${also}`
}
