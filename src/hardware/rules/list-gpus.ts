import type { GpuRow, MemoryPoolRow } from '../../contract/hardware.ts'
import { type AmdTraits, amdPool, isUnifiedAmd, type PoolSize } from './amd-memory.ts'
import type { MemoryFigures } from './cgroup-limit.ts'
import type { NvidiaCard } from './parse-nvidia-smi.ts'
import type { AmdMemory } from './parse-rocm-smi.ts'
import { comparePciAddresses } from './pci-address.ts'

/** A GPU as the kernel lists it under /sys/class/drm. */
export interface DrmCard {
  /** `card0`, `renderD128`. */
  readonly node: string
  readonly vendor: GpuRow['vendor']
  /** Normalized. */
  readonly pciAddress: string | undefined
  /** The kernel driver; undefined = not told. */
  readonly driver: string | undefined
  readonly name: string | undefined
  readonly memory: AmdMemory
  readonly traits: AmdTraits
}

/** Main memory as GPUs see it; undefined = cannot be read. */
export interface HostFigures {
  /** Of the machine. */
  readonly machine: MemoryFigures | undefined
  /** What hal0 may use of it: container limits count. */
  readonly own: MemoryFigures | undefined
}

/** A GPU with all that is known of it. */
export interface Gpu {
  /** Per vendor, as `gpu_index` of a slot. */
  readonly index: number
  /** `gpu0` … */
  readonly pool: string
  readonly vendor: GpuRow['vendor']
  readonly pciAddress: string | undefined
  readonly name: string | undefined
  readonly kind: Exclude<MemoryPoolRow['kind'], 'host'>
  readonly size: PoolSize
  readonly gttTotalBytes: number | undefined
  /** What its sensors are found by; undefined = the kernel does not list it. */
  readonly node: string | undefined
  /** What nvidia-smi says; undefined = nothing. */
  readonly smi: NvidiaCard | undefined
}

interface Found {
  readonly card: DrmCard | undefined
  readonly smi: NvidiaCard | undefined
}

/** Drivers that serve a vendor's cards without its compute stack: those cards are not counted by it. */
const COMPUTE_DRIVERS: Readonly<Partial<Record<GpuRow['vendor'], string>>> = { AMD: 'amdgpu', NVIDIA: 'nvidia' }

/** Vendors with a compute stack first, so that on the usual machine `gpu1` is the card of `gpu_index` 1. */
const VENDOR_ORDER: Readonly<Record<GpuRow['vendor'], number>> = { AMD: 0, NVIDIA: 1, Intel: 2, 'unknown maker': 3 }

/**
 * Which GPUs are there, in what order? By vendor (AMD, NVIDIA, Intel, others), then by PCI address, those without one last. `index` counts per
 * vendor, as CUDA does under CUDA_DEVICE_ORDER=PCI_BUS_ID and as ROCR does; cards that the vendor's compute stack does not see come after those
 * that it sees. `smi` undefined = nvidia-smi has never told of cards.
 */
export function listGpus(
  cards: readonly DrmCard[],
  smi: readonly NvidiaCard[] | undefined,
  host: HostFigures,
): readonly Gpu[] {
  const found = join(cards, smi ?? []).toSorted(
    (a, b) =>
      VENDOR_ORDER[vendorOf(a)] - VENDOR_ORDER[vendorOf(b)] ||
      Number(isUncounted(a, smi)) - Number(isUncounted(b, smi)) ||
      comparePciAddresses(addressOf(a), addressOf(b)),
  )
  return found.map((one, position) => ({
    index: position - found.findIndex((other) => vendorOf(other) === vendorOf(one)),
    pool: `gpu${position}`,
    vendor: vendorOf(one),
    pciAddress: addressOf(one),
    name: one.smi?.name ?? one.card?.name,
    ...memoryOf(one, host),
    gttTotalBytes: one.card?.memory.gttTotalBytes,
    node: one.card?.node,
    smi: one.smi,
  }))
}

function join(cards: readonly DrmCard[], smi: readonly NvidiaCard[]): readonly Found[] {
  const left = new Set(smi)
  const take = (row: NvidiaCard | undefined): NvidiaCard | undefined => {
    if (row !== undefined) left.delete(row)
    return row
  }
  const isNvidia = (card: DrmCard) => card.vendor === 'NVIDIA'
  const placed = cards.map((card): Found => {
    const isPlaced = isNvidia(card) && card.pciAddress !== undefined
    return { card, smi: isPlaced ? take(smi.find((row) => row.pciAddress === card.pciAddress)) : undefined }
  })
  const found = placed.map((one): Found => {
    const isLoose = one.card !== undefined && isNvidia(one.card) && one.card.pciAddress === undefined
    return isLoose ? { card: one.card, smi: take([...left][0]) } : one
  })
  // Not every driver makes a node under /sys/class/drm.
  for (const row of left) found.push({ card: undefined, smi: row })
  return found
}

function addressOf(found: Found): string | undefined {
  return found.card?.pciAddress ?? found.smi?.pciAddress
}

function vendorOf(found: Found): GpuRow['vendor'] {
  return found.card?.vendor ?? 'NVIDIA'
}

function isUncounted({ card, smi: row }: Found, smi: readonly NvidiaCard[] | undefined): boolean {
  if (row !== undefined || card === undefined) return false
  if (card.vendor === 'NVIDIA' && smi !== undefined) return true
  const expected = COMPUTE_DRIVERS[card.vendor]
  return expected !== undefined && card.driver !== undefined && card.driver !== expected
}

function memoryOf({ card, smi }: Found, host: HostFigures): Pick<Gpu, 'kind' | 'size'> {
  if (smi !== undefined) {
    const { memory } = smi
    if (memory.kind === 'shared') {
      return { kind: 'unified', size: { totalBytes: host.own?.totalBytes, freeBytes: host.own?.availableBytes } }
    }
    if (memory.kind === 'own') return { kind: 'vram', size: memory }
    return { kind: 'vram', size: { totalBytes: undefined, freeBytes: undefined } }
  }
  if (card === undefined) return { kind: 'vram', size: { totalBytes: undefined, freeBytes: undefined } }
  const isUnified = isUnifiedAmd(card.memory, card.traits)
  const size = amdPool(card.memory, isUnified, host.machine?.availableBytes)
  return { kind: isUnified ? 'unified' : 'vram', size }
}
