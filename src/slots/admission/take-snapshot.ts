import type { Resident } from './residents.ts'
import type { Holder, MemorySnapshot, PromisedLoad } from './rules/memory-limits.ts'
import type { Placed, PoolReading } from './rules/memory-map.ts'

/** What the desk knows besides the residents. */
export interface DeskKnowledge {
  readonly promises: readonly PromisedLoad[]
  /** Slots that wait for memory: they hold none. */
  readonly waiting: ReadonlySet<string>
  /** The desk has asked their actors to stop them. */
  readonly evicting: ReadonlySet<string>
  /** What was last known of each slot: one that stops does not say any more what it holds, nor where. */
  readonly known: ReadonlyMap<string, Placed>
  /** Their actors have just refused: what the list says of them is not true any more. */
  readonly refused: ReadonlySet<string>
}

/** Who holds memory, and how it stands, in the terms of the rules. A slot whose load has not come to the desk yet holds none. */
export function takeSnapshot(
  pools: readonly PoolReading[],
  residents: readonly Resident[],
  known: DeskKnowledge,
): MemorySnapshot {
  const promised = new Set(known.promises.map((promise) => promise.slot))
  const holds = ({ slot, standing, state }: Resident) =>
    !known.waiting.has(slot) && (standing !== 'loading' || promised.has(slot) || state === 'warming')
  return {
    pools,
    promises: known.promises,
    holders: residents
      .filter(holds)
      .map((resident) => ({ ...placeOf(resident, known), standing: standingOf(resident, known) })),
  }
}

function placeOf(resident: Resident, { known }: DeskKnowledge): Resident {
  const before = resident.need === undefined ? known.get(resident.slot) : undefined
  if (before === undefined) return resident
  return { ...resident, device: before.device, gpus: before.gpus, need: before.need }
}

function standingOf({ slot, standing }: Resident, { evicting, refused }: DeskKnowledge): Holder['standing'] {
  if (evicting.has(slot)) return 'stopping'
  return refused.has(slot) && standing === 'quiet' ? 'busy' : standing
}
