/** An attempt that brought bytes is followed by the next after this pause: a server that cuts at once must not spin us. */
const AFTER_PROGRESS_MS = 250

/** Pauses after attempts in a row that brought nothing. After the last one it is over. */
const BACKOFF_MS = [1_000, 2_000, 4_000, 8_000, 16_000] as const

/** The file was replaced on the hub (or the hub is confused) while we fetched it: so often we begin again. */
const MAX_CHANGES = 5

/** A server that wants more patience than this is not waited for. */
const MAX_WAIT_MS = 300_000

/** How the attempts at one file went so far, the last one included. */
export interface Attempts {
  /** The last one brought the file further than any before. */
  readonly progressed: boolean
  /** In a row that did not, the last one included. */
  readonly barren: number
  /** Times the file was another one. */
  readonly changes: number
  /** The server asked for so long a pause; 0 = it did not. */
  readonly waitMs: number
}

export type NextAttempt = { readonly kind: 'again'; readonly delayMs: number } | { readonly kind: 'give_up' }

/**
 * Is there another attempt, and when? Without end while each brings bytes; else five more, after 1, 2, 4, 8 and 16 s, or what the
 * server asks for if that is longer (up to 5 min).
 */
export function nextAttempt({ progressed, barren, changes, waitMs }: Attempts): NextAttempt {
  if (changes > MAX_CHANGES || waitMs > MAX_WAIT_MS) return { kind: 'give_up' }
  const pauseMs = progressed ? AFTER_PROGRESS_MS : BACKOFF_MS[barren - 1]
  return pauseMs === undefined ? { kind: 'give_up' } : { kind: 'again', delayMs: Math.max(pauseMs, waitMs) }
}
