import { GIB } from '../../kernel/units.ts'
import type { AmdMemory } from './parse-rocm-smi.ts'

/** What tells an APU from a card. */
export interface AmdTraits {
  /** Who made the memory chips (`mem_info_vram_vendor`): only a card has chips of its own. Undefined or `unknown` says nothing. */
  readonly memoryMaker: string | undefined
  /** Format of the driver's `gpu_metrics` table: 1 = card, 2 and 3 = APU. Undefined = not told. */
  readonly metricsFormat: number | undefined
}

/** Where nothing else tells, more memory than this is taken for a card's own. Firmware sets aside 512 MiB unless it was told otherwise. */
const SMALL_CARVE_OUT_BYTES = 2 * GIB
/** … and so is memory that is not dwarfed by the share of main memory. */
const LARGE_SHARE_FACTOR = 4

/**
 * Does this GPU live from main memory? Every amdgpu device has a GTT, a share of main memory, also a card with memory of its own; there it
 * does not count. Numbered, as in docs/hardware.md:
 * 1. Memory chips with a maker's name: a card of its own.
 * 2. The driver's metrics are those of a card: a card of its own. Those of an APU: unified while the carve-out is smaller than the share.
 * 3. Nothing of that is told: unified when the carve-out is at most 2 GiB and the share at least four times as large.
 */
export function isUnifiedAmd(memory: AmdMemory, traits: AmdTraits): boolean {
  const { vramTotalBytes, gttTotalBytes } = memory
  if (vramTotalBytes === undefined || gttTotalBytes === undefined || gttTotalBytes === 0) return false
  if (traits.memoryMaker !== undefined && traits.memoryMaker !== 'unknown') return false
  if (traits.metricsFormat === 1) return false
  if (traits.metricsFormat !== undefined) return vramTotalBytes < gttTotalBytes
  return vramTotalBytes <= SMALL_CARVE_OUT_BYTES && gttTotalBytes >= LARGE_SHARE_FACTOR * vramTotalBytes
}

/** A pool's size and what of it is free, in bytes; undefined = cannot be told. */
export interface PoolSize {
  readonly totalBytes: number | undefined
  readonly freeBytes: number | undefined
}

/**
 * A card: its own memory. Unified: carve-out and share together, where of the share only that is free which main memory really has left
 * (`hostAvailableBytes`, of the machine: a container's limit does not bind what the driver takes).
 */
export function amdPool(memory: AmdMemory, isUnified: boolean, hostAvailableBytes: number | undefined): PoolSize {
  const vramFree = difference(memory.vramTotalBytes, memory.vramUsedBytes)
  if (!isUnified) {
    const totalBytes = memory.vramTotalBytes === 0 ? undefined : memory.vramTotalBytes
    return { totalBytes, freeBytes: totalBytes === undefined ? undefined : vramFree }
  }
  const gttFree = difference(memory.gttTotalBytes, memory.gttUsedBytes)
  const isKnown = vramFree !== undefined && gttFree !== undefined && hostAvailableBytes !== undefined
  return {
    totalBytes: sum(memory.vramTotalBytes, memory.gttTotalBytes),
    freeBytes: isKnown ? vramFree + Math.min(gttFree, hostAvailableBytes) : undefined,
  }
}

function difference(total: number | undefined, used: number | undefined): number | undefined {
  return total === undefined || used === undefined || used > total ? undefined : total - used
}

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b
}
