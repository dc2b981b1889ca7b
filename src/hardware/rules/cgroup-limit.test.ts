import { describe, expect, it } from 'vitest'
import { GIB, MIB } from '../../kernel/units.ts'
import { cgroupChains, statLine, withinCgroups } from './cgroup-limit.ts'

const V1_LINES = ['9:name=systemd:/', '4:memory:/docker/abc/worker', '3:cpuset:/', '0::/'].join('\n')
const V1_MOUNT = '32 31 0:29 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory'
const V2_MOUNT = '35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate'
const HYBRID_MOUNT = '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw'

describe('cgroupChains', () => {
  it.each([
    [
      'a service',
      '0::/system.slice/hal0.service',
      V2_MOUNT,
      ['/sys/fs/cgroup/system.slice/hal0.service', '/sys/fs/cgroup/system.slice', '/sys/fs/cgroup'],
    ],
    ['a container with a namespace', '0::/', V2_MOUNT, ['/sys/fs/cgroup']],
    ['mounts that cannot be read', '0::/a', '', ['/sys/fs/cgroup/a', '/sys/fs/cgroup']],
    ['a group outside of the namespace', '0::/../other', V2_MOUNT, ['/sys/fs/cgroup']],
    ['a name with a colon', '0::/a:b', V2_MOUNT, ['/sys/fs/cgroup/a:b', '/sys/fs/cgroup']],
  ])('v2: %s', (_what, lines, mounts, folders) => {
    expect(cgroupChains(lines, mounts)).toEqual([{ version: 'v2', folders }])
  })

  it('v1 in a container: its mount begins at its own group; the other hierarchies say nothing about memory', () => {
    expect(cgroupChains(V1_LINES, [V1_MOUNT, HYBRID_MOUNT].join('\n'))).toEqual([
      { version: 'v1', folders: ['/sys/fs/cgroup/memory/worker', '/sys/fs/cgroup/memory'] },
      { version: 'v2', folders: ['/sys/fs/cgroup/unified'] },
    ])
  })

  it('a mount root is a folder, no beginning of a name', () => {
    const [chain] = cgroupChains('4:memory:/docker/abcdef', V1_MOUNT)
    expect(chain?.folders).toContain('/sys/fs/cgroup/memory/docker/abcdef')
  })

  it.each(['', 'garbage', '1:cpu:/x'])('no memory cgroup in %j', (text) => {
    expect(cgroupChains(text, V2_MOUNT)).toEqual([])
  })
})

describe('withinCgroups', () => {
  const host = { totalBytes: 64 * GIB, availableBytes: 40 * GIB }
  const level = (limitBytes?: number, usedBytes?: number, idleCacheBytes?: number) => ({
    limitBytes,
    usedBytes,
    idleCacheBytes,
  })
  it.each([
    ['no cgroup', [], 64, 40],
    ['no limit', [level(undefined, 5 * GIB)], 64, 40],
    ['a limit', [level(16 * GIB, 4 * GIB)], 16, 12],
    ['inactive file cache is given back', [level(16 * GIB, 15 * GIB, 14 * GIB)], 16, 15],
    ['the machine is fuller than the group', [level(60 * GIB, GIB)], 60, 40],
    ['the tightest level decides, each figure by itself', [level(32 * GIB, GIB), level(48 * GIB, 47 * GIB)], 32, 1],
    ['a limit beyond the machine', [level(128 * GIB, GIB)], 64, 40],
    ['more used than allowed', [level(GIB, 2 * GIB)], 1, 0],
    ['use is not told', [level(8 * GIB)], 8, 8],
    ['more cache than use', [level(8 * GIB, MIB, GIB)], 8, 8],
  ])('%s', (_what, levels, totalGib, availableGib) => {
    expect(withinCgroups(host, levels)).toEqual({ totalBytes: totalGib * GIB, availableBytes: availableGib * GIB })
  })
})

describe('statLine', () => {
  it('takes the line of that name, not one that begins or ends with it', () => {
    const text = 'total_inactive_file 1\ninactive_file_x 2\ninactive_file 3\nbroken -4'
    expect([statLine(text, 'inactive_file'), statLine(text, 'broken'), statLine(text, 'none')]).toEqual([
      3,
      undefined,
      undefined,
    ])
  })
})
