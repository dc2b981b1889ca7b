import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failure } from '../../test/support/failure.ts'
import { poolOf } from '../../test/support/memory-world.ts'
import { slotFileSchema } from '../config/slots/rules/slot-schema.ts'
import type { Device } from '../contract/slot-row.ts'
import { type Home, homeAt } from '../files/home.ts'
import type { LaneSlotConfig } from './lane-bindings.ts'
import { createSlotSource } from './slot-source.ts'

let folder: string
let home: Home
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-source-'))
  home = homeAt(folder)
  await mkdir(join(home.etc, 'slots'), { recursive: true })
  await writeFile(join(home.etc, 'slots', 's.toml'), 'name = "s"\n')
  await writeFile(join(home.etc, 'profiles.toml'), '[profiles.mine]\nrunner = "cpu"\n')
})
afterEach(() => rm(folder, { recursive: true }))

const lane = (name: string, gpus: number[], more: Readonly<Record<string, unknown>> = {}): LaneSlotConfig => ({
  config: slotFileSchema.parse({ name, device: 'gpu-cuda', ...more }),
  gpus,
  runner: 'vllm',
})

function open(lanes: Readonly<Record<string, LaneSlotConfig>>, cards = 3) {
  let reads = 0
  const pools = [poolOf('host', 64), ...Array.from({ length: cards }, (_, nth) => poolOf(`gpu${nth}`, 24))]
  const source = createSlotSource({
    home,
    lanes: { names: () => Object.keys(lanes), configOf: (name) => lanes[name] },
    cards: async () => {
      reads++
      return pools
    },
  })
  const gpusOf = (name: string, device: Device, pinned?: number) =>
    source.gpusOf({ name, device, ...(pinned === undefined ? {} : { gpu_index: pinned }) })
  return { source, gpusOf, reads: () => reads }
}

it('has the slots of the files and those of the lanes; a file wins', async () => {
  const { source } = open({ gpu0: lane('gpu0', [0]), s: lane('s', [1]) })
  expect(await source.list()).toEqual({ names: ['s', 'gpu0'], unfit: [] })
  expect([source.isLanes('gpu0'), source.isLanes('s'), source.isLanes('x')]).toEqual([true, false, false])
  expect(await source.read('s')).toMatchObject({ name: 's', device: 'cpu' })
  expect(await source.read('gpu0')).toMatchObject({ name: 'gpu0', device: 'gpu-cuda' })
  expect(await source.read('x')).toBeUndefined()
})

// SPEC 3 "Runner = slot binary, else profile runner, else lane runner, else by device".
it.each([
  ['mine', undefined],
  ['chat', 'vllm'],
  ['gone', 'vllm'],
])('with profile %s the lane names runner %s', async (profile, binary) => {
  const { source } = open({ gpu0: lane('gpu0', [0], { profile }) })
  expect((await source.read('gpu0'))?.binary).toBe(binary)
})

describe('the GPUs of a slot', () => {
  it.each([
    ['a lane', 'gpu0', 'gpu-cuda', undefined, [0, 2]],
    ['a slot that names one', 's', 'gpu-cuda', 1, [1]],
    ['a slot that names none', 's', 'gpu-cuda', undefined, [1]],
    ['a slot on Vulkan', 's', 'gpu-vulkan', undefined, [1]],
    ['a slot of another maker', 's', 'gpu-rocm', undefined, undefined],
    ['a slot on the CPU', 's', 'cpu', undefined, undefined],
  ] as const)('%s', async (_what, name, device, pinned, expected) => {
    const { gpusOf } = open({ gpu0: lane('gpu0', [0, 2]), cpus: lane('cpus', [], { device: 'cpu' }) })
    expect(await gpusOf(name, device, pinned)).toEqual(expected)
  })

  it('are all without lanes, and the cards are looked at once', async () => {
    const none = open({ cpus: lane('cpus', [1], { device: 'cpu' }) })
    expect(await none.gpusOf('s', 'gpu-cuda')).toBeUndefined()
    expect(none.reads()).toBe(0)
    const some = open({ gpu0: lane('gpu0', [0]) })
    for (let n = 0; n < 3; n++) expect(await some.gpusOf('s', 'gpu-cuda')).toEqual([1, 2])
    expect(some.reads()).toBe(1)
  })

  it('are refused where they are a lane’s, or none is left', async () => {
    const { gpusOf } = open({ gpu0: lane('gpu0', [0]), gpu1: lane('gpu1', [1, 2]) })
    const pins = await failure(gpusOf('s', 'gpu-cuda', 2))
    expect(pins).toMatchObject({ code: 'slot.config_error', param: 'gpu_index' })
    expect(pins.message).toMatch(/GPU 2 belongs to lane "gpu1".*slots\/s\.toml/)
    const left = await failure(gpusOf('s', 'gpu-cuda'))
    expect(left).toMatchObject({ code: 'slot.config_error', param: 'device' })
    expect(left.message).toContain('gpu0, gpu1')
  })
})
