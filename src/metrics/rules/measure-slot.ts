import type { SlotRow } from '../../contract/slot-row.ts'

/** Values of `hal0_breaker_state`: 0 = nothing counts against the slot. Dashboards know them, so they stay as they are. Source: SPEC 17. */
export const BREAKER_VALUES = { closed: 0, backoff: 1, parked: 2, half_open: 3 } as const

/** No breaker view = no failure counts. */
export function breakerValue({ breaker }: Pick<SlotRow, 'breaker'>): number {
  return BREAKER_VALUES[breaker?.state ?? 'closed']
}
