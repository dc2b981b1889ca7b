import type { Hal0Event } from '../../src/contract/events.ts'
import type { LaneExplanation, LaneTarget } from '../../src/contract/lane.ts'
import type { LaneName } from './lane-day.ts'

/** A stretch of a lane's day: from when on it is to run what, and why. */
export interface Step {
  readonly atMs: number
  /** `hello [reserved] r-1`. */
  readonly what: string
}

/** A load that ended well. */
export interface Load {
  readonly beganMs: number
  readonly readyMs: number
  readonly model: string
}

const nameOf = (target: LaneTarget): string => (target.kind === 'nothing' ? 'nothing' : target.model)
const targetIn = ({ data }: Hal0Event, key: string): LaneTarget => data[key] as LaneTarget

export function plannedSteps({ plan }: LaneExplanation): readonly Step[] {
  return plan.map(({ from, target, reason, reservation_id: id }) => ({
    atMs: Date.parse(from),
    what: stepText(target, reason, id),
  }))
}

function stepText(target: LaneTarget, reason: string, id: string | null): string {
  return `${nameOf(target)} [${reason}]${id === null ? '' : ` ${id}`}`
}

const eventsOf = (lane: LaneName, type: string, events: readonly Hal0Event[]) =>
  events.filter((event) => event.type === type && event.data['lane'] === lane)

/** What its events say that the lane was to run, from the step on that held at `sinceMs`. */
export function doneSteps(lane: LaneName, events: readonly Hal0Event[], sinceMs: number): readonly Step[] {
  const all = eventsOf(lane, 'lane.target', events).map((event) => ({
    atMs: Date.parse(event.ts),
    what: stepText(targetIn(event, 'target'), String(event.data['reason']), event.data['reservation'] as string | null),
  }))
  const first = all.findLastIndex(({ atMs }) => atMs <= sinceMs)
  return all.slice(Math.max(0, first))
}

export function loadsOf(lane: LaneName, events: readonly Hal0Event[]): readonly Load[] {
  const loads: Load[] = []
  let beganMs: number | undefined
  for (const event of eventsOf(lane, 'lane.phase', events)) {
    const { phase } = event.data
    if (phase === 'loading') beganMs = Date.parse(event.ts)
    else {
      const readyMs = Date.parse(event.ts)
      if (phase === 'ready' && beganMs !== undefined)
        loads.push({ beganMs, readyMs, model: nameOf(targetIn(event, 'current')) })
      beganMs = undefined
    }
  }
  return loads
}

/** The day as people read it: each event of the lanes, seconds from `zeroMs`, with what the plan said. */
export function timelineText(
  lanes: readonly { readonly lane: LaneName; readonly plan: readonly Step[] }[],
  events: readonly Hal0Event[],
  zeroMs: number,
): string {
  const seconds = (atMs: number) => ((atMs - zeroMs) / 1000).toFixed(2).padStart(7)
  const rows = lanes.flatMap(({ lane, plan }) => {
    const since = plan[0]?.atMs ?? 0
    const phases = eventsOf(lane, 'lane.phase', events).filter(({ ts }) => Date.parse(ts) >= since)
    const steps = doneSteps(lane, events, since)
    return [
      ...steps.map(({ atMs, what }, n) => {
        const planned = plan[n]
        return {
          atMs,
          text: `${lane}  ${what.padEnd(42)} planned ${planned === undefined ? '-' : seconds(planned.atMs)}`,
        }
      }),
      ...phases.map((event) => {
        const text = `${lane}      ${String(event.data['phase'])} ${nameOf(targetIn(event, 'current'))}`
        return { atMs: Date.parse(event.ts), text }
      }),
    ].map((row) => ({ ...row, lane }))
  })
  return rows
    .toSorted((a, b) => a.atMs - b.atMs)
    .map(({ atMs, text }) => `${seconds(atMs)}  ${text}`)
    .join('\n')
}
