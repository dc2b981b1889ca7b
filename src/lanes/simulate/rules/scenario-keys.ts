import { isTable, type Table } from '../../../config/toml/rules/table.ts'
import { laneConfigSchema } from '../../../contract/lane-config.ts'
import { bookingName } from './scenario-mistakes.ts'

/**
 * A key of a scenario as people count: a booking by what the timeline calls it (`bookings.r1.start`), where an earlier one is called so by its
 * place; a step by its place, from 1 (`do.1.at`).
 */
export function keyPathOf(data: Table, path: readonly string[]): string {
  const [list = '', place = '', ...keys] = path
  const n = Number(place)
  const isPlace = (list === 'bookings' || list === 'do') && place !== '' && Number.isInteger(n)
  if (!isPlace) return path.join('.')
  return [list, list === 'do' ? String(n + 1) : nameOf(data['bookings'], n), ...keys].join('.')
}

function nameOf(bookings: unknown, n: number): string {
  const ids = Array.isArray(bookings) ? bookings.map((one: unknown) => (isTable(one) ? one['id'] : undefined)) : []
  const id: unknown = ids[n]
  return typeof id === 'string' && ids.indexOf(id) === n ? id : bookingName(n)
}

/** Is it the file of one lane, `lanes/NAME.toml`, given in the place of a scenario? */
export function isLaneFile(data: Table): boolean {
  if (data['start'] !== undefined || data['lanes'] !== undefined) return false
  return Object.keys(data).some((key) => Object.hasOwn(laneConfigSchema.shape, key))
}
