import { readdir, readlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Hardware } from '../contract/hardware.ts'
import { ignoreProblem, type ReportProblem, readFact } from './read-fact.ts'

const NPU_DRIVER = 'amdxdna'
const AMD_VENDOR = '0x1022'

/** The AMD NPU under `<root>/sys/class/accel`, the first when there are several; other accelerators are none of FLM's. Never rejects. */
export async function readNpu(root: string, problem: ReportProblem): Promise<Hardware['npu']> {
  const folder = join(root, 'sys/class/accel')
  const entries = await readdir(folder).catch(() => [])
  const nodes = entries.filter((entry) => /^accel\d+$/.test(entry))
  nodes.sort((a, b) => Number(a.slice(5)) - Number(b.slice(5)))
  for (const node of nodes) {
    const device = join(folder, node, 'device')
    const driver = await readlink(join(device, 'driver')).catch(() => undefined)
    const isNpu =
      driver === undefined
        ? (await readFact(join(device, 'vendor'), problem)) === AMD_VENDOR
        : basename(driver) === NPU_DRIVER
    if (!isNpu) continue
    const name = await readFact(join(device, 'vbnv'), ignoreProblem)
    return { name: name === undefined || name === '' ? null : name, device: `/dev/accel/${node}` }
  }
  return null
}
