import { join } from 'node:path'
import { ignoreProblem, type ReportProblem, readFact } from './read-fact.ts'
import {
  CGROUP_FILES,
  type CgroupChain,
  type CgroupLevel,
  cgroupChains,
  type MemoryFigures,
  statLine,
  withinCgroups,
} from './rules/cgroup-limit.ts'
import type { HostFigures } from './rules/list-gpus.ts'
import { parseCount } from './rules/parse-count.ts'
import { parseMeminfo } from './rules/parse-proc.ts'

/**
 * Main memory that this process may use: the machine's, or less where a container or a service has a limit. `availableBytes` is what a new
 * program can get without swapping. Undefined = /proc/meminfo cannot be read or lacks the lines. Never rejects. Source: SPEC 7 "Free memory".
 */
export async function readHostMemory(root: string, problem = ignoreProblem): Promise<MemoryFigures | undefined> {
  return (await readHostFigures(root, problem)).own
}

/** Main memory of the machine, and what of it hal0 may use. Never rejects. */
export async function readHostFigures(root: string, problem: ReportProblem): Promise<HostFigures> {
  const path = join(root, 'proc/meminfo')
  const [meminfo, levels] = await Promise.all([readFact(path, ignoreProblem), readCgroups(root, problem)])
  const machine = parseMeminfo(meminfo ?? '')
  if (machine === undefined) {
    problem(meminfo === undefined ? `${path} cannot be read` : `${path} lacks MemTotal or MemAvailable`)
    return { machine, own: undefined }
  }
  return { machine, own: withinCgroups(machine, levels) }
}

async function readCgroups(root: string, problem: ReportProblem): Promise<readonly CgroupLevel[]> {
  const [cgroup = '', mountinfo = ''] = await Promise.all(
    ['cgroup', 'mountinfo'].map((name) => readFact(join(root, 'proc/self', name), problem)),
  )
  const folders = cgroupChains(cgroup, mountinfo).flatMap(({ version, folders: chain }) =>
    chain.map((folder) => ({ version, folder: join(root, folder) })),
  )
  return Promise.all(folders.map(({ version, folder }) => readCgroup(version, folder, problem)))
}

async function readCgroup(
  version: CgroupChain['version'],
  folder: string,
  problem: ReportProblem,
): Promise<CgroupLevel> {
  const files = CGROUP_FILES[version]
  const read = (name: string) => readFact(join(folder, name), problem)
  const [limit = '', used = '', stat = ''] = await Promise.all([read(files.limit), read(files.used), read(files.stat)])
  // "max", and in v1 a number beyond all memory, mean that there is no limit.
  return {
    limitBytes: parseCount(limit),
    usedBytes: parseCount(used),
    idleCacheBytes: statLine(stat, files.idleCache),
  }
}
