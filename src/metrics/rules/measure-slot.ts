import type { SlotRow } from '../../contract/slot-row.ts'

/** Values of `hal0_breaker_state`, in the order of how near the slot is to serving. Source: SPEC 17. */
export const BREAKER_VALUES = { closed: 0, backoff: 1, parked: 2, half_open: 3 } as const

/** Can requests be served without a load? An idle slot whose engine lists no model cannot. */
export function isUp({ state, idle_reason }: Pick<SlotRow, 'state' | 'idle_reason'>): boolean {
  return state === 'ready' || state === 'serving' || (state === 'idle' && idle_reason !== 'no_model')
}

/** No breaker view = no failure counts. */
export function breakerValue({ breaker }: Pick<SlotRow, 'breaker'>): number {
  return BREAKER_VALUES[breaker?.state ?? 'closed']
}
