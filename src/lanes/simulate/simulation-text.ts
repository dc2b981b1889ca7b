import type { LaneSummary, SimulationEntry, SimulationReport } from './simulation.ts'
import { clockText, dayText } from './simulation-words.ts'

/** A simulated day for people: a line for each change under the day it belongs to, and what each lane came to. Times are of the scenario's zone. */
export function simulationLines({ time_zone: zone, timeline, lanes }: SimulationReport): readonly string[] {
  const laneWidth = Math.max(0, ...lanes.map(({ lane }) => lane.length))
  const lines: string[] = []
  let day = ''
  for (const entry of timeline) {
    const of = dayText(entry.at, zone)
    if (of !== day) lines.push(...(day === '' ? [] : ['']), of)
    day = of
    const clock = clockText(entry.at, zone).padEnd(8)
    lines.push(`${clock}  ${entry.lane.padEnd(laneWidth)}  ${wordOf(entry).padEnd(WORD_WIDTH)}  ${entry.text}`)
  }
  return [...lines, '', ...lanes.map(summaryLine)]
}

/** `stopping`, `draining`. */
const WORD_WIDTH = 8

function wordOf(entry: SimulationEntry): string {
  return entry.kind === 'lane' ? entry.phase : entry.kind
}

function summaryLine(sum: LaneSummary): string {
  const fallback = sum.on_fallback_min === 0 ? '' : ` (${sum.on_fallback_min} of them on the default)`
  const exclusive = sum.exclusive_min === 0 ? '' : `, ${sum.exclusive_min} min exclusive`
  const failed = sum.failed_loads === 0 ? '' : ` (${sum.failed_loads} failed)`
  return [
    `${sum.lane}: ready for holders ${sum.ready_for_holders_min} min${fallback}${exclusive}, holders waited ${sum.holders_waited_min} min`,
    `${sum.switches} switches, ${sum.loads} loads${failed}`,
    `requests: ${sum.served} served, ${sum.refused} refused, ${sum.cut} cut`,
  ].join('; ')
}
