import { readdir, readFile, readlink, realpath } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ignoreProblem, type ReportProblem, readCount, readFact } from './read-fact.ts'
import type { AmdTraits } from './rules/amd-memory.ts'
import { amdNameIn } from './rules/amd-names.ts'
import type { DrmCard } from './rules/list-gpus.ts'
import { parsePercent, parseTemperature } from './rules/parse-count.ts'
import type { AmdMemory } from './rules/parse-rocm-smi.ts'
import { normalizePciAddress, pciAddressIn } from './rules/pci-address.ts'

const VENDORS: Readonly<Record<string, DrmCard['vendor']>> = { '0x1002': 'AMD', '0x10de': 'NVIDIA', '0x8086': 'Intel' }

const NO_MEMORY: AmdMemory = {
  vramTotalBytes: undefined,
  vramUsedBytes: undefined,
  gttTotalBytes: undefined,
  gttUsedBytes: undefined,
}

/** libdrm's list of names: Debian's and Fedora's place, and the one of AMD's own packages. */
const NAME_LISTS = ['usr/share/libdrm/amdgpu.ids', 'opt/amdgpu/share/libdrm/amdgpu.ids'] as const

/**
 * The GPUs under `<root>/sys/class/drm`, in the order of the kernel's numbers; those that only render come after those with a display.
 * Empty when there are none. Never rejects.
 */
export async function readGpus(root: string, problem: ReportProblem): Promise<readonly DrmCard[]> {
  const folder = join(root, 'sys/class/drm')
  const entries = await readdir(folder).catch(() => [])
  const cards = await readNodes(folder, numbered(entries, 'card'), problem)
  const seen = new Set(cards.map((card) => card.pciAddress))
  const renderers = await readNodes(folder, numbered(entries, 'renderD'), ignoreProblem)
  // A card has both nodes. Without an address it cannot be told whose a second node is.
  const alone = renderers.filter((node) => node.pciAddress !== undefined && !seen.has(node.pciAddress))
  const gpus = [...cards, ...alone]
  const lists = gpus.some(isNameless)
    ? await Promise.all(NAME_LISTS.map((path) => readFact(join(root, path), problem)))
    : []
  return Promise.all(gpus.map((gpu) => withName(folder, gpu, lists.join('\n'))))
}

function numbered(entries: readonly string[], prefix: string): readonly string[] {
  const nodes = entries.filter((entry) => entry.startsWith(prefix) && /^\d+$/.test(entry.slice(prefix.length)))
  return nodes.toSorted((a, b) => Number(a.slice(prefix.length)) - Number(b.slice(prefix.length)))
}

async function readNodes(
  folder: string,
  nodes: readonly string[],
  problem: ReportProblem,
): Promise<readonly DrmCard[]> {
  const cards = await Promise.all(nodes.map((node) => readNode(folder, node, problem)))
  return cards.filter((card) => card !== undefined)
}

async function readNode(folder: string, node: string, problem: ReportProblem): Promise<DrmCard | undefined> {
  const device = join(folder, node, 'device')
  const vendorId = await readFact(join(device, 'vendor'), problem)
  // A display without a vendor (simple framebuffer) cannot run a model.
  if (vendorId === undefined) return undefined
  const vendor = VENDORS[vendorId.toLowerCase()] ?? 'unknown maker'
  const [uevent = '', place, driver, name] = await Promise.all([
    readFact(join(device, 'uevent'), ignoreProblem),
    realpath(device).catch(() => ''),
    readlink(join(device, 'driver')).catch(() => undefined),
    readFact(join(device, 'product_name'), ignoreProblem),
  ])
  const told = /^PCI_SLOT_NAME=(.+)$/m.exec(uevent)?.[1]
  const isAmd = vendor === 'AMD'
  return {
    node,
    vendor,
    pciAddress: normalizePciAddress(told ?? '') ?? pciAddressIn(place),
    driver: driver === undefined ? /^DRIVER=(.+)$/m.exec(uevent)?.[1] : basename(driver),
    name: name === '' ? undefined : name,
    memory: isAmd ? await readAmdMemory(device, problem) : NO_MEMORY,
    traits: isAmd ? await readAmdTraits(device) : { memoryMaker: undefined, metricsFormat: undefined },
  }
}

async function readAmdMemory(device: string, problem: ReportProblem): Promise<AmdMemory> {
  const read = (name: string) => readCount(join(device, name), problem)
  const [vramTotalBytes, vramUsedBytes, gttTotalBytes, gttUsedBytes] = await Promise.all([
    read('mem_info_vram_total'),
    read('mem_info_vram_used'),
    read('mem_info_gtt_total'),
    read('mem_info_gtt_used'),
  ])
  if (isMore(vramUsedBytes, vramTotalBytes)) problem(`${join(device, 'mem_info_vram_used')} says more than there is`)
  if (isMore(gttUsedBytes, gttTotalBytes)) problem(`${join(device, 'mem_info_gtt_used')} says more than there is`)
  return { vramTotalBytes, vramUsedBytes, gttTotalBytes, gttUsedBytes }
}

function isMore(used: number | undefined, total: number | undefined): boolean {
  return used !== undefined && total !== undefined && used > total
}

async function readAmdTraits(device: string): Promise<AmdTraits> {
  const memoryMaker = await readFact(join(device, 'mem_info_vram_vendor'), ignoreProblem)
  // Asking for metrics may wake a card that sleeps, so it is not asked where the maker has told already.
  if (memoryMaker !== undefined && memoryMaker !== 'unknown') return { memoryMaker, metricsFormat: undefined }
  // Its head: size (2 bytes), format (1 byte), content (1 byte).
  const metrics = await readFile(join(device, 'gpu_metrics')).catch(() => undefined)
  return { memoryMaker, metricsFormat: metrics?.[2] }
}

function isNameless(gpu: DrmCard): boolean {
  return gpu.vendor === 'AMD' && gpu.name === undefined
}

async function withName(folder: string, gpu: DrmCard, lists: string): Promise<DrmCard> {
  if (!isNameless(gpu)) return gpu
  const device = join(folder, gpu.node, 'device')
  const read = (name: string) => readFact(join(device, name), ignoreProblem)
  const [deviceId, revision] = await Promise.all([read('device'), read('revision')])
  if (deviceId === undefined || revision === undefined) return gpu
  return { ...gpu, name: amdNameIn(lists, deviceId, revision) }
}

/** What the sensors of a card say. Null = nothing. */
export interface Sensors {
  /** Percent. */
  readonly busy: number | null
  /** °C. */
  readonly temperature: number | null
}

/** The sensors of `<root>/sys/class/drm/<node>`; asking may wake a card that sleeps. Never rejects. */
export async function readSensors(root: string, node: string, problem: ReportProblem): Promise<Sensors> {
  const device = join(root, 'sys/class/drm', node, 'device')
  const monitors = await readdir(join(device, 'hwmon')).catch(() => [])
  // A sleeping card refuses to be read; that is no mistake. Words where a number belongs are one.
  const read = async (path: string, parse: (text: string) => number | undefined) => {
    const text = await readFact(path, ignoreProblem)
    return text === undefined ? undefined : readCount(path, problem, parse)
  }
  const [busy, ...temperatures] = await Promise.all([
    read(join(device, 'gpu_busy_percent'), parsePercent),
    ...monitors.map((monitor) =>
      read(join(device, 'hwmon', monitor, 'temp1_input'), (text) => parseTemperature(text, 1000)),
    ),
  ])
  return { busy: busy ?? null, temperature: temperatures.find((value) => value !== undefined) ?? null }
}
