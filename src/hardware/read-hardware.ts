import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { GpuRow, Hardware } from '../contract/hardware.ts'
import { readSensors } from './gpus.ts'
import type { HardwareSources } from './hardware-sources.ts'
import { poolsOf } from './memory-meter.ts'
import { readNpu } from './npu.ts'
import { type ReportProblem, readFact } from './read-fact.ts'
import { graphicsOfCpu } from './rules/amd-names.ts'
import type { Gpu } from './rules/list-gpus.ts'
import { parseCpuinfo } from './rules/parse-proc.ts'

/** What does this machine have, and how much of it is free? Never rejects: what cannot be read is null, its reason in `problems`. Source: SPEC 16. */
export async function readHardware(sources: HardwareSources): Promise<Hardware> {
  const { root } = sources.machine
  const problems: string[] = []
  const problem: ReportProblem = (line) => void problems.push(line)
  const [look, npu, cpuinfo = ''] = await Promise.all([
    sources.look(),
    readNpu(root, problem),
    readFact(join(root, 'proc/cpuinfo'), problem),
  ])
  const { model, cores } = parseCpuinfo(cpuinfo)
  const gpus = await Promise.all(look.gpus.map((gpu) => gpuRow(root, gpu, model, problem)))
  return {
    cpu: { model: model ?? null, cores: cores > 0 ? cores : availableParallelism() },
    pools: poolsOf(look).map((pool) => ({
      id: pool.id,
      kind: pool.kind,
      total_bytes: pool.totalBytes ?? null,
      free_bytes: pool.freeBytes ?? null,
    })),
    gpus,
    npu,
    problems: [...look.problems, ...problems],
  }
}

async function gpuRow(root: string, gpu: Gpu, cpuModel: string | undefined, problem: ReportProblem): Promise<GpuRow> {
  const sensors =
    gpu.node === undefined || gpu.smi !== undefined
      ? { busy: gpu.smi?.busy ?? null, temperature: gpu.smi?.temperature ?? null }
      : await readSensors(root, gpu.node, problem)
  const isApu = gpu.vendor === 'AMD' && gpu.kind === 'unified'
  return {
    index: gpu.index,
    vendor: gpu.vendor,
    name: gpu.name ?? (isApu ? graphicsOfCpu(cpuModel) : undefined) ?? null,
    pci_address: gpu.pciAddress ?? null,
    pool: gpu.pool,
    gtt_total_bytes: gpu.gttTotalBytes ?? null,
    ...sensors,
  }
}
