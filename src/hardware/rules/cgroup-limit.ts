import { parseCount } from './parse-count.ts'

/** The memory cgroups that a process is in, in one hierarchy. */
export interface CgroupChain {
  readonly version: 'v1' | 'v2'
  /** Absolute folders, from the process's own group up to the one at the mount point. */
  readonly folders: readonly string[]
}

/** The files of a memory cgroup, per version. `idleCache`: the line of `stat` that counts file cache which is given back for the asking. */
export const CGROUP_FILES = {
  v1: {
    limit: 'memory.limit_in_bytes',
    used: 'memory.usage_in_bytes',
    stat: 'memory.stat',
    idleCache: 'total_inactive_file',
  },
  v2: { limit: 'memory.max', used: 'memory.current', stat: 'memory.stat', idleCache: 'inactive_file' },
} as const

/** Where they are when /proc/self/mountinfo does not tell. */
const USUAL_MOUNTS = { v1: '/sys/fs/cgroup/memory', v2: '/sys/fs/cgroup' } as const

/** Which memory cgroups bind this process? From the texts of /proc/self/cgroup and /proc/self/mountinfo; one that cannot be read is ''. */
export function cgroupChains(cgroupText: string, mountinfoText: string): readonly CgroupChain[] {
  return cgroupText.split('\n').flatMap((line): readonly CgroupChain[] => {
    const [id = '', controllers = '', ...rest] = line.split(':')
    const path = rest.join(':')
    const isV2 = id === '0' && controllers === ''
    if (path === '' || (!isV2 && !controllers.split(',').includes('memory'))) return []
    const version = isV2 ? 'v2' : 'v1'
    const mount = mountOf(version, mountinfoText) ?? { root: '/', at: USUAL_MOUNTS[version] }
    return [{ version, folders: foldersUpTo(mount.at, insideMount(path, mount.root)) }]
  })
}

interface CgroupMount {
  /** Which folder of the hierarchy is seen at the mount point. */
  readonly root: string
  readonly at: string
}

/** mountinfo: `id parent major:minor root mount-point options … - type source super-options`. The last mount of a kind hides those before. */
function mountOf(version: CgroupChain['version'], mountinfoText: string): CgroupMount | undefined {
  return mountinfoText
    .split('\n')
    .flatMap((line) => {
      const [mount = '', filesystem = ''] = line.split(' - ')
      const [type, , superOptions = ''] = filesystem.split(' ')
      const fits =
        version === 'v2' ? type === 'cgroup2' : type === 'cgroup' && superOptions.split(',').includes('memory')
      const [, , , root, at] = mount.split(' ')
      return fits && root !== undefined && at !== undefined ? [{ root, at }] : []
    })
    .at(-1)
}

/** A container's own mount begins at its own group, while the path may be told from the machine's root. */
function insideMount(path: string, root: string): readonly string[] {
  const inside = root !== '/' && (path === root || path.startsWith(`${root}/`)) ? path.slice(root.length) : path
  // `/../x`: a group outside of what this process may see; what it can see of it is the mount point.
  return inside.includes('/..') ? [] : inside.split('/').filter((part) => part !== '')
}

function foldersUpTo(mountPoint: string, parts: readonly string[]): readonly string[] {
  return [...parts.keys(), parts.length].toReversed().map((count) => [mountPoint, ...parts.slice(0, count)].join('/'))
}

/** One memory cgroup, in bytes; undefined = unlimited, or not told. */
export interface CgroupLevel {
  readonly limitBytes: number | undefined
  readonly usedBytes: number | undefined
  /** Part of `usedBytes`: file cache that nobody has used for a while. */
  readonly idleCacheBytes: number | undefined
}

/** Reads one number of a `memory.stat`. */
export function statLine(text: string, name: string): number | undefined {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
  return line === undefined ? undefined : parseCount(line.slice(name.length))
}

/** Memory in bytes. `availableBytes`: what a new program can get without swapping. */
export interface MemoryFigures {
  readonly totalBytes: number
  readonly availableBytes: number
}

/**
 * How much memory is there under these cgroups? The tightest level decides, for the total and for what is available each by itself. Inactive
 * file cache is given back before anybody is refused, so it is not counted as used. A level whose use is not told limits with its whole size.
 */
export function withinCgroups(host: MemoryFigures, levels: readonly CgroupLevel[]): MemoryFigures {
  let { totalBytes, availableBytes } = host
  for (const { limitBytes, usedBytes, idleCacheBytes } of levels) {
    if (limitBytes === undefined) continue
    const heldBytes = Math.max(0, (usedBytes ?? 0) - (idleCacheBytes ?? 0))
    totalBytes = Math.min(totalBytes, limitBytes)
    availableBytes = Math.min(availableBytes, Math.max(0, limitBytes - heldBytes))
  }
  return { totalBytes, availableBytes }
}
