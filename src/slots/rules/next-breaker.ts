import type { BreakerView } from '../../contract/slot-row.ts'
import type { BreakerEntry } from '../../contract/slot-state.ts'
import { retryAfterSeconds, SECOND_MS } from '../../kernel/units.ts'

/** The first failure makes requests wait so long; each further one twice as long, until the slot is parked. Source: SPEC 6. */
export const BACKOFF_FIRST_MS = 5 * SECOND_MS
/** From this failure on the slot is parked. */
export const PARKED_FROM = 5
export const PARK_FIRST_MS = 300 * SECOND_MS
export const PARK_LONGEST_MS = 3_600 * SECOND_MS
/** A slot that was ready so long has recovered. */
export const RECOVERED_AFTER_MS = 60 * SECOND_MS

/** How long after the n-th failure nothing is started, in ms. `failures` ≥ 1. */
export function chooseCoolDownMs(failures: number): number {
  if (failures < PARKED_FROM) return BACKOFF_FIRST_MS * 2 ** (failures - 1)
  return Math.min(PARK_FIRST_MS * 2 ** Math.min(failures - PARKED_FROM, 30), PARK_LONGEST_MS)
}

export type StartDecision =
  /** `isTrial`: the one that decides whether a parked slot stays parked. */
  | { readonly kind: 'start'; readonly isTrial: boolean; readonly failures: number }
  | { readonly kind: 'refuse'; readonly isParked: boolean; readonly failures: number; readonly waitMs: number }

/**
 * May a start that no person asked for begin now? `nowMs`: wall clock, so that a restart of the daemon changes nothing; a clock that was set
 * back never makes the wait longer than the cool-down. Source: SPEC 6.
 */
export function decideStart(entry: BreakerEntry | undefined, nowMs: number): StartDecision {
  if (entry === undefined) return { kind: 'start', isTrial: false, failures: 0 }
  const { failures } = entry
  const isParked = failures >= PARKED_FROM
  const waitMs = remainingMs(entry, nowMs)
  return waitMs > 0 ? { kind: 'refuse', isParked, failures, waitMs } : { kind: 'start', isTrial: isParked, failures }
}

/** What people see of it; null = nothing counts. `isStarted`: a start that had leave runs or has come up. */
export function viewBreaker(entry: BreakerEntry | undefined, nowMs: number, isStarted: boolean): BreakerView | null {
  if (entry === undefined) return null
  const { failures } = entry
  const waitMs = isStarted ? 0 : remainingMs(entry, nowMs)
  const retryAfterS = waitMs > 0 ? retryAfterSeconds(waitMs) : 0
  if (failures < PARKED_FROM) return { state: 'backoff', failures, retry_after_s: retryAfterS }
  return { state: waitMs > 0 ? 'parked' : 'half_open', failures, retry_after_s: retryAfterS }
}

function remainingMs({ failures, failed_at_ms: failedAtMs }: BreakerEntry, nowMs: number): number {
  const coolDownMs = chooseCoolDownMs(failures)
  return Math.min(coolDownMs, Math.max(0, failedAtMs + coolDownMs - nowMs))
}
