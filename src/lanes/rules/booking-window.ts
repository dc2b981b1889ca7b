import { Temporal } from 'temporal-polyfill'
import { Hal0Error } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { isoTime, MINUTE_MS } from '../../kernel/units.ts'

/** Half-open: `startMs ≤ t < endMs`, epoch ms. Source: SPEC 13. */
export interface BookingWindow {
  readonly startMs: number
  readonly endMs: number
}

/** A start that is past by no more than this is meant as "now": clocks differ, and forms take a while to fill in. */
export const PAST_GRACE_MS = MINUTE_MS

/** What the four digits of a year on the wire can say. */
export const LAST_MS = Date.UTC(9999, 11, 31)

const HAS_OFFSET = /(?:Z|[+-]\d\d:?\d\d)$/i

/** The zone by its proper name. Errors: `validation.invalid` naming it. Source: SPEC 13. */
export function readZone(name: string): Result<string, Hal0Error> {
  try {
    // A fixed offset knows no summer: it is no zone in which people live.
    if (/^[+-]/.test(name)) throw new RangeError('an offset')
    return ok(Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId)
  } catch {
    return err(
      invalid('time_zone', `time_zone: ${JSON.stringify(name)} is no time zone; expected one such as Europe/Berlin`),
    )
  }
}

/** A time as it was read; `note`: what the clock of the zone does there, for people. */
export interface ReadTime {
  readonly ms: number
  readonly note: string | undefined
}

/**
 * A time with an offset, or a wall-clock time of `zone`. One that a zone leaves out moves forward; of one that comes twice the first counts.
 * `param` names the field. Errors: `validation.invalid`. Source: SPEC 13.
 */
export function readTime(text: string, zone: string, param: string): Result<ReadTime, Hal0Error> {
  const wrong = () => err(invalid(param, `${param}: ${JSON.stringify(text)} is no time between now and the year 9999`))
  try {
    if (HAS_OFFSET.test(text)) {
      const ms = Temporal.Instant.from(text).epochMilliseconds
      return ms < LAST_MS ? ok({ ms, note: undefined }) : wrong()
    }
    const wall = Temporal.PlainDateTime.from(text)
    const ms = wall.toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds
    return ms < LAST_MS ? ok({ ms, note: noteOf(wall, zone, ms) }) : wrong()
  } catch {
    return wrong()
  }
}

function noteOf(wall: Temporal.PlainDateTime, zone: string, ms: number): string | undefined {
  const taken = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
  if (wall.hour !== taken.hour || wall.minute !== taken.minute) {
    return `${wallText(wall)} does not exist in ${zone}, where the clock jumps; ${wallText(taken)} is taken`
  }
  const later = wall.toZonedDateTime(zone, { disambiguation: 'later' }).epochMilliseconds
  if (later === ms) return undefined
  return `${wallText(wall)} comes twice in ${zone}, where the clock is put back; the first is taken (${isoTime(ms)})`
}

/** 2026-10-25 02:30, as people read it. */
export function wallText(wall: Temporal.PlainDateTime | Temporal.ZonedDateTime): string {
  return wall.toString().slice(0, 16).replace('T', ' ')
}

/** What somebody asked for: a start, and either an end or a length. */
export interface AskedTimes {
  readonly start: string
  readonly end?: string | undefined
  readonly minutes?: number | undefined
}

export interface ReadWindow {
  /** As asked: limits and repeats go by it. */
  readonly asked: BookingWindow
  /** As it is booked: a start that has just passed is now; with `minutes` the whole length counts from there. */
  readonly window: BookingWindow
  readonly notes: readonly string[]
}

/** Which window is meant? Errors: `validation.invalid` for no times, an end that is not after the start or not after now, a start in the past. */
export function readWindow(times: AskedTimes, zone: string, nowMs: number): Result<ReadWindow, Hal0Error> {
  const start = readTime(times.start, zone, 'start')
  if (!start.ok) return start
  const askedMs = start.value.ms
  if (askedMs < nowMs - PAST_GRACE_MS) return err(startIsPast(askedMs, nowMs))
  const startMs = Math.max(askedMs, nowMs)
  const notes = start.value.note === undefined ? [] : [start.value.note]
  if (times.end === undefined) {
    const lengthMs = Math.round((times.minutes ?? 0) * MINUTE_MS)
    if (!(lengthMs > 0)) return err(invalid('minutes', 'minutes: expected more than 0'))
    if (startMs + lengthMs >= LAST_MS) return err(invalid('minutes', 'minutes: it would end after the year 9999'))
    const asked = { startMs: askedMs, endMs: askedMs + lengthMs }
    return ok({ asked, window: { startMs, endMs: startMs + lengthMs }, notes })
  }
  const end = readTime(times.end, zone, 'end')
  if (!end.ok) return end
  const endMs = end.value.ms
  if (endMs <= askedMs) return err(endBeforeStart(askedMs, endMs))
  if (endMs <= startMs) return err(endIsPast(endMs, nowMs))
  const allNotes = end.value.note === undefined ? notes : [...notes, end.value.note]
  return ok({ asked: { startMs: askedMs, endMs }, window: { startMs, endMs }, notes: allNotes })
}

export function startIsPast(startMs: number, nowMs: number): Hal0Error {
  return invalid('start', `start: ${isoTime(startMs)} is in the past; expected ${isoTime(nowMs)} (now) or later`)
}

export function endIsPast(endMs: number, nowMs: number): Hal0Error {
  return invalid('end', `end: ${isoTime(endMs)} is not after now (${isoTime(nowMs)})`)
}

export function endBeforeStart(startMs: number, endMs: number): Hal0Error {
  return invalid('end', `end: ${isoTime(endMs)} is not after the start (${isoTime(startMs)})`)
}

/** A field of a request that cannot be as it is. */
export function invalid(param: string, message: string): Hal0Error {
  return Hal0Error.of('validation.invalid', message, { param })
}
