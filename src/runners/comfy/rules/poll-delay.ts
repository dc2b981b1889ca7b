/** A fast render should not wait for us. */
const FIRST_MS = 100
const GROWTH = 1.5
/** A slow one is not asked more often than this. */
const LONGEST_MS = 2_000

/** How long to wait before the next look at a render that was looked at `looks` times, in ms. */
export function nextPollDelayMs(looks: number): number {
  return Math.min(LONGEST_MS, Math.round(FIRST_MS * GROWTH ** Math.min(Math.max(0, looks - 1), 50)))
}
