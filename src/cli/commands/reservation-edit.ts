import { type ReservationChange, type ReservationRow, reservationChangeSchema } from '../../contract/reservation.ts'
import { isoTime, MINUTE_MS } from '../../kernel/units.ts'
import { type BookingOptions, endBeforeStart, nextDayText } from '../booking-request.ts'
import { checked } from '../checked.ts'
import { UsageError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { namingOwner } from '../naming-owner.ts'
import type { TimeZoneOption } from '../own-zone.ts'
import { approvalText, reservationText, tellingConflicts } from '../reservation-words.ts'
import { openTimes, readMinutes, type Times } from '../times.ts'

/** What a booking says, as far as it is to be another. */
type Changed = Partial<Omit<BookingOptions, 'owner' | 'repeat' | 'times' | 'until' | 'days'>>

export interface ReservationEditOptions extends GlobalOptions, TimeZoneOption, Changed {
  /** False = nobody besides the owner. */
  readonly members?: boolean
}

/** `hal0 reservation edit ID`: what is not said stays; a start alone moves the whole booking. JSON: the row. Errors: UsageError. */
export async function reservationEdit(id: string, options: ReservationEditOptions): Promise<void> {
  const output = outputOf(options)
  const times = await openTimes(options, output)
  const { model, profile, exclusive, title, member } = options
  if (options.end !== undefined && options.for !== undefined) {
    throw new UsageError('--end and --for say the same thing.', 'Give one of the two.')
  }
  const members = options.members === false ? [] : member
  const said = Object.entries({ model, profile, exclusive, title, members }).filter(([, value]) => value !== undefined)
  const isMoved = options.start !== undefined || options.end !== undefined || options.for !== undefined
  if (said.length === 0 && !isMoved) {
    throw new UsageError('There is nothing to change.', '`hal0 reservation edit --help` shows the options.')
  }
  const { reservations } = await connect(options)
  const before = await reservations.show(id)
  const window = isMoved ? windowOf(before, options, times) : {}
  const change = checked(reservationChangeSchema, { ...Object.fromEntries(said), ...window })
  const row = await tellingConflicts(output, times.zone, () =>
    namingOwner(reservations, id, () => reservations.change(id, change)),
  )
  const approval = approvalText(before, row)
  const nextDay = nextDayText(options.end, { start: row.start, end: row.end }, times.zone)
  for (const text of output.json ? [] : [nextDay, approval]) if (text !== undefined) output.note(text)
  output.result(row, () => reservationText(row, times.zone))
}

/** A start alone keeps the length; an end alone (or a length) keeps the start, which is then not said: of an active one it may not move. */
function windowOf(row: ReservationRow, options: ReservationEditOptions, times: Times): ReservationChange {
  const before = { startMs: new Date(row.start).getTime(), endMs: new Date(row.end).getTime() }
  const startMs = options.start === undefined ? before.startMs : times.read('--start', options.start)
  const endMs = endOf(startMs, before.endMs - before.startMs, options, times)
  if (endMs <= startMs) throw endBeforeStart()
  return {
    ...(options.start === undefined ? {} : { start: isoTime(startMs) }),
    end: isoTime(endMs),
    time_zone: times.zone.name,
  }
}

function endOf(startMs: number, lengthMs: number, options: ReservationEditOptions, times: Times): number {
  if (options.end !== undefined) return times.read('--end', options.end, startMs + 1)
  if (options.for !== undefined) return startMs + readMinutes('--for', options.for) * MINUTE_MS
  return startMs + lengthMs
}
