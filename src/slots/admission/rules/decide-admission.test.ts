import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { needOf, poolOf } from '../../../../test/support/memory-world.ts'
import { GIB } from '../../../kernel/units.ts'
import { type Asker, decideAdmission } from './decide-admission.ts'
import { fits, type Holder, type MemorySnapshot } from './memory-limits.ts'
import { choosePools, footprintOf, type PoolReading, selectFreeGpus } from './memory-map.ts'
import { canGiveWay, compareForEviction } from './select-victims.ts'

function holderOf(slot: string, more: Partial<Holder> = {}): Holder {
  const traits = { standing: 'quiet', pinned: false, isLanes: false, priority: 50, lastUsedMs: 0 } as const
  return { slot, device: 'gpu-cuda', gpus: undefined, need: needOf(4), ...traits, ...more }
}

function askerOf(more: Partial<Asker> = {}): Asker {
  const place = { slot: 'new', device: 'gpu-cuda', gpus: undefined, need: needOf(8) } as const
  return { ...place, mode: 'enforce', rivals: new Set(), claimed: new Set(), ...more }
}

function gpuWith(freeGib: number, holders: readonly Holder[] = [], more: Partial<MemorySnapshot> = {}): MemorySnapshot {
  const pools = [poolOf('host', 64), poolOf('gpu0', 24, { freeBytes: freeGib * GIB })]
  return { pools, holders, promises: [], ...more }
}

const amd = { vendor: 'AMD' } as const
const mixed: readonly PoolReading[] = [
  poolOf('host', 64),
  poolOf('gpu0', 16, { ...amd, gpuIndex: 0 }),
  poolOf('gpu1', 24, { gpuIndex: 0 }),
  poolOf('gpu2', 24, { gpuIndex: 1 }),
]

describe('choosePools', () => {
  it.each([
    { device: 'cpu', index: undefined, gpus: [] },
    { device: 'npu', index: undefined, gpus: [] },
    { device: 'gpu-rocm', index: undefined, gpus: ['gpu0'] },
    { device: 'gpu-rocm', index: 0, gpus: ['gpu0'] },
    { device: 'gpu-cuda', index: undefined, gpus: ['gpu1', 'gpu2'] },
    { device: 'gpu-cuda', index: 0, gpus: ['gpu1'] },
    { device: 'gpu-cuda', index: 1, gpus: ['gpu2'] },
    { device: 'gpu-vulkan', index: undefined, gpus: ['gpu0', 'gpu1', 'gpu2'] },
    { device: 'gpu-vulkan', index: 2, gpus: ['gpu2'] },
  ] as const)('$device with gpu_index $index draws on $gpus', ({ device, index, gpus }) => {
    expect(choosePools(mixed, device, index === undefined ? undefined : [index])).toEqual({
      kind: 'pools',
      gpuIds: gpus,
      hostId: 'host',
    })
  })

  it.each([
    ['gpu-cuda', [1, 0], ['gpu2', 'gpu1']],
    ['gpu-vulkan', [0, 2], ['gpu0', 'gpu2']],
  ] as const)('a lane on %s with GPUs %j draws on %j together', (device, gpus, ids) => {
    expect(choosePools(mixed, device, gpus)).toEqual({ kind: 'pools', gpuIds: ids, hostId: 'host' })
  })

  it.each([
    ['gpu-cuda', [{ device: 'gpu-cuda', gpus: [0] }], [1]],
    ['gpu-cuda', [{ device: 'gpu-rocm', gpus: [0] }], undefined],
    ['gpu-cuda', [{ device: 'gpu-vulkan', gpus: [1, 2] }], []],
    ['gpu-vulkan', [{ device: 'gpu-cuda', gpus: [0] }], [0, 2]],
    ['gpu-cuda', [{ device: 'cpu', gpus: [0] }], undefined],
    ['gpu-cuda', [{ device: 'gpu-cuda', gpus: [7] }], undefined],
    ['cpu', [{ device: 'gpu-cuda', gpus: [0] }], undefined],
  ] as const)('to a slot on %s the lanes %j leave %j', (device, owners, left) => {
    expect(selectFreeGpus(mixed, device, owners)).toEqual(left)
  })

  it.each([
    ['gpu-rocm', 1, 'gpu_index 1 is out of range: 1 GPU(s) for device gpu-rocm are known'],
    ['gpu-vulkan', 3, 'gpu_index 3 is out of range: 3 GPU(s) for device gpu-vulkan are known'],
  ] as const)('%s with gpu_index %i is not checked: %s', (device, gpuIndex, reason) => {
    expect(choosePools(mixed, device, [gpuIndex])).toEqual({ kind: 'none', reason })
    const asked = askerOf({ device, gpus: [gpuIndex] })
    expect(decideAdmission({ pools: mixed, holders: [], promises: [] }, asked)).toMatchObject({ kind: 'skip', reason })
  })

  it.each(['gpu-cuda', 'gpu-rocm', 'gpu-vulkan'] as const)(
    '%s without such a card computes in main memory',
    (device) => {
      const decide = (freeGib: number) =>
        decideAdmission(
          { pools: [poolOf('host', 64, { freeBytes: freeGib * GIB })], holders: [], promises: [] },
          askerOf({ device, need: needOf(32, 1) }),
        )
      expect(decide(33)).toMatchObject({ kind: 'admit' })
      expect(decide(32)).toMatchObject({
        kind: 'insufficient',
        shortage: { neededBytes: 33 * GIB, freeBytes: 32 * GIB },
      })
      expect(decideAdmission({ pools: [], holders: [], promises: [] }, askerOf({ device }))).toMatchObject({
        kind: 'skip',
        reason: 'main memory cannot be read',
      })
    },
  )

  it('a slot on all cards is spread by their size', () => {
    const placed = { slot: 'a', device: 'gpu-vulkan', gpus: undefined, need: needOf(32, 1) } as const
    const shares = footprintOf(mixed, placed)?.gpuShares
    expect([...(shares ?? [])]).toEqual([
      ['gpu0', 8 * GIB],
      ['gpu1', 12 * GIB],
      ['gpu2', 12 * GIB],
    ])
  })
})

