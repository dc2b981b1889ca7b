import { momentText, windowText } from './time-text.ts'
import type { Zone } from './zone.ts'

const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`
const WINDOW_OR_TIME = new RegExp(`(${TIME})(?: to (${TIME}))?`, 'g')

/** Does it say a time as the daemon writes them? */
export function hasTimes(text: string): boolean {
  return text.search(WINDOW_OR_TIME) !== -1
}

/** Words of the daemon, which says times in UTC (ISO 8601), with the times as a clock in the zone shows them. Source: SPEC 13 "shown in the viewer's zone". */
export function localTimes(text: string, zone: Zone): string {
  return text.replace(WINDOW_OR_TIME, (_all, start: string, end: string | undefined) =>
    end === undefined ? momentText(start, zone) : windowText(start, end, zone),
  )
}
