import type { Device } from '../../../contract/slot-row.ts'
import type { MemoryNeed } from '../../../launch/rules/memory-need.ts'

/** A pool as it was measured; what a `MemoryPool` of the meter is to the rules. */
export interface PoolReading {
  readonly id: string
  readonly kind: 'host' | 'vram' | 'unified'
  readonly vendor: 'AMD' | 'NVIDIA' | 'Intel' | 'unknown maker' | undefined
  readonly gpuIndex: number | undefined
  readonly totalBytes: number | undefined
  readonly freeBytes: number | undefined
}

/** A slot with where it runs and what it takes there; `need` undefined = not yet known. */
export interface Placed {
  readonly slot: string
  readonly device: Device
  /** The GPUs it may use; undefined = every one. */
  readonly gpus: readonly number[] | undefined
  readonly need: MemoryNeed | undefined
}

/** `gpuIds`: the cards it uses together, empty for a slot off the GPUs. `hostId` undefined = main memory cannot be read. */
export type PoolChoice =
  | { readonly kind: 'pools'; readonly gpuIds: readonly string[]; readonly hostId: string | undefined }
  | { readonly kind: 'none'; readonly reason: string }

/** What a slot takes of which pools, in bytes. */
export interface Footprint {
  readonly gpuIds: readonly string[]
  readonly gpuBytes: number
  readonly hostBytes: number
  /** Part of `hostBytes` that the system counts as available although it is in use. */
  readonly mappedBytes: number
  /** How `gpuBytes` is spread over `gpuIds`, by the size of the cards. */
  readonly gpuShares: ReadonlyMap<string, number>
  /** What it takes of main memory and of the unified pools: to each other these are one memory. */
  readonly sharedBytes: number
}

const VENDOR_OF = { 'gpu-rocm': 'AMD', 'gpu-cuda': 'NVIDIA' } as const

/**
 * On which pools does a slot draw? cpu and npu: main memory; rocm: AMD cards; cuda: NVIDIA cards; vulkan: any card, counted in the order of
 * the list. `gpus` picks some of them; what is picked, or all of them without it, counts together. Where the machine shows no such card the engine computes in
 * main memory, so that is what counts. Source: SPEC 7 "Free memory", 8.
 */
export function choosePools(
  pools: readonly PoolReading[],
  device: Device,
  gpus: readonly number[] | undefined,
): PoolChoice {
  const hostId = pools.find((pool) => pool.kind === 'host')?.id
  const usable = usableCards(pools, device)
  if (usable.length === 0) {
    return hostId === undefined
      ? { kind: 'none', reason: 'main memory cannot be read' }
      : { kind: 'pools', gpuIds: [], hostId }
  }
  if (gpus === undefined) return { kind: 'pools', gpuIds: usable.map((card) => card.id), hostId }
  const gpuIds: string[] = []
  for (const gpu of gpus) {
    const picked = usable.find((card, nth) => numberOf(card, nth, device) === gpu)
    if (picked === undefined) {
      return {
        kind: 'none',
        reason: `gpu_index ${gpu} is out of range: ${usable.length} GPU(s) for device ${device} are known`,
      }
    }
    gpuIds.push(picked.id)
  }
  return { kind: 'pools', gpuIds, hostId }
}

/** A lane as far as its cards go. */
export interface CardOwner {
  readonly device: Device
  readonly gpus: readonly number[]
}

/**
 * Which GPUs are left for a slot that names none? Those of its device that no owner has, in its device's numbers; none = every one has an
 * owner. Undefined = nothing has to be left out: no owner has a card that the device could use, or the machine shows no such card.
 * Source: SPEC 8 "Unset = all GPUs that no lane owns".
 */
export function selectFreeGpus(
  pools: readonly PoolReading[],
  device: Device,
  owners: readonly CardOwner[],
): readonly number[] | undefined {
  const owned = new Set(
    owners.flatMap((owner) =>
      usableCards(pools, owner.device).flatMap((card, nth) =>
        owner.gpus.includes(numberOf(card, nth, owner.device)) ? [card.id] : [],
      ),
    ),
  )
  const usable = usableCards(pools, device)
  if (!usable.some((card) => owned.has(card.id))) return undefined
  return usable.flatMap((card, nth) => (owned.has(card.id) ? [] : [numberOf(card, nth, device)]))
}

/** How a device counts its cards: Vulkan by their place in the list, the others per vendor. */
function numberOf(card: PoolReading, nth: number, device: Device): number {
  return device === 'gpu-vulkan' ? nth : (card.gpuIndex ?? nth)
}

function usableCards(pools: readonly PoolReading[], device: Device): readonly PoolReading[] {
  if (device === 'cpu' || device === 'npu') return []
  const cards = pools.filter((pool) => pool.kind !== 'host')
  return device === 'gpu-vulkan' ? cards : cards.filter((card) => card.vendor === VENDOR_OF[device])
}

/** What does it take, and where? Undefined = its need or its place is not known. */
export function footprintOf(pools: readonly PoolReading[], placed: Placed): Footprint | undefined {
  const { need, device } = placed
  if (need === undefined || need.kind === 'unknown') return undefined
  const choice = choosePools(pools, device, placed.gpus)
  if (choice.kind === 'none') return undefined
  const isOnGpu = choice.gpuIds.length > 0
  const gpuBytes = isOnGpu ? need.gpuBytes : 0
  const hostBytes = isOnGpu ? need.hostBytes : need.hostBytes + need.gpuBytes
  const cards = pools.filter((pool) => choice.gpuIds.includes(pool.id))
  const gpuShares = spread(cards, gpuBytes)
  let sharedBytes = hostBytes
  for (const card of cards) if (card.kind === 'unified') sharedBytes += gpuShares.get(card.id) ?? 0
  return { gpuIds: choice.gpuIds, gpuBytes, hostBytes, mappedBytes: need.mappedBytes, gpuShares, sharedBytes }
}

/** The pools that a slot touches, whatever its need; empty = not known. Main memory only where something of it is taken, or may be. */
export function touchedPools(pools: readonly PoolReading[], placed: Placed): readonly string[] {
  const choice = choosePools(pools, placed.device, placed.gpus)
  if (choice.kind === 'none') return []
  const takesHost = choice.gpuIds.length === 0 || placed.need?.kind !== 'known' || placed.need.hostBytes > 0
  return choice.hostId !== undefined && takesHost ? [...choice.gpuIds, choice.hostId] : choice.gpuIds
}

/** One name for each memory: main memory and all unified pools are one, every other card is its own. */
export function memoriesOf(pools: readonly PoolReading[], ids: Iterable<string>): ReadonlySet<string> {
  const kinds = new Map(pools.map((pool) => [pool.id, pool.kind]))
  return new Set([...ids].map((id) => (kinds.get(id) === 'vram' ? id : 'host')))
}

function spread(cards: readonly PoolReading[], bytes: number): ReadonlyMap<string, number> {
  const areSizesKnown = cards.every(({ totalBytes }) => totalBytes !== undefined && totalBytes > 0)
  const weightOf = (card: PoolReading) => (areSizesKnown ? (card.totalBytes ?? 1) : 1)
  const weight = cards.reduce((sum, card) => sum + weightOf(card), 0)
  return new Map(cards.map((card) => [card.id, (bytes * weightOf(card)) / weight]))
}
