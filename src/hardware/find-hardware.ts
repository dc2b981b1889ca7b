import { GIB, MIB } from '../kernel/units.ts'
import type { Finding, Machine } from './finding.ts'
import { type Gpu, readGpus } from './gpus.ts'
import { readHostMemory } from './memory.ts'

/** Below this, not even a small model and its context fit. */
const LITTLE_MEMORY_BYTES = 1 * GIB

/** Which graphics cards does the kernel list? */
export async function findGpu(machine: Machine): Promise<Finding> {
  const gpus = await readGpus(machine.root)
  return {
    name: 'gpu',
    ok: gpus.length > 0,
    required: false,
    found: gpus.length > 0 ? gpus.map(gpuText).join('; ') : 'no graphics card in /sys/class/drm',
    gives: 'larger models at useful speed, through a llama-server built for it',
  }
}

function gpuText(gpu: Gpu): string {
  const maker = gpu.vendor === 'unknown maker' ? `unknown maker ${gpu.vendorId}` : gpu.vendor
  const where = gpu.pciAddress === undefined ? '' : ` at ${gpu.pciAddress}`
  const memory = gpu.vramBytes === undefined ? '' : `, ${Math.round(gpu.vramBytes / MIB)} MiB`
  return `${maker} (${gpu.card})${where}${memory}`
}

/** Does NVIDIA's own tool answer? Without it hal0 cannot see how much memory those cards have free. */
export async function findNvidiaSmi(machine: Machine): Promise<Finding> {
  const base = { name: 'nvidia-smi', required: false, gives: 'names and free memory of NVIDIA cards' }
  const result = await machine.run('nvidia-smi', ['--query-gpu=name,memory.total', '--format=csv,noheader,nounits'])
  switch (result.kind) {
    case 'missing':
      return { ...base, ok: false, found: 'no nvidia-smi on PATH' }
    case 'failed':
      return { ...base, ok: false, found: `nvidia-smi: ${result.reason}` }
    case 'ok': {
      const cards = result.stdout.split('\n').filter((line) => line.trim() !== '')
      return cards.length === 0
        ? { ...base, ok: false, found: 'nvidia-smi lists no card' }
        : { ...base, ok: true, found: cards.map(cardText).join('; ') }
    }
  }
}

function cardText(line: string): string {
  const [name = '', mib] = line.split(',').map((part) => part.trim())
  return mib === undefined ? name : `${name}, ${mib} MiB`
}

/** How much host memory is there? */
export async function findMemory(machine: Machine): Promise<Finding> {
  const base = { name: 'memory', required: false, gives: 'room for weights and context of models on the CPU' }
  const memory = await readHostMemory(machine.root)
  if (memory === undefined) return { ...base, ok: false, found: '/proc/meminfo could not be read' }
  const text = `${gib(memory.availableBytes)} of ${gib(memory.totalBytes)} GiB available`
  const ok = memory.availableBytes >= LITTLE_MEMORY_BYTES
  return { ...base, ok, found: ok ? text : `only ${text}` }
}

function gib(bytes: number): string {
  return (bytes / GIB).toFixed(1)
}
