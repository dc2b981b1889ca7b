import type { GpuRow, Hardware, MemoryPoolRow } from '../contract/hardware.ts'
import { GIB, gibText } from '../kernel/units.ts'
import type { Finding, Machine } from './finding.ts'
import { readHostFigures } from './memory.ts'
import { ignoreProblem } from './read-fact.ts'
import { NVIDIA_CARDS_QUERY, type NvidiaCard, parseNvidiaCards } from './rules/parse-nvidia-smi.ts'
import type { CommandResult } from './run-command.ts'

/** Below this, not even a small model and its context fit. */
const LITTLE_MEMORY_BYTES = 1 * GIB

/** Which graphics cards are there, and how much memory do they have free? An NPU is named beside them. */
export function findGpu({ gpus, pools, npu, problems }: Hardware): Finding {
  const cards = gpus.map((gpu) =>
    gpuText(
      gpu,
      pools.find((pool) => pool.id === gpu.pool),
    ),
  )
  const npus = npu === null ? [] : [`NPU ${npu.name ?? 'of AMD'} (${npu.device})`]
  // nvidia-smi and main memory have lines of their own.
  const unread = problems.filter((problem) => problem.includes('/sys/class/drm/') || problem.startsWith('rocm-smi'))
  return {
    name: 'gpu',
    ok: gpus.length > 0,
    required: false,
    found: [...(cards.length > 0 ? cards : ['no graphics card in /sys/class/drm']), ...npus, ...unread].join('; '),
    gives: 'larger models at useful speed, through a llama-server built for it',
  }
}

function gpuText(gpu: GpuRow, pool: MemoryPoolRow | undefined): string {
  const name = gpu.name === null ? gpu.vendor : withMaker(gpu.vendor, gpu.name)
  const where = gpu.pci_address === null ? '' : ` at ${gpu.pci_address}`
  return `${name} (gpu_index ${gpu.index})${where}, ${memoryText(pool)}`
}

function withMaker(vendor: GpuRow['vendor'], name: string): string {
  return vendor === 'unknown maker' || name.toLowerCase().includes(vendor.toLowerCase()) ? name : `${vendor} ${name}`
}

function memoryText(pool: MemoryPoolRow | undefined): string {
  if (pool === undefined || pool.total_bytes === null) return 'memory unknown'
  const shared = pool.kind === 'unified' ? ', shared with main memory' : ''
  const free =
    pool.free_bytes === null
      ? `${gibText(pool.total_bytes)}, free unknown`
      : freeText(pool.free_bytes, pool.total_bytes)
  return free + shared
}

function freeText(freeBytes: number, totalBytes: number): string {
  return `${gibText(freeBytes)} of ${gibText(totalBytes)} free`
}

/** Does NVIDIA's own tool answer? Without it hal0 cannot see how much memory those cards have free. */
export async function findNvidiaSmi(machine: Pick<Machine, 'run'>): Promise<Finding> {
  const base = { name: 'nvidia-smi', required: false, gives: 'names and free memory of NVIDIA cards' }
  return { ...base, ...smiText(await machine.run('nvidia-smi', NVIDIA_CARDS_QUERY)) }
}

function smiText(result: CommandResult): Pick<Finding, 'ok' | 'found'> {
  if (result.kind === 'missing') return { ok: false, found: 'no nvidia-smi on PATH' }
  if (result.kind === 'failed') return { ok: false, found: `nvidia-smi: ${result.reason}` }
  const { cards, strange } = parseNvidiaCards(result.stdout)
  if (cards.length > 0) return { ok: true, found: cards.map(cardText).join('; ') }
  const [line] = strange
  return { ok: false, found: line === undefined ? 'nvidia-smi lists no card' : `nvidia-smi: ${line}` }
}

function cardText({ name = 'unnamed card', memory }: NvidiaCard): string {
  switch (memory.kind) {
    case 'own':
      return `${name}, ${gibText(memory.totalBytes)}`
    case 'shared':
      return `${name}, no memory of its own`
    case 'unknown':
      return `${name}, memory unknown`
  }
}

/** How much host memory is there, for hal0? */
export async function findMemory(machine: Pick<Machine, 'root'>): Promise<Finding> {
  const base = { name: 'memory', required: false, gives: 'room for weights and context of models on the CPU' }
  const { machine: whole, own } = await readHostFigures(machine.root, ignoreProblem)
  if (whole === undefined || own === undefined) return { ...base, ok: false, found: '/proc/meminfo could not be read' }
  const limit =
    own.totalBytes < whole.totalBytes ? `; a cgroup limits the ${gibText(whole.totalBytes)} of this machine` : ''
  const text = `${gibText(own.availableBytes)} of ${gibText(own.totalBytes)} available${limit}`
  const ok = own.availableBytes >= LITTLE_MEMORY_BYTES
  return { ...base, ok, found: ok ? text : `only ${text}` }
}
