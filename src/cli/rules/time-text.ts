import { MINUTE_MS } from '../../kernel/units.ts'
import { instantsOf, wallOf, type Zone } from './zone.ts'

/** `2026-12-24` of a wall clock (ms since 1970-01-01T00:00 on it). */
export function dayText(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 10)
}

/** `18:00` of a wall clock; `18:00:05` where the minute is not full. */
export function clockText(wallMs: number): string {
  const text = new Date(wallMs).toISOString()
  return text.slice(11, text.slice(17, 19) === '00' ? 16 : 19)
}

/** A moment (ISO 8601) for people: `2026-12-24 18:00 Europe/Berlin`. */
export function momentText(iso: string, zone: Zone): string {
  const ms = new Date(iso).getTime()
  return `${dayText(wallOf(ms, zone))} ${clockIn(ms, zone)} ${zone.name}`
}

/** A window (ISO 8601; `end` null = open) for people: `2026-12-24 18:00 to 20:00 Europe/Berlin`; the day of its end where that is another. */
export function windowText(start: string, end: string | null, zone: Zone): string {
  const startMs = new Date(start).getTime()
  const day = dayText(wallOf(startMs, zone))
  const from = `${day} ${clockIn(startMs, zone)}`
  if (end === null) return `from ${from} ${zone.name}`
  const endMs = new Date(end).getTime()
  const endDay = dayText(wallOf(endMs, zone))
  return `${from} to ${endDay === day ? '' : `${endDay} `}${clockIn(endMs, zone)} ${zone.name}`
}

/** Where the clocks show it twice, with the offset that tells which is meant: `02:30 (+01:00)`. */
function clockIn(ms: number, zone: Zone): string {
  const wallMs = wallOf(ms, zone)
  const text = clockText(wallMs)
  return instantsOf(wallMs, zone).length > 1 ? `${text} (${offsetText(zone.offsetMs(ms))})` : text
}

function offsetText(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / MINUTE_MS)
  const two = (count: number) => String(count).padStart(2, '0')
  return `${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}
