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
  readonly gpuIndex: number | undefined
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
 * the list. `gpuIndex` picks one of them; without it all of them count together. Where the machine shows no such card the engine computes in
 * main memory, so that is what counts. Source: SPEC 7 "Free memory", 8.
 */
export function choosePools(pools: readonly PoolReading[], device: Device, gpuIndex: number | undefined): PoolChoice {
  const hostId = pools.find((pool) => pool.kind === 'host')?.id
  const usable = usableCards(pools, device)
  if (usable.length === 0) {
    return hostId === undefined
      ? { kind: 'none', reason: 'main memory cannot be read' }
      : { kind: 'pools', gpuIds: [], hostId }
  }
  if (gpuIndex === undefined) return { kind: 'pools', gpuIds: usable.map((card) => card.id), hostId }
  const picked =
    device === 'gpu-vulkan' ? usable[gpuIndex] : usable.find((card, nth) => (card.gpuIndex ?? nth) === gpuIndex)
  if (picked === undefined) {
    return {
      kind: 'none',
      reason: `gpu_index ${gpuIndex} is out of range: ${usable.length} GPU(s) for device ${device} are known`,
    }
  }
  return { kind: 'pools', gpuIds: [picked.id], hostId }
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
  const choice = choosePools(pools, device, placed.gpuIndex)
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
  const choice = choosePools(pools, placed.device, placed.gpuIndex)
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
