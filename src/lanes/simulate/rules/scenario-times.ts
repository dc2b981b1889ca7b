import { Temporal } from 'temporal-polyfill'
import { HOUR_MS } from '../../../kernel/units.ts'
import { readTime, readZone } from '../../rules/booking-window.ts'

/** A longer one is no day to look at. */
export const MAX_HOURS = 31 * 24
const DEFAULT_HOURS = 24

/** The stretch of time that is played, as its file says it. */
export interface AskedDay {
  readonly start: string
  readonly time_zone: string
  readonly hours?: number | undefined
  readonly end?: string | undefined
}

export interface Day {
  readonly zone: string
  /** Epoch ms. */
  readonly startMs: number
  readonly endMs: number
}

/** Undefined = the zone or a time cannot be read; whether the end is after the start is not asked. */
export function readDay({ start, time_zone, hours = DEFAULT_HOURS, end }: AskedDay): Day | undefined {
  const zone = readZone(time_zone)
  if (!zone.ok || isBareClock(start)) return undefined
  const startMs = momentOf(start, zone.value)
  if (startMs === undefined) return undefined
  const day = { zone: zone.value, startMs }
  const endMs = end === undefined ? startMs + hours * HOUR_MS : readMoment(end, day)
  return endMs === undefined ? undefined : { ...day, endMs }
}

/** Epoch ms; a bare `10:00` is of the day on which it starts. Undefined = there is no such time. */
export function readMoment(text: string, { zone, startMs }: Omit<Day, 'endMs'>): number | undefined {
  if (!isBareClock(text)) return momentOf(text, zone)
  const first = Temporal.Instant.fromEpochMilliseconds(startMs).toZonedDateTimeISO(zone).toPlainDate()
  return momentOf(`${first.toString()}T${text}`, zone)
}

/** `10:00`, without a day. */
export function isBareClock(text: string): boolean {
  return /^\d{1,2}:/.test(text)
}

function momentOf(text: string, zone: string): number | undefined {
  // `9:00` is a time too, as on the command line.
  const full = text.replace(/[Tt ](\d{1,2}):/, (_all, hours: string) => `T${hours.padStart(2, '0')}:`)
  const read = readTime(full, zone, 'time')
  return read.ok ? read.value.ms : undefined
}
