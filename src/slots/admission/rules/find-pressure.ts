import { MINUTE_MS } from '../../../kernel/units.ts'
import type { Holder } from './memory-limits.ts'
import { memoriesOf, type PoolReading, touchedPools } from './memory-map.ts'
import { compareForEviction, isEvictable } from './select-victims.ts'

/** A slot that was used so recently will be wanted again at once. */
export const PRESSURE_SPARES_MS = MINUTE_MS

/** `evictPressureBytes` and `evictPressurePct` % of the pool: the lower of the two is the mark. 0 = never. */
export interface PressureMarks {
  readonly evictPressureBytes: number
  readonly evictPressurePct: number
}

/** A pool that is below its mark. */
export interface Pressure {
  readonly id: string
  readonly freeBytes: number
  readonly markBytes: number
}

/** Which pools are short? Main memory and unified pools only: nothing else on the machine suffers from a full card. Source: SPEC 7 "Memory pressure". */
export function findPressure(pools: readonly PoolReading[], marks: PressureMarks): readonly Pressure[] {
  return pools.flatMap(({ id, kind, freeBytes, totalBytes }) => {
    if (kind === 'vram' || freeBytes === undefined) return []
    const part = totalBytes === undefined ? Number.POSITIVE_INFINITY : (totalBytes * marks.evictPressurePct) / 100
    const markBytes = Math.min(marks.evictPressureBytes, part)
    return freeBytes < markBytes ? [{ id, freeBytes, markBytes }] : []
  })
}

/** Who is unloaded so that main memory is free again? The first in the order of eviction that holds some of it; undefined = nobody. */
export function choosePressureVictim(
  pools: readonly PoolReading[],
  holders: readonly Holder[],
  nowMs: number,
): Holder | undefined {
  return holders
    .filter((holder) => isEvictable(holder) && nowMs - holder.lastUsedMs >= PRESSURE_SPARES_MS)
    .filter((holder) => memoriesOf(pools, touchedPools(pools, holder)).has('host'))
    .toSorted(compareForEviction)[0]
}
