import { isDispatchable, type SlotRow } from '../../contract/slot-row.ts'

/** What ranking looks at of a slot. */
export type RankedSlot = Pick<SlotRow, 'name' | 'state' | 'idle_reason' | 'in_flight' | 'last_used_at'>

/**
 * How soon could this slot answer? 0 = now, 1 = a load is under way, 2 = after a load, 3 = perhaps never. `unloading` will be offline; idle
 * without a model ranks as error. Source: SPEC 4 "Selection".
 */
export function rankOf({ state, idle_reason }: Pick<RankedSlot, 'state' | 'idle_reason'>): 0 | 1 | 2 | 3 {
  if (isDispatchable({ state, idle_reason })) return 0
  if (state === 'warming' || state === 'starting' || state === 'pulling') return 1
  if (state === 'offline' || state === 'unloading') return 2
  return 3
}

/** Order among slots bound to one model, best first: state rank, fewest in flight, most recently used, name. Source: SPEC 4. */
export function compareCandidates(a: RankedSlot, b: RankedSlot): number {
  return (
    rankOf(a) - rankOf(b) ||
    a.in_flight - b.in_flight ||
    // ISO times in UTC compare as text; never used comes last.
    compareText(b.last_used_at ?? '', a.last_used_at ?? '') ||
    compareText(a.name, b.name)
  )
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
