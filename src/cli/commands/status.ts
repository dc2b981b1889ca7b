import { ClientError } from '../../client/client-errors.ts'
import type { Capacity } from '../../contract/capacity.ts'
import type { LaneRow } from '../../contract/lane.ts'
import { missingProgramIn } from '../../contract/missing-program.ts'
import type { SlotRow } from '../../contract/slot-row.ts'
import type { Status } from '../../contract/status.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { bookingText, targetText } from '../lane-words.ts'
import { openOwnZone } from '../own-zone.ts'
import type { Zone } from '../rules/zone.ts'
import { bytesText } from '../size-text.ts'
import { heldText } from '../slot-words.ts'

/** `hal0 status`. JSON: the answer of GET /api/status, with `breakers` (by slot), `memory` (pools), `lanes` (rows) and `access` (open, users, locked); null = the daemon could not tell. */
export async function status(globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const client = await connect(globals)
  const [facts, rows, memory, lanes, session] = await Promise.all([
    client.status(),
    client.slots.list(),
    toldOrNull(async () => (await client.capacity()).pools),
    toldOrNull(() => client.lanes.list()),
    toldOrNull(() => client.people.session()),
  ])
  const held = rows.filter(({ breaker }) => breaker !== null)
  const breakers = Object.fromEntries(held.map(({ name, breaker }) => [name, breaker]))
  const lock = session?.lock ?? null
  const access = session?.state ?? null
  const zone = await openOwnZone(globals)
  output.result({ ...facts, breakers, memory, lanes, access }, () =>
    output.table(
      ['KEY', 'VALUE'],
      [
        ...lines(facts),
        ...problemLines(facts),
        ...(lock === null ? [] : [['access', `locked: ${lock}`]]),
        ...breakerLines(held),
        ...laneLines(lanes ?? [], zone),
        ...memoryLines(memory ?? []),
      ],
    ),
  )
}

type Pools = Capacity['pools']

/** The status is told even where a part of it cannot be. */
async function toldOrNull<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask()
  } catch (cause) {
    if (cause instanceof ClientError) return null
    throw cause
  }
}

function lines(facts: Status): string[][] {
  const states = Object.entries(facts.slots.by_state).map(([state, count]) => `${count} ${state}`)
  return [
    ['url', facts.url],
    ['version', facts.version],
    ['home', facts.home],
    ['pid', String(facts.pid)],
    ['up for', durationText(facts.uptime_s)],
    ['slots', `${facts.slots.total}${states.length === 0 ? '' : ` (${states.join(', ')})`}`],
    ['requests', `${facts.in_flight} in flight, ${facts.queued} waiting`],
  ]
}

/** What does not stop the daemon, and else only its log would say. */
function problemLines({
  settings_problem: settings,
  history_problem: history,
  notify_problem: notify,
}: Status): string[][] {
  return [
    ...(settings === null ? [] : [['settings', `what was there before still counts: ${settings}`]]),
    ...(history === null ? [] : [['history', `off, loads are not written: ${history}`]]),
    ...(notify === null ? [] : [['notices', notify]]),
  ]
}

function breakerLines(rows: readonly SlotRow[]): string[][] {
  return rows.flatMap((row) => {
    const held = heldText(row)
    if (held !== undefined) return [['breaker', `${row.name}: ${held}`]]
    const program = row.state === 'error' ? missingProgramIn(row.config_problem) : undefined
    return program === undefined ? [] : [['slot', `${row.name}: needs a program: ${program}`]]
  })
}

/** One line per lane. */
function laneLines(rows: readonly LaneRow[], zone: Zone): string[][] {
  return rows.map((row) => {
    const booked = row.next === null ? '' : `; next ${bookingText(row.next, zone)}`
    return ['lane', `${row.name}: ${targetText(row.target)} [${row.reason}], ${row.phase}${booked}`]
  })
}

/** One line per pool of memory. */
function memoryLines(pools: Pools): string[][] {
  return pools.map(({ id, kind, free_bytes, total_bytes, promised_bytes }) => {
    const free = free_bytes === null ? 'free memory unknown' : `${bytesText(free_bytes)} free`
    const total = total_bytes === null ? '' : ` of ${bytesText(total_bytes)}`
    const promised = promised_bytes === 0 ? '' : `, ${bytesText(promised_bytes)} promised to loads`
    return ['memory', `${id}${kind === 'unified' ? ' (shares main memory)' : ''}: ${free}${total}${promised}`]
  })
}

function durationText(seconds: number): string {
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}
