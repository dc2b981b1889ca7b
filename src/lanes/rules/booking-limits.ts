import { Temporal } from 'temporal-polyfill'
import type { LaneLimits } from '../../contract/lane-config.ts'
import { counted } from '../../kernel/sentence.ts'
import { HOUR_MS, isoTime, MINUTE_MS } from '../../kernel/units.ts'
import type { BookingWindow } from './booking-window.ts'

const DAY_MS = 24 * HOUR_MS

/** A limit that forbids a booking, and how. */
export interface BrokenLimit {
  /** Its key in the lane's file. */
  readonly limit: string
  readonly message: string
}

export interface LimitQuestion {
  readonly nowMs: number
  readonly limits: LaneLimits
  readonly allowExclusive: boolean
  readonly isExclusive: boolean
  /** What is wanted, in order, as it was asked for. */
  readonly windows: readonly BookingWindow[]
  /** How many bookings there will be more than now: 0 for a change. */
  readonly added: number
  /** Pending, approved and active ones of the owner on this lane, as it is now. */
  readonly open: number
  /** Zone of the owner, in which their weeks begin. */
  readonly zone: string
  /** All that the owner has or had on this lane in the weeks that are touched, without the one that is changed. */
  readonly others: readonly BookingWindow[]
}

/** Which limits are broken? All of them, each once. Admins are exempt: do not ask for them. Source: SPEC 13 "[limits]". */
export function checkLimits(question: LimitQuestion): readonly BrokenLimit[] {
  const { limits, windows, nowMs, added, open } = question
  const broken: BrokenLimit[] = []
  const add = (limit: string, message: string) => broken.push({ limit, message })
  const hoursOf = ({ startMs, endMs }: BookingWindow) => (endMs - startMs) / HOUR_MS

  if (question.isExclusive && !question.allowExclusive) {
    add('allow_exclusive', 'this lane cannot be booked exclusively: name a model')
  }
  const short = windows.find(({ startMs, endMs }) => endMs - startMs < limits.min_minutes * MINUTE_MS)
  if (short !== undefined) {
    const minutes = roundedDown((short.endMs - short.startMs) / MINUTE_MS)
    add('min_minutes', `${counted(limits.min_minutes, 'minute')} at least; this is ${counted(minutes, 'minute')}`)
  }
  const long = windows.find(({ startMs, endMs }) => endMs - startMs > limits.max_hours * HOUR_MS)
  if (long !== undefined)
    add(
      'max_hours',
      `${counted(limits.max_hours, 'hour')} at most; this is ${counted(roundedUp(hoursOf(long)), 'hour')}`,
    )
  const lastMs = nowMs + limits.max_days_ahead * DAY_MS
  const far = windows.find(({ startMs }) => startMs > lastMs)
  if (far !== undefined) {
    const range = `${counted(limits.max_days_ahead, 'day')} ahead at most, that is ${isoTime(lastMs)}`
    add('max_days_ahead', `${range}; this starts ${isoTime(far.startMs)}`)
  }
  if (added > 0 && open + added > limits.max_open_per_user) {
    const count = `${counted(limits.max_open_per_user, 'open booking')} per person on this lane at most`
    add('max_open_per_user', `${count}; it would be ${open + added}`)
  }
  // Of something far too long no weeks are counted: there may be very many.
  if (limits.max_hours_per_week > 0 && long === undefined) {
    const week = fullestWeek(question)
    if (week !== undefined && week.hours > limits.max_hours_per_week) {
      const range = `${counted(limits.max_hours_per_week, 'hour')} per person and week at most`
      add('max_hours_per_week', `${range}; in the week of ${week.monday} it would be ${roundedUp(week.hours)}`)
    }
  }
  return broken
}

/** The weeks that these windows touch, from the start of the first to the end of the last; whose `others` a question about limits needs. */
export function weeksAround(windows: readonly BookingWindow[], zone: string): BookingWindow {
  const [first, last] = [windows[0], windows.at(-1)]
  if (first === undefined || last === undefined) return { startMs: 0, endMs: 0 }
  const endMs = startOf(mondayOf(last.endMs - 1, zone).add({ days: 7 }), zone)
  return { startMs: startOf(mondayOf(first.startMs, zone), zone), endMs }
}

function fullestWeek({ windows, zone, others }: LimitQuestion) {
  const weeks = new Map<string, { monday: string; startMs: number; endMs: number; hours: number }>()
  for (const { startMs, endMs } of windows) {
    for (let monday = mondayOf(startMs, zone); startOf(monday, zone) < endMs; monday = monday.add({ days: 7 })) {
      const name = monday.toString()
      if (weeks.has(name)) continue
      const week = { startMs: startOf(monday, zone), endMs: startOf(monday.add({ days: 7 }), zone) }
      weeks.set(name, { monday: name, ...week, hours: 0 })
    }
  }
  const all = [...windows, ...others]
  for (const week of weeks.values()) {
    for (const { startMs, endMs } of all) {
      const sharedMs = Math.min(week.endMs, endMs) - Math.max(week.startMs, startMs)
      if (sharedMs > 0) week.hours += sharedMs / HOUR_MS
    }
  }
  return [...weeks.values()].toSorted((a, b) => b.hours - a.hours)[0]
}

function mondayOf(ms: number, zone: string): Temporal.PlainDate {
  const date = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone).toPlainDate()
  return date.subtract({ days: date.dayOfWeek - 1 })
}

function startOf(date: Temporal.PlainDate, zone: string): number {
  return date.toZonedDateTime(zone).epochMilliseconds
}

/** To a tenth, as people say hours and minutes; what is too little never looks like enough. */
function roundedDown(value: number): number {
  return Math.floor(round(value * 10)) / 10
}

/** As `roundedDown`, and what is too much never looks like what is allowed. */
function roundedUp(value: number): number {
  return Math.ceil(round(value * 10)) / 10
}

/** Sums of fractions are a little beside what they mean. */
function round(value: number): number {
  return Number(value.toFixed(6))
}
