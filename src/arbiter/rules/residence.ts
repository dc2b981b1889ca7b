import { isDispatchable, type SlotRow } from '../../contract/slot-row.ts'

/** What of a row says whether the slot has memory. */
export type ResidenceRow = Pick<SlotRow, 'state' | 'idle_reason'>

/** May something of it be in memory, now or in a moment? */
export function isResident({ state }: ResidenceRow): boolean {
  return state !== 'offline' && state !== 'error' && state !== 'pulling'
}

/** Somebody wants it to serve: it can, or it is about to. Such a slot is loaded again after images. */
export function isWanted(row: ResidenceRow): boolean {
  return isDispatchable(row) || row.state === 'pulling' || row.state === 'starting' || row.state === 'warming'
}
