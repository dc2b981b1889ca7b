import { MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'

/** Small models answer within milliseconds. */
const SHORTEST_MS = 5
const LONGEST_MS = 100
const LONGEST_LATE_MS = SECOND_MS / 2
const LATE_AFTER_MS = MINUTE_MS

/** A pause of this part of the load so far makes no load noticeably longer. */
const SHARE = 1 / 20

/**
 * How long, in whole ms, until the next look at an engine that has been coming up for `elapsedMs`? 5 to 100 ms in the first minute, growing with
 * the load; 500 ms after. Source: SPEC 5 "Probe".
 */
export function nextProbeMs(elapsedMs: number): number {
  if (elapsedMs >= LATE_AFTER_MS) return LONGEST_LATE_MS
  return Math.min(Math.max(Math.floor(elapsedMs * SHARE), SHORTEST_MS), LONGEST_MS)
}
