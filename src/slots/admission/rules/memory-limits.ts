import { choosePools, type Footprint, footprintOf, type Placed, type PoolReading } from './memory-map.ts'

/** A slot that has memory, or is about to. `promised`: its load runs and is not measured yet. */
export interface Holder extends Placed {
  readonly standing: 'quiet' | 'busy' | 'loading' | 'stopping'
  readonly pinned: boolean
  readonly isLanes: boolean
  /** 0–100; the lowest is evicted first. */
  readonly priority: number
  /** Monotonic ms. */
  readonly lastUsedMs: number
}

/** A load that was let in and whose memory is not measured yet. `shownBytes`: by pool, how much has become less since it was let in, at most. */
export interface PromisedLoad extends Placed {
  readonly shownBytes?: ReadonlyMap<string, number>
}

/** Memory of this machine at one moment, with who has it and to whom it was promised. */
export interface MemorySnapshot {
  readonly pools: readonly PoolReading[]
  readonly holders: readonly Holder[]
  readonly promises: readonly PromisedLoad[]
}

/** One of the sums that must hold before a load may start. */
export interface Limit {
  /** `shared`: main memory and unified pools together, which are one memory. */
  readonly kind: 'gpu' | 'host' | 'shared'
  readonly ids: readonly string[]
  readonly freeBytes: number | undefined
  readonly totalBytes: number | undefined
}

/** How one limit stands for an asker. All in bytes; `missingBytes` above 0 = it does not fit. */
export interface Balance {
  readonly limit: Limit
  readonly neededBytes: number
  /** Measured, less what is promised, less mapped weights that only look free. May be below 0. */
  readonly freeBytes: number
  readonly missingBytes: number
}

/**
 * What is to be imagined: these slots gone, these besides. `promises`: how much of what was promised is still to be taken. `full`: all of it,
 * the safe answer, which counts twice what a load has taken already. `seen`: less what has become less since then, which another
 * program may have taken. `taken`: nothing.
 */
export interface Imagined {
  readonly gone?: ReadonlySet<string>
  readonly plus?: readonly Placed[]
  readonly promises?: 'full' | 'seen' | 'taken'
}

export type Balances =
  | { readonly kind: 'known'; readonly balances: readonly Balance[] }
  | { readonly kind: 'unknown'; readonly reason: string }

/**
 * How does every limit stand for `asker`? Free = measured − promised − mapped weights of residents (main memory only). A slot that is
 * imagined gone gives back what it holds, never more than there is. Source: SPEC 7 "Pre-load admission", "Free memory".
 */
export function balanceFor(snapshot: MemorySnapshot, asker: Placed, imagined: Imagined = {}): Balances {
  const { pools } = snapshot
  if (asker.need === undefined) return { kind: 'unknown', reason: 'what it needs is not known' }
  if (asker.need.kind === 'unknown') return { kind: 'unknown', reason: asker.need.reason }
  const choice = choosePools(pools, asker.device, asker.gpus)
  if (choice.kind === 'none') return { kind: 'unknown', reason: choice.reason }
  const wanted = footprintOf(pools, asker)
  if (wanted === undefined) return { kind: 'unknown', reason: 'what it needs is not known' }
  const limits = limitsOf(pools, wanted)
  const unread = limits.find((limit) => limit.freeBytes === undefined)
  if (unread !== undefined) {
    return { kind: 'unknown', reason: `free memory of ${unread.ids.join(' + ')} cannot be read` }
  }
  const others = othersOf(snapshot, asker.slot, imagined)
  return { kind: 'known', balances: limits.map((limit) => balanceOf(limit, wanted, others)) }
}

/** As `balanceFor`; what cannot be told has no balance. */
export function balancesOf(snapshot: MemorySnapshot, asker: Placed, imagined: Imagined = {}): readonly Balance[] {
  const found = balanceFor(snapshot, asker, imagined)
  return found.kind === 'known' ? found.balances : []
}

/** Does it fit? What cannot be told fits. */
export function fits(snapshot: MemorySnapshot, asker: Placed, imagined: Imagined = {}): boolean {
  const found = balanceFor(snapshot, asker, imagined)
  return found.kind === 'unknown' || found.balances.every(({ missingBytes }) => missingBytes <= 0)
}

/** What would come back in this limit if that slot were gone? */
export function heldOn(limit: Limit, footprint: Footprint, pools: readonly PoolReading[]): number {
  if (limit.kind !== 'gpu') return footprint.sharedBytes
  const isShared = pools.some((pool) => pool.kind === 'unified' && limit.ids.includes(pool.id))
  let bytes = 0
  for (const [id, share] of footprint.gpuShares) {
    const isUnified = pools.some((pool) => pool.id === id && pool.kind === 'unified')
    if (limit.ids.includes(id) && !(isShared && isUnified)) bytes += share
  }
  return isShared ? bytes + footprint.sharedBytes : bytes
}

/** All that a slot takes, on cards and in main memory; undefined = it cannot be told. */
export function footprintBytes(
  { pools }: { readonly pools: readonly PoolReading[] },
  placed: Placed,
): number | undefined {
  const footprint = footprintOf(pools, placed)
  return footprint === undefined ? undefined : footprint.gpuBytes + footprint.hostBytes
}

