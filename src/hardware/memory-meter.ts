import type { GpuRow, MemoryPoolRow } from '../contract/hardware.ts'
import type { HardwareSources, MachineLook } from './hardware-sources.ts'

/** A pool of memory as the meter reads it. */
export interface MemoryPool {
  /** `host`, `gpu0` … */
  readonly id: string
  readonly kind: MemoryPoolRow['kind']
  readonly vendor: GpuRow['vendor'] | undefined
  /** As `gpu_index` of a slot counts: per vendor, in PCI order; undefined = host. */
  readonly gpuIndex: number | undefined
  /** Undefined = cannot be read. */
  readonly totalBytes: number | undefined
  readonly freeBytes: number | undefined
}

/** Free memory of this machine, read at each call. Never rejects: what cannot be read is undefined. Source: SPEC 7 "Free memory". */
export interface MemoryMeter {
  /** `host` first, then the GPUs by vendor and in PCI order. Never older than half a second before the call. */
  read(): Promise<readonly MemoryPool[]>
}

/** The real meter. Calls at one time share one read; a GPU keeps its pool's id also while its driver does not answer. */
export function createMemoryMeter(sources: Pick<HardwareSources, 'look'>): MemoryMeter {
  return { read: async () => poolsOf(await sources.look()) }
}

/** Every pool of a look at the machine: `host` first. */
export function poolsOf({ host, gpus }: MachineLook): readonly MemoryPool[] {
  const main: MemoryPool = {
    id: 'host',
    kind: 'host',
    vendor: undefined,
    gpuIndex: undefined,
    totalBytes: host.own?.totalBytes,
    freeBytes: host.own?.availableBytes,
  }
  return [
    main,
    ...gpus.map((gpu) => ({
      id: gpu.pool,
      kind: gpu.kind,
      vendor: gpu.vendor,
      gpuIndex: gpu.index,
      totalBytes: gpu.size.totalBytes,
      freeBytes: gpu.size.freeBytes,
    })),
  ]
}
