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
  const today = partsOf(nowIso, zone).day
  const startText = from.day === today ? short(from.clock) : `${from.day} ${short(from.clock)}`
  return `${startText} to ${to.day === from.day ? '' : `${to.day} `}${short(to.clock)}`
}

/** `big (chat)`. */
export function targetWords(target: LaneTarget): string {
  return target.kind === 'nothing' ? 'nothing' : `${target.model} (${target.profile})`
}

function short(clock: string): string {
  return clock.replace(/:00$/, '')
}

function partsOf(iso: string, zone: string): { readonly day: string; readonly clock: string; readonly offset: string } {
  const at = Temporal.Instant.from(iso).toZonedDateTimeISO(zone)
  const clock = at.toPlainTime().toString({ smallestUnit: 'second' })
  return { day: at.toPlainDate().toString(), clock, offset: at.offset }
}
