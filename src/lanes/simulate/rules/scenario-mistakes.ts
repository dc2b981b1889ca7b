import { inspectLane } from '../../../config/lanes/rules/inspect-lane.ts'
import { findGpuClashes, type LaneGpus } from '../../../config/rules/lane-clashes.ts'
import { listNames } from '../../../kernel/list-names.ts'
import { selectNearest } from '../../../kernel/nearest-word.ts'
import { HOUR_MS } from '../../../kernel/units.ts'
import { readZone } from '../../rules/booking-window.ts'
import { type Day, isBareClock, MAX_HOURS, readDay, readMoment } from './scenario-times.ts'
import { STEP_KINDS } from './step-kinds.ts'

type Data = Readonly<Record<string, unknown>>

/** One mistake, by the path of its key. */
export interface ScenarioMistake {
  readonly path: readonly string[]
  readonly expected: string
}

/** What the parts of a file name. */
interface Known {
  readonly lanes: readonly string[]
  readonly models: readonly string[]
  readonly bookings: readonly string[]
}

/**
 * What is wrong in a scenario beyond the form of single keys: names of nothing, times that do not exist or are not of that day, keys that contradict
 * each other. Works on the file as it stands, so that these are told together with mistakes of form. Source: SPEC 2.
 */
export function findScenarioMistakes(data: Data): readonly ScenarioMistake[] {
  const mistakes: ScenarioMistake[] = []
  const report = (path: readonly string[], expected: string) => void mistakes.push({ path, expected })
  const day = dayOf(data, report)
  const bookings = listOf(data['bookings'])
  const known: Known = {
    lanes: Object.keys(tableOf(data['lanes'])),
    models: Object.keys(tableOf(data['models'])),
    bookings: bookings.map((booking, n) => textOf(booking['id']) ?? bookingName(n)),
  }
  if (known.lanes.length === 0) report(['lanes'], 'expected at least one lane, [lanes.NAME]')
  const checks = { report, known, day }
  for (const [name, model] of entriesOf(data['models'])) checkModel(['models', name], model, checks)
  for (const [name, user] of entriesOf(data['users'])) {
    if (!isZone(user['time_zone'])) report(['users', name, 'time_zone'], ZONE_RULE)
  }
  for (const [name, lane] of entriesOf(data['lanes'])) {
    checkName(['lanes', name, 'default', 'model'], tableOf(lane['default'])['model'], 'models', checks)
    if (textOf(lane['name']) !== undefined && lane['name'] !== name)
      report(['lanes', name, 'name'], `expected "${name}"`)
  }
  checkLaneFiles(data, report)
  for (const [n, booking] of bookings.entries()) checkBooking(['bookings', String(n)], booking, checks)
  for (const [n, step] of listOf(data['do']).entries()) checkStep(['do', String(n)], step, checks)
  return mistakes
}

/** What would be wrong with these lanes as files. Mistakes of form are told by the schema too. */
function checkLaneFiles(data: Data, report: Checks['report']): void {
  const owners: LaneGpus[] = []
  for (const [name, lane] of entriesOf(data['lanes'])) {
    const inspection = inspectLane({ ...lane, name }, name)
    if (inspection.ok) owners.push({ name, file: `lanes.${name}`, gpus: inspection.config.gpus })
    else for (const { key, message } of inspection.findings) report(['lanes', name, ...key.split('.')], message)
  }
  for (const { lanes, message } of findGpuClashes(owners, [])) report(['lanes', lanes.at(-1) ?? '', 'gpus'], message)
}

/** How a booking without an id is called: by its place in the file. */
export function bookingName(n: number): string {
  return `r${n + 1}`
}

/** While nobody can say when the day is, its times are still times or none. */
const ANY_DAY = { zone: 'UTC', startMs: 0 } as const
const ZONE_RULE = 'expected a time zone such as Europe/Berlin'

interface Checks {
  readonly report: (path: readonly string[], expected: string) => void
  readonly known: Known
  readonly day: Day | undefined
}

function dayOf(data: Data, report: Checks['report']): Day | undefined {
  if (!isZone(data['time_zone'])) report(['time_zone'], ZONE_RULE)
  const [zone, end, hours] = [textOf(data['time_zone']) ?? 'UTC', timeTextOf(data['end']), data['hours']]
  if (end !== undefined && hours !== undefined) report(['end'], 'expected either hours or end')
  if (end !== undefined && readMoment(end, ANY_DAY) === undefined) report(['end'], `there is no time "${end}"`)
  const start = timeTextOf(data['start'])
  if (start === undefined) return undefined
  if (readDay({ start, time_zone: 'UTC' }) === undefined) {
    report(['start'], 'expected the day too, such as "2026-12-01T08:00", and a time that exists')
    return undefined
  }
  const day = readDay({ start, time_zone: zone, end, hours: typeof hours === 'number' ? hours : undefined })
  if (day === undefined) return undefined
  const key = end === undefined ? 'hours' : 'end'
  if (day.endMs <= day.startMs) report([key], 'expected a time after the start')
  else if (day.endMs - day.startMs > MAX_HOURS * HOUR_MS)
    report([key], `expected at most ${MAX_HOURS} hours after the start`)
  return day
}

