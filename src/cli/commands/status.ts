import type { Status } from '../../contract/status.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'

/** `hal0 status`. JSON: the answer of GET /api/status. */
export async function status(globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const facts = await (await connect(globals)).status()
  output.result(facts, () => output.table(['KEY', 'VALUE'], lines(facts)))
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

function durationText(seconds: number): string {
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}
