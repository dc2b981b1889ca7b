import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { HardwareSources } from './hardware-sources.ts'
import { readProgramName } from './program-name.ts'
import { ignoreProblem, readFact } from './read-fact.ts'
import type { Gpu } from './rules/list-gpus.ts'
import { type CardProcess, NVIDIA_PROCESSES_QUERY, parseNvidiaProcesses } from './rules/parse-nvidia-smi.ts'
import { type DrmClient, parseDrmFdinfo } from './rules/parse-proc.ts'

/** A process that holds memory of a GPU. */
export interface GpuProcess {
  readonly pid: number
  /** Name of its program file, without folder and arguments. */
  readonly program: string
  /** The pool's id: `gpu0` … */
  readonly pool: string
  /** Undefined = the driver does not tell. */
  readonly bytes: number | undefined
}

/**
 * Who holds memory of the GPUs? The largest first. For messages only: processes of other users may be missing, and it looks at every process of the
 * machine. Never rejects; whatever cannot be read is left out.
 */
export async function listGpuProcesses(sources: HardwareSources): Promise<readonly GpuProcess[]> {
  const { root, run } = sources.machine
  const { gpus } = await sources.look()
  const hasNvidia = gpus.some((gpu) => gpu.smi !== undefined)
  const hasAmd = gpus.some((gpu) => gpu.vendor === 'AMD')
  const [nvidia, amd] = await Promise.all([
    hasNvidia ? run('nvidia-smi', NVIDIA_PROCESSES_QUERY).catch(() => undefined) : undefined,
    hasAmd ? amdProcesses(root, gpus) : [],
  ])
  const found = [...(nvidia?.kind === 'ok' ? parseNvidiaProcesses(nvidia.stdout) : []), ...amd]
  const processes = await Promise.all(
    found.map(async ({ pid, pciAddress, bytes }) => {
      const gpu = gpus.find((one) => one.pciAddress === pciAddress)
      if (gpu === undefined) return undefined
      return { pid, program: await readProgramName(join(root, 'proc', String(pid))), pool: gpu.pool, bytes }
    }),
  )
  return processes.filter((one) => one !== undefined).toSorted((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0))
}

async function amdProcesses(root: string, gpus: readonly Gpu[]): Promise<readonly CardProcess[]> {
  const entries = await readdir(join(root, 'proc')).catch(() => [])
  const found: CardProcess[] = []
  // One process after the other: a machine has thousands, each with many files.
  for (const pid of entries.filter((entry) => /^\d+$/.test(entry))) {
    for (const [pciAddress, bytes] of await heldBy(join(root, 'proc', pid), gpus)) {
      if (bytes > 0) found.push({ pid: Number(pid), pciAddress, bytes })
    }
  }
  return found
}

/** Bytes by PCI address; a client with several open files counts once. */
async function heldBy(folder: string, gpus: readonly Gpu[]): Promise<ReadonlyMap<string, number>> {
  const clients = new Map<string, DrmClient>()
  for (const fd of await readdir(join(folder, 'fd')).catch(() => [])) {
    const target = await readlink(join(folder, 'fd', fd)).catch(() => '')
    if (!target.startsWith('/dev/dri/')) continue
    const client = parseDrmFdinfo((await readFact(join(folder, 'fdinfo', fd), ignoreProblem)) ?? '')
    if (client !== undefined) clients.set(`${client.pciAddress} ${client.clientId}`, client)
  }
  const held = new Map<string, number>()
  for (const { pciAddress, vramBytes, gttBytes } of clients.values()) {
    const isUnified = gpus.some((gpu) => gpu.pciAddress === pciAddress && gpu.kind === 'unified')
    held.set(pciAddress, (held.get(pciAddress) ?? 0) + vramBytes + (isUnified ? gttBytes : 0))
  }
  return held
}
