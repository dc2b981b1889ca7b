import { mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type GgufValue, writeGguf } from '../../../test/support/gguf-builder.ts'
import { launchRequest, type RequestChange } from '../../../test/support/launch-request.ts'
import { GIB, MIB } from '../../kernel/units.ts'
import { assembleLaunch } from '../../launch/rules/assemble-launch.ts'
import { createNeedEstimator, type NeedBinding } from './estimate-need.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-need-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const RUNNER: NeedBinding['runner'] = { key: 'standard', dialect: 'llama-server', isSelfManaged: false }

function binding(change: RequestChange, runner: Partial<NeedBinding['runner']> = {}): NeedBinding {
  const request = launchRequest(change)
  const launch = assembleLaunch(request)
  if (!launch.ok) throw launch.error
  const { device } = request
  return {
    bound: { config: { device } },
    runner: { ...RUNNER, ...runner },
    launch: launch.value,
    plan: launch.value.plan,
  }
}

/** 2 layers, one head of 64 elements: 512 bytes per token. */
const KEYS: Readonly<Record<string, GgufValue>> = {
  'llama.block_count': 2,
  'llama.embedding_length': 256,
  'llama.attention.head_count': 4,
  'llama.attention.head_count_kv': 1,
}
const model = async (name: string, sizeBytes: number, keys: Readonly<Record<string, GgufValue>> = {}) =>
  (await writeGguf(join(folder, name), { keys: { ...KEYS, ...keys } }, sizeBytes)).path

const estimate = createNeedEstimator()

describe('createNeedEstimator', () => {
  it('counts the files of the command as they are', async () => {
    const path = await model('a.gguf', 3 * GIB)
    const drafter = await model('d.gguf', GIB)
    const mmproj = await model('mmproj.gguf', 500 * MIB)
    const profile = { flags: ['-np', '2', '-kvu', '-ctk', 'f32', '-ctv', 'f32'] }
    const need = await estimate(
      binding({ device: 'gpu-vulkan', model: { path, drafter, mmproj }, profile, tune: { ctx_size: 8_192 } }),
    )
    expect(need).toMatchObject({
      kind: 'known',
      weightsBytes: 4 * GIB + 500 * MIB,
      cacheBytes: 8_192 * 512 * 2 + 8_192 * 512,
      hostBytes: 256 * MIB,
    })
  })

  it('reads what only some architectures say: heads of another length in sliding layers, layers that share a cache', async () => {
    const keys = {
      'gemma4.block_count': 4,
      'gemma4.embedding_length': 256,
      'gemma4.attention.head_count': 4,
      'gemma4.attention.head_count_kv': 1,
      'gemma4.attention.key_length': 128,
      'gemma4.attention.value_length': 128,
      'gemma4.attention.key_length_swa': 64,
      'gemma4.attention.value_length_swa': 32,
      'gemma4.attention.sliding_window': 256,
      'gemma4.attention.sliding_window_pattern': [true, false, true, false],
      'gemma4.attention.shared_kv_layers': 2,
    }
    const { path } = await writeGguf(join(folder, 'g.gguf'), { architecture: 'gemma4', keys })
    const need = await estimate(
      binding({ model: { path }, profile: { flags: ['-np', '1'] }, tune: { ctx_size: 8_192 } }),
    )
    // One layer of a window and a step, one in full; the other two use theirs.
    expect(need).toMatchObject({ cacheBytes: (256 + 512) * 96 * 2 + 8_192 * 256 * 2 })
  })

  it('notices that a file was replaced', async () => {
    const path = await model('a.gguf', GIB)
    await estimate(binding({ model: { path } }))
    await truncate(path, 2 * GIB)
    expect(await estimate(binding({ model: { path } }))).toMatchObject({ weightsBytes: 2 * GIB })
  })

  it('adds up all parts of a split model', async () => {
    const parts = (nth: number) => ({
      'split.no': nth,
      'split.count': 3,
    })
    const path = await model('m-00001-of-00003.gguf', GIB, parts(0))
    await model('m-00002-of-00003.gguf', GIB, parts(1))
    const last = await model('m-00003-of-00003.gguf', GIB, parts(2))
    expect(await estimate(binding({ model: { path } }))).toMatchObject({ weightsBytes: 3 * GIB })
    await rename(last, join(folder, 'elsewhere.gguf'))
    expect(await estimate(binding({ model: { path } }))).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('size of'),
    })
  })

  it('counts adapters', async () => {
    const path = await model('a.gguf', GIB)
    const lora = join(folder, 'l.gguf')
    await writeFile(lora, 'x'.repeat(1_000))
    const flags = ['--lora', lora, '--lora-scaled', `${lora}:0.5`]
    expect(await estimate(binding({ model: { path }, profile: { flags } }))).toMatchObject({
      weightsBytes: GIB + 2_000,
    })
    expect(await estimate(binding({ model: { path }, profile: { flags: ['--lora', '/nowhere.gguf'] } }))).toMatchObject(
      {
        kind: 'unknown',
        reason: expect.stringContaining('/nowhere.gguf'),
      },
    )
  })

  it.each<readonly [string, () => Promise<string>]>([
    ['not there', async () => join(folder, 'none.gguf')],
    ['a folder', async () => folder],
    [
      'no GGUF',
      async () => {
        await writeFile(join(folder, 'x.gguf'), 'hello')
        return join(folder, 'x.gguf')
      },
    ],
    [
      'cut short',
      async () => {
        const path = await model('short.gguf', 0)
        await truncate(path, 100)
        return path
      },
    ],
  ])('never rejects: a file that is %s', async (_what, make) => {
    expect(await estimate(binding({ model: { path: await make() } }))).toMatchObject({ kind: 'unknown' })
  })

  it('opens no file of an engine that finds its model by a tag', async () => {
    const need = await estimate(binding({ model: { path: '/nowhere' } }, { modelRef: 'tag' }))
    expect(need).toEqual({ kind: 'unknown', reason: 'its engine brings its own model' })
  })

  it('places by the flag that the slot sets', async () => {
    const path = await model('a.gguf', 3 * GIB)
    const need = await estimate(binding({ device: 'gpu-cuda', model: { path }, nGpuLayers: 1 }))
    // Two layers and the output.
    expect(need).toMatchObject({ gpuBytes: GIB + 4_096 * 256 + 1_024 * MIB, mappedBytes: 2 * GIB })
  })
})