interface Others {
  readonly pools: readonly PoolReading[]
  readonly promises: readonly PromisedLoad[]
  readonly plus: readonly Placed[]
  readonly resident: readonly Placed[]
  readonly gone: readonly Placed[]
  readonly counting: 'full' | 'seen' | 'taken'
}

function othersOf(snapshot: MemorySnapshot, slot: string, imagined: Imagined): Others {
  const { pools, holders, promises } = snapshot
  const isGone = (placed: Placed) => imagined.gone?.has(placed.slot) ?? false
  const promisedSlots = new Set(promises.map((promise) => promise.slot))
  const others = holders.filter((holder) => holder.slot !== slot)
  return {
    pools,
    promises: promises.filter((promise) => !isGone(promise)),
    plus: imagined.plus ?? [],
    resident: others.filter((holder) => !promisedSlots.has(holder.slot)),
    gone: others.filter((holder) => isGone(holder)),
    counting: imagined.promises ?? 'full',
  }
}

function balanceOf(limit: Limit, wanted: Footprint, others: Others): Balance {
  const { pools } = others
  const sum = (list: readonly Placed[], of: (footprint: Footprint) => number) =>
    list.reduce((bytes, placed) => {
      const footprint = footprintOf(pools, placed)
      return footprint === undefined ? bytes : bytes + of(footprint)
    }, 0)
  const taken = (list: readonly Placed[]) => sum(list, (footprint) => takenOn(limit, footprint))
  const mappedBytes = limit.kind === 'gpu' ? 0 : sum(others.resident, (footprint) => footprint.mappedBytes)
  const measured = (limit.freeBytes ?? 0) - mappedBytes
  const back = sum(others.gone, (footprint) => heldOn(limit, footprint, pools))
  // A load that is imagined gone may have taken anything up to its need: together it can never be more than there is.
  const most = limit.totalBytes ?? Number.POSITIVE_INFINITY
  const withBack = Math.max(measured, Math.min(most, measured + back))
  const promised = Math.max(0, taken(others.promises) - countedTwice(limit, others))
  const freeBytes = withBack - promised - taken(others.plus)
  const neededBytes = takenOn(limit, wanted)
  return { limit, neededBytes, freeBytes, missingBytes: neededBytes - freeBytes }
}

/** How much of what is promised shows in what was measured already? What the first of the loads has seen go is what all of them took. */
function countedTwice(limit: Limit, { pools, promises, counting }: Others): number {
  if (counting === 'taken') return Number.POSITIVE_INFINITY
  if (counting === 'full') return 0
  const isHost = (id: string) => pools.some((pool) => pool.id === id && pool.kind === 'host')
  const shown = promises.map(({ shownBytes }) => {
    const on = (ids: readonly string[]) => ids.reduce((sum, id) => sum + (shownBytes?.get(id) ?? 0), 0)
    // In both readings of a memory that is shared the same bytes are missing.
    return Math.max(on(limit.ids.filter(isHost)), on(limit.ids.filter((id) => !isHost(id))))
  })
  return Math.max(0, ...shown)
}

/** What has to be there: on which of its cards a load takes it is its own choice, so all of it counts on each. */
function takenOn(limit: Limit, footprint: Footprint): number {
  if (limit.kind === 'host') return footprint.hostBytes
  if (limit.kind === 'shared') return footprint.sharedBytes
  return footprint.gpuIds.some((id) => limit.ids.includes(id)) ? footprint.gpuBytes : 0
}

function limitsOf(pools: readonly PoolReading[], wanted: Footprint): readonly Limit[] {
  const limits: Limit[] = []
  const cards = pools.filter((pool) => wanted.gpuIds.includes(pool.id))
  if (cards.length > 0 && wanted.gpuBytes > 0) limits.push(limitOf('gpu', cards))
  const host = pools.find((pool) => pool.kind === 'host')
  if (host === undefined || wanted.sharedBytes === 0) return limits
  if (wanted.hostBytes > 0) limits.push(limitOf('host', [host]))
  const unified = pools.filter((pool) => pool.kind === 'unified')
  if (unified.length === 0) return limits
  // A part of a unified pool may lie outside of what the system calls its memory: the larger of the two readings is nearer to what there is.
  const joined = limitOf('gpu', unified)
  limits.push({
    kind: 'shared',
    ids: [host.id, ...joined.ids],
    freeBytes: larger(host.freeBytes, joined.freeBytes),
    totalBytes: larger(host.totalBytes, joined.totalBytes),
  })
  return limits
}

function limitOf(kind: Limit['kind'], pools: readonly PoolReading[]): Limit {
  return {
    kind,
    ids: pools.map((pool) => pool.id),
    freeBytes: total(pools.map((pool) => pool.freeBytes)),
    totalBytes: total(pools.map((pool) => pool.totalBytes)),
  }
}

function total(parts: readonly (number | undefined)[]): number | undefined {
  return parts.reduce<number | undefined>(
    (sum, part) => (sum === undefined || part === undefined ? undefined : sum + part),
    0,
  )
}

function larger(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : Math.max(a, b)
}
