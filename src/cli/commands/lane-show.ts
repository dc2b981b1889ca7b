import type { LaneRow } from '../../contract/lane.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { bookingText, laneRemark, targetText } from '../lane-words.ts'
import type { TimeZoneOption } from '../own-zone.ts'
import { localTimes } from '../rules/local-times.ts'
import { momentText, windowText } from '../rules/time-text.ts'
import type { Zone } from '../rules/zone.ts'
import { openTimes } from '../times.ts'

const HEAD = ['NAME', 'PHASE', 'RUNS', 'WANTED', 'REASON', 'NOW', 'NEXT', 'MESSAGE'] as const

/** `hal0 lane list`. JSON: `{lanes: [row, …]}`, the rows of GET /api/lanes. */
export async function laneList(options: GlobalOptions & TimeZoneOption): Promise<void> {
  const output = outputOf(options)
  const { zone } = await openTimes(options, output)
  const lanes = await (await connect(options)).lanes.list()
  if (lanes.length === 0 && !output.json) output.note('no lanes; `hal0 lane create NAME` makes one')
  output.result({ lanes }, () =>
    lanes.length === 0
      ? ''
      : output.table(
          HEAD,
          lanes.map((row) => cells(row, zone)),
        ),
  )
}

function cells(row: LaneRow, zone: Zone): string[] {
  const { name, phase, current, target, reason, active, next } = row
  return [
    name,
    phase,
    targetText(current),
    targetText(target),
    reason,
    active === null ? '-' : bookingText(active, zone),
    next === null ? '-' : bookingText(next, zone),
    localTimes(laneRemark(row), zone),
  ]
}

/** `hal0 lane show NAME`. JSON: the row of GET /api/lanes/NAME. */
export async function laneShow(name: string, options: GlobalOptions & TimeZoneOption): Promise<void> {
  const output = outputOf(options)
  const { zone } = await openTimes(options, output)
  const row = await (await connect(options)).lanes.show(name)
  output.result(row, () => output.table(['KEY', 'VALUE'], rowLines(row, zone)))
}

/** Key and value lines; what is unknown or empty is left out. */
function rowLines(row: LaneRow, zone: Zone): string[][] {
  const { manual } = row
  const lines = [
    ['name', row.name],
    ['device', row.device],
    ['gpus', row.gpus.join(', ')],
    ['phase', row.phase],
    ['runs', targetText(row.current) + (row.is_fallback ? ' (fallback)' : '')],
    ['wanted', `${targetText(row.target)} [${row.reason}]`],
    ['may change', row.review_at === null ? '' : momentText(row.review_at, zone)],
    ['booked now', row.active === null ? '' : bookingText(row.active, zone)],
    ['next booking', row.next === null ? '' : bookingText(row.next, zone)],
    ['manual', manual === null ? '' : manualText(manual, row.name, zone)],
    ['default', targetText(row.default)],
    ['in flight', String(row.in_flight)],
    ['approval', row.approval],
    ['exclusive', row.allow_exclusive ? 'allowed' : 'not allowed'],
    ['file', row.config_problem ?? ''],
    ['bookings', row.store_problem === null ? '' : `cannot be read: ${row.store_problem}`],
    ...row.warnings.map((text) => ['warning', localTimes(text, zone)]),
    ...row.failures.map((one) => {
      const again =
        one.retry_at === null ? 'not tried again before it changes' : `next try ${momentText(one.retry_at, zone)}`
      const times = one.failures === 1 ? 'failed once' : `failed ${one.failures} times`
      return ['failure', `${targetText(one.target)}: ${one.message} (${one.code}); ${times}, ${again}`]
    }),
  ]
  return lines.filter(([, value]) => value !== '')
}

function manualText(manual: NonNullable<LaneRow['manual']>, lane: string, zone: Zone): string {
  const end = manual.until === null ? 'until the next booking' : windowText(manual.made_at, manual.until, zone)
  return `${targetText(manual.target)} by ${manual.made_by}, ${end} (hal0 lane clear ${lane} takes it back)`
}
