import { err, ok, type Result } from '../../kernel/result.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'
import { readDuration } from './read-duration.ts'
import { clockText, dayText } from './time-text.ts'
import { instantsOf, wallOf, type Zone } from './zone.ts'

/** How a time is written. */
export const TIME_FORMS =
  '2026-12-24T18:00, 18:00, tomorrow 9:00, mon 9:00, +30m, now, or with a zone 2026-12-24T18:00:00Z (+01:00)'

const DAY_MS = 24 * HOUR_MS
const NEAR_DAYS: Readonly<Record<string, number>> = { yesterday: -1, today: 0, tomorrow: 1 }
const DAY = String.raw`(\d{4})-(\d{2})-(\d{2})`
const CLOCK = String.raw`(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3})\d*)?)?`
const ON_A_DATE = new RegExp(`^${DAY}(?:[T ]${CLOCK}(Z|[+-]\\d{2}:?\\d{2})?)?$`, 'i')
const ON_A_NEAR_DAY = new RegExp(`^(yesterday|today|tomorrow)(?:[T ]+${CLOCK})?$`, 'i')
const ON_A_WEEKDAY = new RegExp(
  `^(sun(?:day)?|mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?|sat(?:urday)?)(?:\\s+${CLOCK})?$`,
  'i',
)
/** As Date counts them. */
const WEEKDAYS: readonly string[] = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const AT_A_CLOCK = new RegExp(`^${CLOCK}$`)

export interface TimeContext {
  readonly nowMs: number
  readonly zone: Zone
  /** A bare `18:00`, and `mon 18:00`, is the first one at or after this. */
  readonly fromMs: number
}

/** A moment, epoch ms. `isTwice`: the zone's clocks show it twice, and the first time is taken. */
export interface TimeRead {
  readonly ms: number
  readonly isTwice: boolean
}

/** Which moment is meant? Wall times are of the zone; a date alone is its beginning. Err: a sentence that says which part is wrong. */
export function readTime(text: string, context: TimeContext): Result<TimeRead, string> {
  const trimmed = text.trim()
  const { nowMs, zone } = context
  if (trimmed.toLowerCase() === 'now') return ok({ ms: nowMs, isTwice: false })
  const [, sign, length] = /^([+-])(.+)$/.exec(trimmed) ?? []
  if (length !== undefined) return readShift(sign === '-' ? -1 : 1, length, nowMs)
  const dated = ON_A_DATE.exec(trimmed)
  if (dated !== null) return readDated(dated, zone)
  const near = ON_A_NEAR_DAY.exec(trimmed)
  if (near !== null) {
    const dayMs = startOfDay(wallOf(nowMs, zone)) + (NEAR_DAYS[(near[1] ?? '').toLowerCase()] ?? 0) * DAY_MS
    return chain(readClock(near.slice(2)), (clockMs) => onWall(dayMs + clockMs, zone))
  }
  const weekday = ON_A_WEEKDAY.exec(trimmed)
  if (weekday !== null) {
    const day = WEEKDAYS.indexOf((weekday[1] ?? '').slice(0, 3).toLowerCase())
    return chain(readClock(weekday.slice(2)), (clockMs) => nextWeekday(day, clockMs, context))
  }
  const clock = AT_A_CLOCK.exec(trimmed)
  if (clock === null) return err(`${JSON.stringify(text)} is no time`)
  return chain(readClock(clock.slice(1)), (clockMs) => nextClock(clockMs, context))
}

function readShift(sign: 1 | -1, length: string, nowMs: number): Result<TimeRead, string> {
  const ms = readDuration(length)
  if (ms === undefined) return err(`${JSON.stringify(length)} after the ${sign === 1 ? '+' : '-'} is no length of time`)
  return ok({ ms: nowMs + sign * ms, isTwice: false })
}

function readDated(match: RegExpExecArray, zone: Zone): Result<TimeRead, string> {
  const [year = 0, month = 0, day = 0] = match.slice(1, 4).map(Number)
  const dayMs = Date.UTC(year, month - 1, day)
  if (month < 1 || month > 12) return err(`there is no month ${match[2]}`)
  if (new Date(dayMs).getUTCMonth() !== month - 1 || day < 1) return err(`there is no day ${dayOf(match)}`)
  const offset = match[8]
  return chain(readClock(match.slice(4, 8)), (clockMs) => {
    if (offset === undefined) return onWall(dayMs + clockMs, zone)
    return chain(readOffset(offset), (offsetMs) => ok({ ms: dayMs + clockMs - offsetMs, isTwice: false }))
  })
}

function dayOf(match: RegExpExecArray): string {
  return match.slice(1, 4).join('-')
}

/** Hour, minute, second and its fraction as written, absent ones 0 → ms since midnight. */
function readClock([hour = '0', minute = '0', second = '0', fraction = '0']: readonly (string | undefined)[]): Result<
  number,
  string
> {
  if (Number(hour) > 23) return err(`there is no hour ${hour}`)
  if (Number(minute) > 59) return err(`there is no minute ${minute}`)
  if (Number(second) > 59) return err(`there is no second ${second}`)
  return ok(
    Number(hour) * HOUR_MS + Number(minute) * MINUTE_MS + Number(second) * SECOND_MS + Number(fraction.padEnd(3, '0')),
  )
}

function readOffset(text: string): Result<number, string> {
  if (text.toUpperCase() === 'Z') return ok(0)
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(-2))
  if (hours > 23 || minutes > 59) return err(`there is no offset ${text}`)
  return ok((text.startsWith('-') ? -1 : 1) * (hours * HOUR_MS + minutes * MINUTE_MS))
}

/** The first day, from that of `fromMs` on, on which it is not over. */
function nextClock(clockMs: number, context: TimeContext): Result<TimeRead, string> {
  const dayMs = startOfDay(wallOf(context.fromMs, context.zone))
  return notOver(dayMs, DAY_MS, clockMs, context)
}

/** The first such day, from that of `fromMs` on, on which it is not over. `weekday`: 0 = Sunday. */
function nextWeekday(weekday: number, clockMs: number, context: TimeContext): Result<TimeRead, string> {
  const dayMs = startOfDay(wallOf(context.fromMs, context.zone))
  const days = (weekday - new Date(dayMs).getUTCDay() + 7) % 7
  return notOver(dayMs + days * DAY_MS, 7 * DAY_MS, clockMs, context)
}

/** On that day, or where it is over there, `stepMs` later. */
function notOver(
  dayMs: number,
  stepMs: number,
  clockMs: number,
  { fromMs, zone }: TimeContext,
): Result<TimeRead, string> {
  const today = instantsOf(dayMs + clockMs, zone)
  const isOver = today.length > 0 && today.every((ms) => ms < fromMs)
  if (isOver) return onWall(dayMs + stepMs + clockMs, zone)
  const left = today.find((ms) => ms >= fromMs)
  return left === undefined
    ? onWall(dayMs + clockMs, zone)
    : ok({ ms: left, isTwice: today[1] !== undefined && left === today[0] })
}

function onWall(wallMs: number, zone: Zone): Result<TimeRead, string> {
  const [first, second] = instantsOf(wallMs, zone)
  if (first !== undefined) return ok({ ms: first, isTwice: second !== undefined })
  const place = `${dayText(wallMs)} ${clockText(wallMs)}`
  return err(`there is no ${place} in ${zone.name}: the clocks are put forward past it`)
}

function startOfDay(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS) * DAY_MS
}

function chain<A, B>(result: Result<A, string>, next: (value: A) => Result<B, string>): Result<B, string> {
  return result.ok ? next(result.value) : result
}
