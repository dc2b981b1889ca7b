import { Temporal } from 'temporal-polyfill'
import type { Repeat } from '../../contract/reservation.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { counted } from '../../kernel/sentence.ts'
import { isoTime, MINUTE_MS } from '../../kernel/units.ts'
import { type BookingWindow, invalid, LAST_MS, wallText } from './booking-window.ts'

/** A year of days. */
export const MAX_OCCURRENCES = 366

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

export interface Expanded {
  /** In order, the first one too; none overlaps another. */
  readonly windows: readonly BookingWindow[]
  /** Where the zone's clock changes what it means, for people. */
  readonly notes: readonly string[]
}

/**
 * All windows of a repeat: the wall times of start and end are those of the first, in `zone`, also over a change of the clock. `minutes`: the
 * length was asked for, no end; it then counts by the wall clock. Errors: `validation.invalid`. Source: SPEC 13 "repeats".
 */
export function expandRepeat(
  first: BookingWindow,
  repeat: Repeat,
  zone: string,
  minutes?: number,
): Result<Expanded, Hal0Error> {
  const start = wallOf(first.startMs, zone)
  const end = minutes === undefined ? wallOf(first.endMs, zone) : start.add(ofMs(Math.round(minutes * MINUTE_MS)))
  const dates = datesOf(start.toPlainDate(), repeat)
  if (!dates.ok) return dates
  const shape: Shape = { start, end, zone, wallMs: wallMsBetween(start, end) }
  const windows: BookingWindow[] = []
  const notes: string[] = []
  for (const [n, date] of dates.value.entries()) {
    const { window, note } = occurrence(shape, date, n === 0 ? first : undefined, minutes)
    const before = windows.at(-1)
    if (before !== undefined && window.startMs < before.endMs) return err(overlapsItself(before, window))
    if (window.endMs >= LAST_MS) return err(invalid('repeat', 'repeat: it would go on after the year 9999'))
    if (note !== undefined) notes.push(note)
    windows.push(window)
  }
  return ok({ windows, notes })
}

interface Shape {
  readonly start: Temporal.PlainDateTime
  readonly end: Temporal.PlainDateTime
  readonly zone: string
  /** From start to end by the wall clock. */
  readonly wallMs: number
}

function occurrence(
  { start, end, zone, wallMs }: Shape,
  date: Temporal.PlainDate,
  first: BookingWindow | undefined,
  minutes: number | undefined,
): { readonly window: BookingWindow; readonly note: string | undefined } {
  const shift = date.since(start.toPlainDate(), { largestUnit: 'day' })
  const wantedStart = start.add(shift)
  const startMs = first?.startMs ?? instantOf(wantedStart, zone)
  const givenMs = first !== undefined && minutes === undefined ? first.endMs : instantOf(end.add(shift), zone)
  // Its start fell into the hour that the clock leaves out, past its end: the end moves with it.
  const endMs = givenMs > startMs ? givenMs : startMs + wallMs
  const isMoved = !wallOf(startMs, zone).equals(wantedStart)
  const moreMs = endMs - startMs - wallMs
  // Its end may fall into the hour that is left out, and its length be what it was.
  const isEndMoved = !wallOf(endMs, zone).equals(end.add(shift))
  if (!isMoved && !isEndMoved && moreMs === 0) return { window: { startMs, endMs }, note: undefined }
  const endText = isEndMoved && moreMs === 0 ? `ends at ${wallText(wallOf(endMs, zone))}` : undefined
  const what = isMoved
    ? `starts at ${wallText(wallOf(startMs, zone))}`
    : (endText ?? `is ${lengthText(moreMs)} than the others`)
  return { window: { startMs, endMs }, note: `that of ${wallText(wantedStart)} ${what}: the clock of ${zone} changes` }
}

function lengthText(moreMs: number): string {
  return `${counted(Math.round(Math.abs(moreMs) / MINUTE_MS), 'minute')} ${moreMs > 0 ? 'longer' : 'shorter'}`
}

/** On which dates one starts, in order. The first always does. */
function datesOf(first: Temporal.PlainDate, repeat: Repeat): Result<readonly Temporal.PlainDate[], Hal0Error> {
  const { every, days, count = Number.POSITIVE_INFINITY } = repeat
  if (every === 'day' && days !== undefined) {
    return err(invalid('repeat', 'repeat.days: expected only with every = week; leave it out, or repeat every week'))
  }
  const until = repeat.until === undefined ? undefined : Temporal.PlainDate.from(repeat.until)
  if (until !== undefined && Temporal.PlainDate.compare(until, first) < 0) {
    return err(
      invalid('repeat', `repeat.until: ${until.toString()} is before the first one starts (${first.toString()})`),
    )
  }
  const wanted = days === undefined ? undefined : new Set<string | undefined>(days)
  const stepDays = every === 'week' && wanted === undefined ? 7 : 1
  const dates: Temporal.PlainDate[] = [first]
  for (let date = first.add({ days: stepDays }); dates.length < count; date = date.add({ days: stepDays })) {
    if (until !== undefined && Temporal.PlainDate.compare(date, until) > 0) break
    if (wanted !== undefined && !wanted.has(DAYS[date.dayOfWeek - 1])) continue
    if (dates.length === MAX_OCCURRENCES) {
      return err(invalid('repeat', `repeat: more than ${MAX_OCCURRENCES} bookings; choose an earlier until`))
    }
    dates.push(date)
  }
  return ok(dates)
}

function overlapsItself(before: BookingWindow, window: BookingWindow): Hal0Error {
  const [end, start] = [isoTime(before.endMs), isoTime(window.startMs)]
  return invalid('repeat', `repeat: they overlap each other: one ends ${end}, the next starts ${start}`)
}

function wallOf(ms: number, zone: string): Temporal.PlainDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone).toPlainDateTime()
}

function instantOf(wall: Temporal.PlainDateTime, zone: string): number {
  return wall.toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds
}

function wallMsBetween(start: Temporal.PlainDateTime, end: Temporal.PlainDateTime): number {
  return instantOf(end, 'UTC') - instantOf(start, 'UTC')
}

function ofMs(milliseconds: number): Temporal.Duration {
  return Temporal.Duration.from({ milliseconds })
}
