import { type ReservationRow, type ReservationStatus, statusText } from '../../contract/reservation.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { targetText } from '../lane-words.ts'
import type { TimeZoneOption } from '../own-zone.ts'
import { MAX_ROWS, OPEN_STATUSES } from '../reservation-series.ts'
import { localTimes } from '../rules/local-times.ts'
import { momentText, windowText } from '../rules/time-text.ts'
import type { Zone } from '../rules/zone.ts'
import { openTimes } from '../times.ts'

const HEAD = ['ID', 'LANE', 'STATUS', 'WINDOW', 'TARGET', 'OWNER', 'TITLE', 'SERIES'] as const

export interface ReservationListOptions extends GlobalOptions, TimeZoneOption {
  readonly lane?: string
  readonly mine?: boolean
  /** Only of these. */
  readonly status?: readonly ReservationStatus[]
  /** Those that are over too. */
  readonly all?: boolean
}

/** `hal0 reservation list`. JSON: `{reservations: [row, …]}`, the rows of GET /api/reservations. */
export async function reservationList(options: ReservationListOptions): Promise<void> {
  const output = outputOf(options)
  const { zone } = await openTimes(options, output)
  const { lane, mine, all } = options
  const status = options.status ?? (all === true ? undefined : OPEN_STATUSES)
  const rows = await (await connect(options)).reservations.list({ lane, mine, status, limit: MAX_ROWS })
  if (rows.length === 0 && !output.json) {
    output.note(noneText(options))
  }
  if (rows.length === MAX_ROWS)
    output.note(`only the first ${MAX_ROWS} are listed; --lane, --mine and --status narrow it`)
  output.result({ reservations: rows }, () =>
    rows.length === 0
      ? ''
      : output.table(
          HEAD,
          rows.map((row) => cells(row, zone)),
        ),
  )
}

function noneText({ status, all }: ReservationListOptions): string {
  if (status !== undefined) return `no reservations that are ${status.map(statusText).join(' or ')}`
  return all === true ? 'no reservations' : 'no reservations ahead; --all lists those that are over too'
}

function cells(row: ReservationRow, zone: Zone): string[] {
  const { id, lane, status, start, end, target, owner, title, series_id: series } = row
  const window = windowText(start, end, zone)
  return [id, lane, statusText(status), window, targetText(target), owner.name, title, series ?? '']
}

/** `hal0 reservation show ID`. JSON: the row. */
export async function reservationShow(id: string, options: GlobalOptions & TimeZoneOption): Promise<void> {
  const output = outputOf(options)
  const { zone } = await openTimes(options, output)
  const row = await (await connect(options)).reservations.show(id)
  output.result(row, () => output.table(['KEY', 'VALUE'], rowLines(row, zone)))
}

/** What is unknown or empty is left out. */
function rowLines(row: ReservationRow, zone: Zone): string[][] {
  const lines = [
    ['id', row.id],
    ['lane', row.lane],
    ['status', statusText(row.status)],
    ['window', windowText(row.start, row.end, zone)],
    ['booked until', row.booked_end === row.end ? '' : momentText(row.booked_end, zone)],
    ['target', targetText(row.target)],
    ['title', row.title],
    ['owner', row.owner.name],
    ['members', row.members.map(({ name }) => name).join(', ')],
    ['series', row.series_id ?? ''],
    ['its time zone', row.time_zone],
    ['made', momentText(row.created_at, zone)],
    ['first used', row.first_used_at === null ? '' : momentText(row.first_used_at, zone)],
    ['note', localTimes(row.note ?? '', zone)],
  ]
  return lines.filter(([, value]) => value !== '')
}

export interface NoticesOptions extends GlobalOptions, TimeZoneOption {
  /** They count as read from now on. */
  readonly read?: boolean
}

/** `hal0 reservation notices`: what one was told. JSON: `{unread, notifications}`, as it was before --read. */
export async function reservationNotices(options: NoticesOptions): Promise<void> {
  const output = outputOf(options)
  const { zone } = await openTimes(options, output)
  const { notifications } = await connect(options)
  const list = await notifications.list()
  const rows = list.notifications
  if (rows.length === 0 && !output.json) output.note('no notices')
  output.result(list, () =>
    rows.length === 0
      ? ''
      : output.table(
          ['WHEN', 'NEW', 'LANE', 'RESERVATION', 'WHAT', 'MORE'],
          rows.map((row) => [
            momentText(row.created_at, zone),
            row.read_at === null ? 'new' : '',
            row.lane,
            row.reservation_id,
            row.title,
            localTimes(row.body, zone),
          ]),
        ),
  )
  // What came after the list was made has not been seen.
  if (options.read === true && rows.length > 0) await notifications.markRead(Math.max(...rows.map(({ id }) => id)))
}