describe('decideAdmission', () => {
  it.each([
    { name: 'fits exactly', snapshot: gpuWith(8), kind: 'admit' },
    { name: 'a byte too much', snapshot: gpuWith(8 - 1 / GIB), kind: 'insufficient' },
    { name: 'quiet in the way', snapshot: gpuWith(4, [holderOf('a')]), kind: 'evict' },
    { name: 'busy in the way', snapshot: gpuWith(4, [holderOf('a', { standing: 'busy' })]), kind: 'wait' },
    { name: 'loading in the way', snapshot: gpuWith(4, [holderOf('a', { standing: 'loading' })]), kind: 'wait' },
    { name: 'stopping in the way', snapshot: gpuWith(4, [holderOf('a', { standing: 'stopping' })]), kind: 'hold' },
    { name: 'pinned in the way', snapshot: gpuWith(4, [holderOf('a', { pinned: true })]), kind: 'insufficient' },
    { name: "a lane's in the way", snapshot: gpuWith(4, [holderOf('a', { isLanes: true })]), kind: 'insufficient' },
    {
      name: 'pinned but stopping',
      snapshot: gpuWith(4, [holderOf('a', { pinned: true, standing: 'stopping' })]),
      kind: 'hold',
    },
    {
      name: 'of unknown size in the way',
      snapshot: gpuWith(4, [holderOf('a', { need: { kind: 'unknown', reason: 'x' } })]),
      kind: 'evict',
    },
    {
      name: 'of unknown size, elsewhere',
      snapshot: gpuWith(4, [holderOf('a', { device: 'cpu', need: undefined })]),
      kind: 'insufficient',
    },
    {
      name: 'a CPU slot in the way of nothing',
      snapshot: gpuWith(4, [holderOf('a', { device: 'cpu' })]),
      kind: 'insufficient',
    },
    {
      name: 'promised to a load that has taken nothing yet',
      snapshot: gpuWith(10, [], { promises: [{ ...askerOf(), slot: 'p', need: needOf(4) }] }),
      kind: 'hold',
    },
  ] as const)('$name: $kind', ({ snapshot, kind }) => {
    expect(decideAdmission(snapshot, askerOf()).kind).toBe(kind)
  })

  it('more than there is at all unloads nobody, not even one of unknown size', () => {
    const snapshot = gpuWith(4, [holderOf('a', { need: undefined }), holderOf('b')])
    expect(decideAdmission(snapshot, askerOf({ need: needOf(25) })).kind).toBe('insufficient')
  })

  it('on main memory mapped weights of others only look free', () => {
    const need = needOf(0, 20, { mappedBytes: 18 * GIB })
    const holders = [holderOf('a', { device: 'cpu', need, pinned: true })]
    const snapshot = { pools: [poolOf('host', 32, { freeBytes: 30 * GIB })], holders, promises: [] }
    expect(decideAdmission(snapshot, askerOf({ device: 'cpu', need: needOf(0, 12) })).kind).toBe('admit')
    expect(decideAdmission(snapshot, askerOf({ device: 'cpu', need: needOf(0, 13) }))).toMatchObject({
      kind: 'insufficient',
      shortage: { freeBytes: 12 * GIB, shortfallBytes: GIB },
    })
  })

  it('a unified pool and main memory are one: slots of both make way for each other, and count together', () => {
    const pools = [
      poolOf('host', 64, { freeBytes: 20 * GIB }),
      poolOf('gpu0', 60, { kind: 'unified', vendor: 'AMD', freeBytes: 18 * GIB }),
    ]
    const cpu = holderOf('cpu', { device: 'cpu', need: needOf(0, 20), priority: 1 })
    const gpu = holderOf('gpu', { device: 'gpu-rocm', need: needOf(22, 1) })
    const snapshot = { pools, holders: [gpu, cpu], promises: [] }
    const onGpu = decideAdmission(snapshot, askerOf({ device: 'gpu-rocm', need: needOf(30, 1) }))
    expect(onGpu).toMatchObject({ kind: 'evict', plan: ['cpu'], short: new Set(['host']) })
    const onCpu = decideAdmission(snapshot, askerOf({ device: 'cpu', need: needOf(0, 50) }))
    expect(onCpu).toMatchObject({ kind: 'evict', plan: ['cpu', 'gpu'] })
    // Each fits for itself, not both.
    expect(decideAdmission(snapshot, askerOf({ device: 'gpu-rocm', need: needOf(15, 10) })).kind).toBe('evict')
  })
})

