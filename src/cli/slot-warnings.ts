import type { SlotRow } from '../contract/slot-row.ts'

/** A line for each slot that cannot serve as it is, with the reason: a file with mistakes, a load that failed. `but` is left out. Pure. */
export function slotWarnings(
  rows: readonly Pick<SlotRow, 'name' | 'state' | 'message' | 'failure'>[],
  but?: string,
): string[] {
  return rows
    .filter((row) => row.name !== but && (row.state === 'error' || (row.state === 'offline' && row.message !== '')))
    .map((row) => `warning: slot ${row.name}: ${row.failure?.message ?? row.message}`)
}
