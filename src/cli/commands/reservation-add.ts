import type { BookingCheck, BookingWarning } from '../../contract/reservation.ts'
import { type BookingOptions, bookingRequestOf, nextDayText } from '../booking-request.ts'
import { connect } from '../connect.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { targetText } from '../lane-words.ts'
import type { Output } from '../output.ts'
import type { TimeZoneOption } from '../own-zone.ts'
import { conflictLines, reservationText, tellingConflicts } from '../reservation-words.ts'
import { localTimes } from '../rules/local-times.ts'
import { windowText } from '../rules/time-text.ts'
import type { Zone } from '../rules/zone.ts'
import { openTimes } from '../times.ts'

export interface ReservationAddOptions extends GlobalOptions, TimeZoneOption, BookingOptions {
  readonly check?: boolean
}

/**
 * `hal0 reservation add LANE`. Warnings go to stderr first; JSON: `{reservations, warnings}`. With --check nothing is booked, JSON is the answer of
 * POST /api/reservations/check, and it ends with 1 when a booking would fail.
 */
export async function reservationAdd(lane: string, options: ReservationAddOptions): Promise<ExitCode> {
  const output = outputOf(options)
  const times = await openTimes(options, output)
  const { zone } = times
  const request = bookingRequestOf(lane, options, times)
  const { reservations } = await connect(options)
  const { start, end } = request
  const nextDay = end === undefined ? undefined : nextDayText(options.end, { start, end }, zone)
  if (nextDay !== undefined && !output.json) output.note(nextDay)
  if (options.check === true) {
    const answer = await tellingConflicts(output, zone, () => reservations.check(request))
    tellWarnings(output, answer.warnings, zone)
    output.result(answer, () => checkLines(answer, zone).join('\n'))
    return answer.ok ? EXIT.ok : EXIT.failed
  }
  const made = await tellingConflicts(output, zone, () => reservations.create(request))
  tellWarnings(output, made.warnings, zone)
  output.result(made, () => made.reservations.map((row) => reservationText(row, zone)).join('\n'))
  return EXIT.ok
}

function tellWarnings(output: Output, warnings: readonly BookingWarning[], zone: Zone): void {
  if (output.json) return
  for (const { message } of warnings) output.note(`warning: ${localTimes(message, zone)}`)
}

function checkLines({ ok, windows, conflicts, limits, target }: BookingCheck, zone: Zone): string[] {
  return [
    ...conflictLines(conflicts, zone),
    ...limits.map(({ limit, message }) => `limit ${limit}: ${localTimes(message, zone)}`),
    ok ? `it can be booked, ${targetText(target)}:` : 'it cannot be booked:',
    ...windows.map(({ start, end }) => `  ${windowText(start, end, zone)}`),
  ]
}
