import { describe, expect, it } from 'vitest'
import { needOf, poolOf } from '../../../../test/support/memory-world.ts'
import { GIB } from '../../../kernel/units.ts'
import { isReleased, planReleases } from './release.ts'

const before = [poolOf('host', 64, { freeBytes: 40 * GIB }), poolOf('gpu0', 24, { freeBytes: 4 * GIB })]
const nothing = { takenHostBytes: undefined, promisedBytes: () => 0, heldByOthersBytes: () => 0 }
const onGpu = { slot: 'a', device: 'gpu-cuda', gpus: [0] } as const
const onCpu = { slot: 'a', device: 'cpu', gpus: undefined } as const

describe('planReleases', () => {
  it.each([
    { name: 'four fifths of the card', stopped: { ...onGpu, need: needOf(10) }, aims: [['gpu0', 12]] },
    {
      name: 'less the reserve',
      stopped: { ...onGpu, need: needOf(11, 0, { overheadBytes: GIB }) },
      aims: [['gpu0', 12]],
    },
    { name: 'never more than a free card', stopped: { ...onGpu, need: needOf(24) }, aims: [['gpu0', 22.8]] },
    { name: 'less than the noise', stopped: { ...onGpu, need: needOf(0.2) }, aims: [] },
    { name: 'not mapped weights', stopped: { ...onCpu, need: needOf(0, 10, { mappedBytes: 10 * GIB }) }, aims: [] },
    { name: 'what a CPU slot really took', stopped: { ...onCpu, need: needOf(0, 10) }, taken: 5, aims: [['host', 44]] },
    { name: 'unknown', stopped: { ...onCpu, need: undefined }, aims: [] },
  ])('$name', ({ stopped, aims, taken }) => {
    const takenHostBytes = taken === undefined ? undefined : taken * GIB
    const releases = planReleases(before, stopped, { ...nothing, takenHostBytes })
    expect(releases.map(({ ids, aimBytes }) => [ids.join('+'), Number((aimBytes / GIB).toFixed(3))])).toEqual(aims)
  })

  it('lets loads that run take what they were promised meanwhile', () => {
    const promisedBytes = () => 3 * GIB
    const [release] = planReleases(before, { ...onGpu, need: needOf(10) }, { ...nothing, promisedBytes })
    expect(release?.aimBytes).toBe(9 * GIB)
  })

  it('never more than others leave of the card', () => {
    const heldByOthersBytes = () => 14 * GIB
    const [release] = planReleases(before, { ...onGpu, need: needOf(10) }, { ...nothing, heldByOthersBytes })
    expect(release?.aimBytes).toBe(9.5 * GIB)
  })

  it('is back at the mark, and when nobody can tell any more', () => {
    const release = { ids: ['gpu0'], aimBytes: 12 * GIB }
    expect(isReleased([poolOf('gpu0', 24, { freeBytes: 12 * GIB - 1 })], release)).toBe(false)
    expect(isReleased([poolOf('gpu0', 24, { freeBytes: 12 * GIB })], release)).toBe(true)
    expect(isReleased([], release)).toBe(true)
  })
})
