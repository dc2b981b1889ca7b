import type { LaneExplanation, LanePhase, LaneTarget, LaneTimeline, PlanStep } from '../../contract/lane.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { bookingText, targetText } from '../lane-words.ts'
import { withLocalErrors } from '../local-errors.ts'
import type { TimeZoneOption } from '../own-zone.ts'
import { statusText } from '../reservation-words.ts'
import { localTimes } from '../rules/local-times.ts'
import { durationText } from '../rules/read-duration.ts'
import { momentText, windowText } from '../rules/time-text.ts'
import type { Zone } from '../rules/zone.ts'
import { openTimes } from '../times.ts'

export interface LaneExplainOptions extends GlobalOptions, TimeZoneOption {
  readonly at?: string
}

/** `hal0 lane explain NAME`: which rule decides, what it would take to change, the plan. JSON: the answer of GET /api/lanes/NAME/explain. */
export async function laneExplain(name: string, options: LaneExplainOptions): Promise<void> {
  const output = outputOf(options)
  const times = await openTimes(options, output)
  const at = times.readIso('--at', options.at)
  const { lanes } = await connect(options)
  const explanation = await withLocalErrors(output, times.zone, () =>
    lanes.explain(name, at === undefined ? {} : { at }),
  )
  output.result(explanation, () => output.table(['WHAT', 'WHEN', 'ANSWER'], explainLines(explanation, times.zone)))
}

function explainLines(told: LaneExplanation, zone: Zone): string[][] {
  const local = (text: string) => localTimes(text, zone)
  const review =
    told.review_at === null || told.review === null
      ? []
      : [['may change', momentText(told.review_at, zone), local(told.review)]]
  return [
    ['target', momentText(told.at, zone), `${targetText(told.target)} [${told.reason}]`],
    ...told.branches.map(({ n, text, outcome }) => [`rule ${n}`, outcome, local(text)]),
    ...review,
    ...told.to_change.map((text) => ['to change', '', local(text)]),
    ...told.plan.map((step) => planLine(step, zone)),
    ...told.estimates.map(({ target, seconds, source }) => [
      'load time',
      source === 'unknown' ? 'unknown' : durationText(seconds * 1000),
      `${targetText(target)}, ${SOURCES[source]}`,
    ]),
  ]
}

const SOURCES: Readonly<Record<LaneExplanation['estimates'][number]['source'], string>> = {
  history: 'as its last loads took',
  size: 'guessed by the size of its files',
  stop: 'for what runs to stop',
  unknown: 'nothing is known of it',
}

export interface LaneTimelineOptions extends GlobalOptions, TimeZoneOption {
  readonly from?: string
  readonly to?: string
}

/** `hal0 lane timeline NAME`: what was, what is booked, what is planned. JSON: the answer of GET /api/lanes/NAME/timeline. Bare times are of today. */
export async function laneTimeline(name: string, options: LaneTimelineOptions): Promise<void> {
  const output = outputOf(options)
  const times = await openTimes(options, output)
  const from =
    options.from === undefined ? undefined : times.read('--from', options.from, times.startOfDay(times.nowMs))
  const to = times.readIso('--to', options.to, from)
  const window = {
    ...(from === undefined ? {} : { from: new Date(from).toISOString() }),
    ...(to === undefined ? {} : { to }),
  }
  const timeline = await (await connect(options)).lanes.timeline(name, window)
  const lines = timelineLines(timeline, times.zone)
  if (lines.length === 0 && !output.json)
    output.note(`nothing in ${windowText(timeline.from, timeline.to, times.zone)}`)
  output.result(timeline, () => (lines.length === 0 ? '' : output.table(['WHAT', 'WHEN', 'ANSWER'], lines)))
}

/** What ends has another target before it: the one that is told comes after. */
function phaseText(phase: LanePhase, target: LaneTarget): string {
  const isEnding = phase === 'draining' || phase === 'stopping'
  return isEnding ? `${phase}, then ${targetText(target)}` : `${phase}: ${targetText(target)}`
}

function timelineLines({ past, reservations, plan }: LaneTimeline, zone: Zone): string[][] {
  return [
    ...past.map(({ at, phase, target, reason }) => [
      'was',
      momentText(at, zone),
      `${phaseText(phase, target)} [${reason}]`,
    ]),
    ...reservations.map((booking) => {
      const title = booking.title === '' ? '' : `, ${JSON.stringify(booking.title)}`
      return [`booked`, statusText(booking.status), `${bookingText(booking, zone)}${title}`]
    }),
    ...plan.map((step) => planLine(step, zone)),
  ]
}

function planLine({ from, until, target, reason, reservation_id: id }: PlanStep, zone: Zone): string[] {
  const why = id === null ? reason : `${reason}, ${id}`
  return ['plan', windowText(from, until, zone), `${targetText(target)} [${why}]`]
}
