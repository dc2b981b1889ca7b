import { Temporal } from 'temporal-polyfill'
import type { ReservationRow } from '../../contract/reservation.ts'
import type { LaneTarget } from '../rules/lane-target.ts'

/** `2026-12-01 Europe/Berlin (+01:00)`: what a clock on the wall goes by at this moment. */
export function dayText(iso: string, zone: string): string {
  const { offset, day } = partsOf(iso, zone)
  return `${day} ${zone} (${offset})`
}

/** `10:00:05` on the wall; what is below a second is left out. */
export function clockText(iso: string, zone: string): string {
  return partsOf(iso, zone).clock
}

/** `10:00 to 12:00`, with the day where it is not this one. `nowIso`: ISO 8601. */
export function windowText(
  { start, end }: Pick<ReservationRow, 'start' | 'end'>,
  nowIso: string,
  zone: string,
): string {
  const [from, to] = [partsOf(start, zone), partsOf(end, zone)]
  return `${momentText(start, nowIso, zone)} to ${to.day === from.day ? '' : `${to.day} `}${short(to.clock)}`
}

const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`
const WINDOW_OR_TIME = new RegExp(`(${TIME})(?: to (${TIME}))?`, 'g')

/** Words in which times are said in UTC (ISO 8601), with what the clock on the wall shows then. `nowIso`: ISO 8601. */
export function wallTimes(text: string, nowIso: string, zone: string): string {
  return text.replace(WINDOW_OR_TIME, (_all, start: string, end: string | undefined) =>
    end === undefined ? momentText(start, nowIso, zone) : windowText({ start, end }, nowIso, zone),
  )
}

/** `big (chat)`. */
export function targetWords(target: LaneTarget): string {
  return target.kind === 'nothing' ? 'nothing' : `${target.model} (${target.profile})`
}

/** `10:00`, with the day where it is not this one. */
function momentText(iso: string, nowIso: string, zone: string): string {
  const { day, clock } = partsOf(iso, zone)
  return day === partsOf(nowIso, zone).day ? short(clock) : `${day} ${short(clock)}`
}

function short(clock: string): string {
  return clock.replace(/:00$/, '')
}

function partsOf(iso: string, zone: string): { readonly day: string; readonly clock: string; readonly offset: string } {
  const at = Temporal.Instant.from(iso).toZonedDateTimeISO(zone)
  const clock = at.toPlainTime().toString({ smallestUnit: 'second' })
  return { day: at.toPlainDate().toString(), clock, offset: at.offset }
}
