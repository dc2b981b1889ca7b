import { MIB } from '../../../kernel/units.ts'
import { choosePools, type Placed, type PoolReading } from './memory-map.ts'

/** Less than this comes and goes with everything else that runs: nobody waits for it. */
export const RELEASE_NOISE_BYTES = 256 * MIB
/** The estimate may be too high: memory is back when this part of it is. */
const RELEASED_PART = 0.8
/** A card that is as free as this has given back everything. */
const FREE_PART = 0.95

/** Memory that a stop is to give back. `aimBytes`: free memory of these pools together from which on it is back. */
export interface Release {
  readonly ids: readonly string[]
  readonly aimBytes: number
}

/**
 * How much is to come back, and where? `before`: the pools while the process still ran. `takenHostBytes`: what main memory lost when it was
 * started, undefined = not measured: an engine touches less of it than the estimate says. `promisedBytes(ids)`: what running loads may take there
 * meanwhile. Mapped weights and the estimate's reserve never come back visibly. Empty = nothing to wait for. Source: SPEC 7 "Free memory", CASES 22.
 */
export function planReleases(
  before: readonly PoolReading[],
  stopped: Placed,
  known: {
    readonly takenHostBytes: number | undefined
    promisedBytes(ids: readonly string[]): number
    /** What other slots are counted with there: that much does not become free. */
    heldByOthersBytes(ids: readonly string[]): number
  },
): readonly Release[] {
  const { need } = stopped
  const choice = choosePools(before, stopped.device, stopped.gpus)
  if (need === undefined || need.kind === 'unknown' || choice.kind === 'none') return []
  const isOnGpu = choice.gpuIds.length > 0
  const onCards = isOnGpu ? need.gpuBytes - need.overheadBytes : 0
  const inHost = need.hostBytes - need.mappedBytes - need.overheadBytes
  const expected: [readonly string[], number][] = [
    [choice.gpuIds, onCards],
    [choice.hostId === undefined ? [] : [choice.hostId], Math.min(inHost, known.takenHostBytes ?? inHost)],
  ]
  return expected.flatMap(([ids, bytes]) => {
    const free = freeOf(before, ids)
    if (ids.length === 0 || bytes < RELEASE_NOISE_BYTES || free === undefined) return []
    const promised = known.promisedBytes(ids)
    // The reading may have come too late and show all of it as free already: more than others leave is never free.
    const mostBytes = ((totalOf(before, ids) ?? Infinity) - known.heldByOthersBytes(ids)) * FREE_PART
    const aimBytes = Math.min(free + RELEASED_PART * bytes, mostBytes) - promised
    return [{ ids, aimBytes }]
  })
}

/** Is it back? Also when the pools cannot be read any more. */
export function isReleased(pools: readonly PoolReading[], release: Release): boolean {
  const free = freeOf(pools, release.ids)
  return free === undefined || free >= release.aimBytes
}

/** Free memory of these pools together; undefined = one of them cannot be read. */
export function freeOf(pools: readonly PoolReading[], ids: readonly string[]): number | undefined {
  return sumOf(pools, ids, (pool) => pool.freeBytes)
}

function totalOf(pools: readonly PoolReading[], ids: readonly string[]): number | undefined {
  return sumOf(pools, ids, (pool) => pool.totalBytes)
}

function sumOf(
  pools: readonly PoolReading[],
  ids: readonly string[],
  of: (pool: PoolReading) => number | undefined,
): number | undefined {
  let sum = 0
  for (const id of ids) {
    const pool = pools.find((candidate) => candidate.id === id)
    const bytes = pool === undefined ? undefined : of(pool)
    if (bytes === undefined) return undefined
    sum += bytes
  }
  return sum
}
