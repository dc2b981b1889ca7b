import type { Capacity } from '../../contract/capacity.ts'
import type { AdmissionRequest } from './admission.ts'
import type { Resident } from './residents.ts'
import { footprintBytes, type MemorySnapshot } from './rules/memory-limits.ts'
import { touchedPools } from './rules/memory-map.ts'
import { compareForEviction, isEvictable } from './rules/select-victims.ts'

/** What there is, to whom it is promised, who holds it, and who would go first. Source: SPEC 7, 16 `/api/capacity`. */
export function viewCapacity(input: {
  readonly snapshot: MemorySnapshot
  readonly residents: readonly Resident[]
  /** Next first. */
  readonly waiting: readonly { readonly request: AdmissionRequest; readonly waitsFor: readonly string[] }[]
  readonly promisedOn: (poolId: string) => number
}): Capacity {
  const { snapshot, residents } = input
  const inOrder = snapshot.holders
    .filter((holder) => isEvictable(holder))
    .toSorted(compareForEviction)
    .map((holder) => holder.slot)
  return {
    pools: snapshot.pools.map(({ id, kind, totalBytes, freeBytes }) => ({
      id,
      kind,
      total_bytes: totalBytes ?? null,
      free_bytes: freeBytes ?? null,
      promised_bytes: input.promisedOn(id),
    })),
    slots: residents.flatMap(({ slot, state, priority, pinned, inFlight }) => {
      const holder = snapshot.holders.find((each) => each.slot === slot)
      if (holder === undefined) return []
      return {
        slot,
        state,
        pools: [...touchedPools(snapshot.pools, holder)],
        held_bytes: rounded(footprintBytes(snapshot, holder)),
        priority,
        pinned,
        in_flight: inFlight,
        eviction_order: inOrder.includes(slot) ? inOrder.indexOf(slot) + 1 : null,
      }
    }),
    waiting: input.waiting.map(({ request, waitsFor }) => ({
      slot: request.slot,
      needed_bytes: request.need.kind === 'known' ? rounded(request.need.gpuBytes + request.need.hostBytes) : null,
      waits_for: [...waitsFor],
    })),
  }
}

function rounded(bytes: number | undefined): number | null {
  return bytes === undefined ? null : Math.round(bytes)
}
