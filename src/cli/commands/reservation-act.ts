import type { ReservationsClient } from '../../client/reservations.ts'
import type { ReservationRow } from '../../contract/reservation.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { namingOwner } from '../naming-owner.ts'
import type { Output } from '../output.ts'
import type { TimeZoneOption } from '../own-zone.ts'
import { changeSeries, countText } from '../reservation-series.ts'
import { approvalText, reservationText, tellingConflicts } from '../reservation-words.ts'
import type { Zone } from '../rules/zone.ts'
import { openTimes, readMinutes } from '../times.ts'

export interface SeriesOptions extends GlobalOptions, TimeZoneOption {
  readonly series?: boolean
}

type Operation = (reservations: ReservationsClient, output: Output) => Promise<ReservationRow>

/** `hal0 reservation cancel ID`. JSON: the row; with --series `{reservations: [row, …]}`, those that it changed. */
export async function reservationCancel(id: string, options: SeriesOptions): Promise<void> {
  await actOnSeries(id, options, (reservations) => reservations.cancel(id, { series: options.series }))
}

/** `hal0 reservation end ID`. JSON: the row. */
export async function reservationEnd(id: string, options: GlobalOptions & TimeZoneOption): Promise<void> {
  await act(id, options, (reservations) => reservations.end(id))
}

export interface ExtendOptions extends GlobalOptions, TimeZoneOption {
  readonly by: string
}

/** `hal0 reservation extend ID --by 30m`. JSON: the row. */
export async function reservationExtend(id: string, options: ExtendOptions): Promise<void> {
  const minutes = readMinutes('--by', options.by)
  await act(id, options, async (reservations, output) => {
    const before = await reservations.show(id)
    const row = await reservations.extend(id, minutes)
    const approval = approvalText(before, row)
    if (approval !== undefined && !output.json) output.note(approval)
    return row
  })
}

/** `hal0 reservation approve ID`: tells what was approved, as it was at that moment, and whose it is. JSON: as `reservationCancel`. */
export async function reservationApprove(id: string, options: SeriesOptions): Promise<void> {
  await actOnSeries(id, options, (reservations) => reservations.approve(id, { series: options.series }), judgedText)
}

export interface RejectOptions extends SeriesOptions {
  readonly reason?: string
}

/** `hal0 reservation reject ID`. JSON: as `reservationCancel`. */
export async function reservationReject(id: string, options: RejectOptions): Promise<void> {
  const { reason = '', series } = options
  await actOnSeries(id, options, (reservations) => reservations.reject(id, { reason, series }), judgedText)
}

/** What somebody decided on for somebody else. */
function judgedText(row: ReservationRow, zone: Zone): string {
  return `${reservationText(row, zone)}, for ${row.owner.name}`
}

async function act(
  id: string,
  options: GlobalOptions & TimeZoneOption,
  operation: Operation,
  text: typeof reservationText = reservationText,
): Promise<void> {
  const output = outputOf(options)
  const { zone } = await openTimes(options, output)
  const { reservations } = await connect(options)
  const row = await tellingConflicts(output, zone, () =>
    namingOwner(reservations, id, () => operation(reservations, output)),
  )
  output.result(row, () => text(row, zone))
}

/** With --series all that it changed are told, and how many. */
async function actOnSeries(
  id: string,
  options: SeriesOptions,
  operation: Operation,
  text: typeof reservationText = reservationText,
): Promise<void> {
  if (options.series !== true) return act(id, options, operation, text)
  const output = outputOf(options)
  const { zone } = await openTimes(options, output)
  const { reservations } = await connect(options)
  const rows = await tellingConflicts(output, zone, () =>
    namingOwner(reservations, id, () => changeSeries(reservations, id, () => operation(reservations, output))),
  )
  output.result({ reservations: rows }, () => rows.map((row) => text(row, zone)).join('\n'))
  if (!output.json) output.note(countText(rows))
}
