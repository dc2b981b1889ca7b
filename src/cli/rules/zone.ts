const DAY_MS = 86_400_000

/** A time zone as far as the rules need one. */
export interface Zone {
  /** IANA, `Europe/Berlin`. */
  readonly name: string
  /** What its clocks show minus UTC, ms, at this moment (epoch ms). */
  offsetMs(epochMs: number): number
}

/** What a clock in the zone shows, as ms since 1970-01-01T00:00 on that clock. */
export function wallOf(epochMs: number, zone: Zone): number {
  return epochMs + zone.offsetMs(epochMs)
}

/**
 * At which moments (epoch ms, ascending) does a clock in the zone show this? One; none where the clocks are put forward past it; two where
 * they are put back over it.
 */
export function instantsOf(wallMs: number, zone: Zone): readonly number[] {
  // No zone changes its clocks twice within two days.
  const offsets = new Set([zone.offsetMs(wallMs - DAY_MS), zone.offsetMs(wallMs + DAY_MS)])
  const fitting = [...offsets].filter((offset) => zone.offsetMs(wallMs - offset) === offset)
  return fitting.map((offset) => wallMs - offset).toSorted((a, b) => a - b)
}