function checkModel(path: readonly string[], model: Data, checks: Checks): void {
  const from = checkTime([...path, 'fails_from'], model['fails_from'], checks)
  const until = checkTime([...path, 'fails_until'], model['fails_until'], checks)
  if (from !== undefined && until !== undefined && until <= from) {
    checks.report([...path, 'fails_until'], 'expected a time after fails_from')
  }
}

function checkBooking(path: readonly string[], booking: Data, checks: Checks): void {
  const { report, known } = checks
  checkName([...path, 'lane'], booking['lane'], 'lanes', checks)
  checkName([...path, 'model'], booking['model'], 'models', checks)
  if (booking['exclusive'] === true && booking['model'] !== undefined) {
    report([...path, 'exclusive'], 'an exclusive booking loads no model: leave out one of the two')
  }
  const n = Number(path.at(-1))
  const id = known.bookings[n] ?? ''
  if (known.bookings.indexOf(id) !== n) report([...path, 'id'], `another booking is called "${id}"`)
  if ((booking['end'] === undefined) === (booking['minutes'] === undefined)) {
    report([...path, 'end'], 'expected either end or minutes')
  }
  const start = checkTime([...path, 'start'], booking['start'], checks)
  const end = checkTime([...path, 'end'], booking['end'], checks)
  if (start !== undefined && end !== undefined && end <= start)
    report([...path, 'end'], 'expected a time after its start')
  checkTime([...path, 'booked_at'], booking['booked_at'], checks, 'within')
}

function checkStep(path: readonly string[], step: Data, checks: Checks): void {
  const { report } = checks
  checkTime([...path, 'at'], step['at'], checks, 'within')
  const kinds = STEP_KINDS.filter((kind) => step[kind] !== undefined)
  if (kinds.length !== 1) {
    const found = kinds.length === 0 ? 'there is none' : `there are ${kinds.join(' and ')}`
    report(path, `expected one of ${STEP_KINDS.join(', ')}, and ${found}`)
  }
  for (const kind of ['end', 'cancel', 'approve', 'reject'] as const) {
    checkName([...path, kind], step[kind], 'bookings', checks)
  }
  checkName([...path, 'extend', 'booking'], tableOf(step['extend'])['booking'], 'bookings', checks)
  for (const kind of ['manual', 'clear', 'crash', 'request'] as const) {
    checkName([...path, kind, 'lane'], tableOf(step[kind])['lane'], 'lanes', checks)
  }
  const manual = tableOf(step['manual'])
  checkName([...path, 'manual', 'model'], manual['model'], 'models', checks)
  checkTime([...path, 'manual', 'until'], manual['until'], checks)
}

/** A name that is none is a mistake of form. */
function checkName(path: readonly string[], value: unknown, kind: keyof Known, { report, known }: Checks): void {
  const name = textOf(value)
  // Those of a repeat are called `NAME-2` and so on.
  const isKnown = (word: string) => known[kind].includes(word)
  if (name === undefined || isKnown(name)) return
  if (kind === 'bookings' && isKnown(name.replace(/-\d+$/, ''))) return
  const nearest = selectNearest(name, known[kind])
  const list = known[kind].length === 0 ? 'there are none' : `there are: ${listNames(known[kind])}`
  const hint = nearest === undefined ? list : `did you mean ${nearest}?`
  report(path, `nothing under ${kind} is called "${name}"; ${hint}`)
}

/** The moment, epoch ms. Undefined = there is none, or it cannot be read, or nobody can say of which day it is. */
function checkTime(
  path: readonly string[],
  value: unknown,
  { report, day }: Checks,
  where: 'anywhere' | 'within' = 'anywhere',
): number | undefined {
  const text = timeTextOf(value)
  if (text === undefined) return undefined
  const ms = readMoment(text, day ?? ANY_DAY)
  if (ms === undefined) report(path, `there is no time "${text}"`)
  if (day === undefined) return isBareClock(text) ? ms : undefined
  if (ms !== undefined && where === 'within' && (ms < day.startMs || ms > day.endMs)) {
    report(path, `expected a time between start and end of the whole`)
  }
  return ms
}

function isZone(value: unknown): boolean {
  const name = textOf(value)
  return name === undefined || readZone(name).ok
}

/** Undefined = absent, or no time by its form, which is told elsewhere. */
function timeTextOf(value: unknown): string | undefined {
  const text = textOf(value)
  return text !== undefined && /^(\d{4}-\d\d-\d\d[Tt ])?\d{1,2}:\d\d/.test(text) ? text : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function tableOf(value: unknown): Data {
  return Object.prototype.toString.call(value) === '[object Object]'
    ? Object.fromEntries(Object.entries(value ?? {}))
    : {}
}

function entriesOf(value: unknown): readonly (readonly [string, Data])[] {
  return Object.entries(tableOf(value)).map(([key, inner]) => [key, tableOf(inner)])
}

function listOf(value: unknown): readonly Data[] {
  return Array.isArray(value) ? value.map(tableOf) : []
}
