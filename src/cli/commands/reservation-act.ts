import type { ReservationsClient } from '../../client/reservations.ts'
import type { ReservationRow } from '../../contract/reservation.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { reservationText, tellingConflicts } from '../reservation-words.ts'
import { openTimes, readMinutes, type TimeZoneOption } from '../times.ts'

export interface SeriesOptions extends GlobalOptions, TimeZoneOption {
  readonly series?: boolean
}

/** `hal0 reservation cancel ID`. JSON: the row. */
export async function reservationCancel(id: string, options: SeriesOptions): Promise<void> {
  await act(options, (reservations) => reservations.cancel(id, { series: options.series }))
}

/** `hal0 reservation end ID`. JSON: the row. */
export async function reservationEnd(id: string, options: GlobalOptions & TimeZoneOption): Promise<void> {
  await act(options, (reservations) => reservations.end(id))
}

export interface ExtendOptions extends GlobalOptions, TimeZoneOption {
  readonly by: string
}

/** `hal0 reservation extend ID --by 30m`. JSON: the row. */
export async function reservationExtend(id: string, options: ExtendOptions): Promise<void> {
  const minutes = readMinutes('--by', options.by)
  await act(options, (reservations) => reservations.extend(id, minutes))
}

/** `hal0 reservation approve ID`. JSON: the row. */
export async function reservationApprove(id: string, options: SeriesOptions): Promise<void> {
  await act(options, (reservations) => reservations.approve(id, { series: options.series }))
}

export interface RejectOptions extends SeriesOptions {
  readonly reason?: string
}

/** `hal0 reservation reject ID`. JSON: the row. */
export async function reservationReject(id: string, options: RejectOptions): Promise<void> {
  const { reason = '', series } = options
  await act(options, (reservations) => reservations.reject(id, { reason, series }))
}

async function act(
  options: GlobalOptions & TimeZoneOption,
  operation: (reservations: ReservationsClient) => Promise<ReservationRow>,
): Promise<void> {
  const output = outputOf(options)
  const { zone } = openTimes(options, output)
  const { reservations } = await connect(options)
  const row = await tellingConflicts(output, zone, () => operation(reservations))
  output.result(row, () => reservationText(row, zone))
}
