import type { LaneExplanation, LanePhase, LaneTarget, LaneTimeline, PlanStep } from '../../contract/lane.ts'
import { statusText } from '../../contract/reservation.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { bookingText, targetText } from '../lane-words.ts'
import type { TimeZoneOption } from '../own-zone.ts'
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
  const explanation = await lanes.explain(name, at === undefined ? {} : { at })
  output.result(explanation, () => output.table(['WHAT', 'WHEN', 'ANSWER'], explainLines(explanation, times.zone)))
}

function explainLines(told: LaneExplanation, zone: Zone): string[][] {
  const local = (text: string) => localTimes(text, zone)
  const review =
    told.review_at === null || told.review === null
      ? []
      : [['may change', momentText(told.review_at, zone), local(told.review)]]
  const { instead } = told
  return [
    ['target', momentText(told.at, zone), `${targetText(told.target)} [${told.reason}]`],
    ...(instead === null ? [] : [['instead', targetText(instead.target), local(instead.text)]]),
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

function timelineLines({ past, failures, reservations, plan }: LaneTimeline, zone: Zone): string[][] {
  return [
    ...pastLines(past, failures, zone),
    ...reservations.map((booking) => {
      const title = booking.title === '' ? '' : `, ${JSON.stringify(booking.title)}`
      return [`booked`, statusText(booking.status), `${bookingText(booking, zone)}${title}`]
    }),
    ...plan.map((step) => planLine(step, zone)),
  ]
}

/** What it did and what failed, in order of time; of one moment the failure first: what comes after is done about it. */
function pastLines(past: LaneTimeline['past'], failures: LaneTimeline['failures'], zone: Zone): string[][] {
  const failed = failures.map(({ at, target, text, retry_at: retryAt }) => {
    const next =
      retryAt === null ? 'not tried again before it changes' : `tried again from ${momentText(retryAt, zone)} on`
    return { at, words: ['failure', momentText(at, zone), `${targetText(target)}: ${text}; ${next}`] }
  })
  const was = past.map(({ at, phase, target, reason, in_place_of: wanted }) => {
    const standIn = wanted === null ? '' : `, in the place of ${targetText(wanted)}`
    return { at, words: ['was', momentText(at, zone), `${phaseText(phase, target)} [${reason}]${standIn}`] }
  })
  return [...failed, ...was].toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at)).map(({ words }) => words)
}

function planLine({ from, until, target, reason, reservation_id: id }: PlanStep, zone: Zone): string[] {
  const why = id === null ? reason : `${reason}, ${id}`
  return ['plan', windowText(from, until, zone), `${targetText(target)} [${why}]`]
}
