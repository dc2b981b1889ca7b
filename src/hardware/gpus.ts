import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename, join } from 'node:path'

/** One graphics card as the kernel lists it. */
export interface Gpu {
  /** `card0`, as in /sys/class/drm. */
  readonly card: string
  /** PCI id of the maker, for example `0x1002`. */
  readonly vendorId: string
  readonly vendor: 'AMD' | 'NVIDIA' | 'Intel' | 'unknown maker'
  /** `0000:03:00.0`; undefined when the card is no PCI device. */
  readonly pciAddress: string | undefined
  /** Memory of the card itself in bytes; only amdgpu says it here. */
  readonly vramBytes: number | undefined
}

const VENDORS: Readonly<Record<string, Gpu['vendor']>> = { '0x1002': 'AMD', '0x10de': 'NVIDIA', '0x8086': 'Intel' }

/** The cards under `<root>/sys/class/drm`, in card order; empty when there are none or the folder cannot be read. Never rejects. */
export async function readGpus(root: string): Promise<readonly Gpu[]> {
  const folder = join(root, 'sys/class/drm')
  const entries = await readdir(folder).catch(() => [])
  const cards = entries.filter((entry) => /^card\d+$/.test(entry))
  cards.sort((a, b) => Number(a.slice(4)) - Number(b.slice(4)))
  const gpus = await Promise.all(cards.map((card) => readGpu(folder, card)))
  return gpus.filter((gpu) => gpu !== undefined)
}

async function readGpu(folder: string, card: string): Promise<Gpu | undefined> {
  const device = join(folder, card, 'device')
  const vendorId = await readText(join(device, 'vendor'))
  // A display without a PCI vendor (virtual, simple framebuffer) cannot run a model.
  if (vendorId === undefined) return undefined
  const target = await readlink(device).catch(() => undefined)
  const address = target === undefined ? undefined : basename(target)
  const vram = Number(await readText(join(device, 'mem_info_vram_total')))
  return {
    card,
    vendorId,
    vendor: VENDORS[vendorId.toLowerCase()] ?? 'unknown maker',
    pciAddress: address !== undefined && /^[0-9a-f]{4}:/i.test(address) ? address : undefined,
    vramBytes: Number.isFinite(vram) && vram > 0 ? vram : undefined,
  }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch {
    return undefined
  }
}
