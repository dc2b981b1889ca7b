import { KIB } from '../../kernel/units.ts'
import type { MemoryFigures } from './cgroup-limit.ts'
import { parseCount } from './parse-count.ts'
import { normalizePciAddress } from './pci-address.ts'

/** The figures of /proc/meminfo; undefined when it lacks one of the two lines. */
export function parseMeminfo(text: string): MemoryFigures | undefined {
  const totalBytes = kibLine(text, 'MemTotal', 'kB')
  const availableBytes = kibLine(text, 'MemAvailable', 'kB')
  if (totalBytes === undefined || totalBytes === 0 || availableBytes === undefined) return undefined
  return { totalBytes, availableBytes: Math.min(availableBytes, totalBytes) }
}

/** The processor of /proc/cpuinfo: its name (ARM has none) and how many threads it runs at once (0 = the text does not say). */
export function parseCpuinfo(text: string): { readonly model: string | undefined; readonly cores: number } {
  const model = /^model name\s*:\s*(\S.*?)\s*$/m.exec(text)?.[1]
  return { model, cores: text.match(/^processor\s*:\s*\d+$/gm)?.length ?? 0 }
}

/** What one open file of a graphics card says about the memory behind it (/proc/PID/fdinfo/FD of amdgpu). */
export interface DrmClient {
  readonly pciAddress: string
  /** The same client may have several open files. */
  readonly clientId: string
  readonly vramBytes: number
  readonly gttBytes: number
}

/** Undefined = no open file of amdgpu. `drm-memory-…` was renamed to `drm-resident-…` by newer kernels. */
export function parseDrmFdinfo(text: string): DrmClient | undefined {
  const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(text)?.[1]
  const pciAddress = normalizePciAddress(field('drm-pdev') ?? '')
  if (pciAddress === undefined || field('drm-driver') !== 'amdgpu') return undefined
  const bytes = (region: string) =>
    kibLine(text, `drm-memory-${region}`, 'KiB') ?? kibLine(text, `drm-resident-${region}`, 'KiB') ?? 0
  return { pciAddress, clientId: field('drm-client-id') ?? '', vramBytes: bytes('vram'), gttBytes: bytes('gtt') }
}

function kibLine(text: string, name: string, unit: 'kB' | 'KiB'): number | undefined {
  const digits = new RegExp(`^${name}:\\s*(\\d+) ${unit}\\s*$`, 'm').exec(text)?.[1]
  const bytes = (parseCount(digits ?? '') ?? Number.NaN) * KIB
  return Number.isSafeInteger(bytes) ? bytes : undefined
}
