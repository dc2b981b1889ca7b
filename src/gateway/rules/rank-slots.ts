import { isDispatchable, type SlotRow } from '../../contract/slot-row.ts'

/** What ranking looks at of a slot. */
export interface RankedSlot extends Pick<SlotRow, 'name' | 'state' | 'idle_reason' | 'in_flight'> {
  /** Epoch ms; 0 = never. */
  readonly lastUsedMs: number
}

/**
 * How soon could this slot answer? 0 = now, 1 = a load is under way, 2 = after a load, 3 = perhaps never. `unloading` will be offline; idle
 * without a model ranks as error. Source: SPEC 4 "Selection".
 */
export function rankOf(slot: Pick<RankedSlot, 'state' | 'idle_reason'>): 0 | 1 | 2 | 3 {
  if (isDispatchable(slot)) return 0
  const { state } = slot
  if (state === 'warming' || state === 'starting' || state === 'pulling') return 1
  if (state === 'offline' || state === 'unloading') return 2
  return 3
}

/** Order among slots bound to one model, best first: state rank, fewest in flight, most recently used, name. Source: SPEC 4. */
export function compareCandidates(a: RankedSlot, b: RankedSlot): number {
  return (
    rankOf(a) - rankOf(b) ||
    a.in_flight - b.in_flight ||
    b.lastUsedMs - a.lastUsedMs ||
    (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  )
}