describe('victims', () => {
  const holder = fc
    .record({
      priority: fc.integer({ min: 0, max: 3 }),
      lastUsedMs: fc.integer({ min: 0, max: 5 }),
      standing: fc.constantFrom('quiet', 'quiet', 'busy', 'loading', 'stopping'),
      pinned: fc.boolean(),
      isLanes: fc.boolean(),
      gib: fc.integer({ min: 0, max: 9 }),
    })
    .map(({ gib, ...rest }) => ({ ...rest, need: needOf(gib) }))

  it('are as few as possible, never pinned, busy or loading when evicted, and all of them are needed', () => {
    fc.assert(
      fc.property(
        fc.array(holder, { maxLength: 10 }),
        fc.nat(6),
        fc.integer({ min: 1, max: 24 }),
        (list, free, gib) => {
          const holders = list.map((traits, i) => holderOf(`s${i}`, traits))
          const snapshot = gpuWith(free, holders)
          const asker = askerOf({ need: needOf(gib) })
          const decision = decideAdmission(snapshot, asker)
          const plan = new Set(decision.plan)
          const chosen = holders.filter(({ slot }) => plan.has(slot))
          expect(chosen.every((each) => canGiveWay(each))).toBe(true)
          if (decision.kind === 'insufficient') {
            const all = new Set(holders.filter((each) => canGiveWay(each)).map(({ slot }) => slot))
            expect(fits(snapshot, asker, { gone: all })).toBe(false)
            return
          }
          expect(fits(snapshot, asker, { gone: plan })).toBe(true)
          for (const { slot } of chosen) {
            const without = new Set([...plan].filter((other) => other !== slot))
            expect(fits(snapshot, asker, { gone: without })).toBe(false)
          }
          if (decision.kind !== 'evict') return
          const victims = decision.victims.map(
            ({ slot }) => holders.find((each) => each.slot === slot) ?? holderOf(slot),
          )
          expect(victims.every(({ standing, pinned, isLanes }) => standing === 'quiet' && !pinned && !isLanes)).toBe(
            true,
          )
          expect(victims).toEqual(victims.toSorted(compareForEviction))
        },
      ),
    )
  })
})
