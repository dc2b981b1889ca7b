import { describe, expect, it } from 'vitest'
import { launchRequest, type RequestChange } from '../../../test/support/launch-request.ts'
import { argvOf, type LaunchPlan } from '../../contract/launch-plan.ts'
import { assembleLaunch } from './assemble-launch.ts'
import { comparePlans } from './compare-plans.ts'
import { findDrift } from './find-drift.ts'

function planOf(change: RequestChange = {}): LaunchPlan {
  const launch = assembleLaunch(launchRequest(change))
  if (!launch.ok) throw launch.error
  return launch.value.plan
}
const flags = (...words: readonly string[]) => ({ profile: { flags: words } })
const VLLM = { engine: { key: 'vllm', dialect: 'vllm', command: ['/usr/bin/vllm', 'serve'] } } as const

describe('comparePlans', () => {
  it.each<[string, RequestChange, RequestChange, readonly string[]]>([
    ['nothing', {}, {}, []],
    ['the model', {}, { model: { path: '/m/b.gguf' } }, ['model']],
    ['the port', {}, { port: 8082 }, ['port']],
    ['the program', {}, { engine: { command: ['/opt/llama-server'] } }, ['binary']],
    ['the window', {}, { tune: { ctx_size: 512 } }, ['ctx_size']],
    ['layers and threads', {}, { nGpuLayers: 3, threads: 4 }, ['n_gpu_layers', 'threads']],
    ['vision', { model: { mmproj: '/p' } }, { model: { mmproj: '/p' }, tune: { vision: 'off' } }, ['vision']],
    ['speculation', {}, { model: { mtp: true } }, ['speculation']],
    [
      'reasoning',
      {},
      { tune: { reasoning_effort: 'low', reasoning_budget: 1 } },
      ['reasoning_effort', 'reasoning_budget'],
    ],
    ['thinking is live', {}, { tune: { enable_thinking: true } }, []],
    ['a flag', flags('--temp', '1'), flags('--temp', '2'), ['flags: --temp']],
    ['another spelling', flags('--temp', '1', '-b', '2'), flags('--batch-size', '2', '--temperature', '1'), []],
    ['the opposite', flags('-kvo'), flags('-nkvo'), ['flags: --kv-offload']],
    [
      'the order of repeatable flags',
      flags('--lora', 'a', '--lora', 'b'),
      flags('--lora', 'b', '--lora', 'a'),
      ['flags: --lora'],
    ],
    ['the environment', { env: { A: '1', B: '2' } }, { env: { A: '1', C: '2' } }, ['env.B', 'env.C']],
    ['the GPU', { device: 'gpu-rocm', gpus: [0] }, { device: 'gpu-rocm', gpus: [1] }, ['gpu_index']],
    [
      'vllm',
      VLLM,
      { ...VLLM, model: { path: '/b' }, tune: { ctx_size: 512 }, ...flags('--dtype', 'auto') },
      ['model', 'ctx_size', 'flags: --dtype'],
    ],
  ])('%s', (_name, running, fresh, expected) => {
    expect(comparePlans({ plan: planOf(running) }, { plan: planOf(fresh) })).toEqual(expected)
  })

  it('compares facts that the command does not tell', () => {
    const plan = planOf()
    const running = { plan, runner: 'cpu', modelId: 'a', profile: 'chat' }
    expect(comparePlans(running, { plan, runner: 'standard', modelId: 'b', profile: 'coding' })).toEqual([
      'model',
      'profile',
      'binary',
    ])
    // Another name for the same command is no reason to start again.
    expect(comparePlans(running, { ...running, profile: 'coding' })).toEqual([])
    expect(comparePlans({ plan }, running)).toEqual([])
    expect(comparePlans({ ...running, build: '1' }, { ...running, build: '2' })).toEqual(['binary'])
    expect(comparePlans({ ...running, build: '1' }, running)).toEqual([])
  })
})

describe('findDrift', () => {
  const fresh = planOf(flags('-b', '512', '--temp', '1'))
  const live = argvOf(fresh)
  const changed = (...pairs: readonly (readonly [string, string])[]) =>
    live.map((word) => pairs.find(([from]) => from === word)?.[1] ?? word)

  it.each<[string, readonly string[], readonly string[]]>([
    ['nothing', live, []],
    ['a wrapper before it', ['/usr/bin/env', 'nice', ...live], []],
    [
      'a loader, and another program than the wrapper in the plan',
      ['/lib64/ld.so', '--library-path', '/x', '/opt/real-server', ...live.slice(1)],
      [],
    ],
    ['another window', changed(['4096', '8192']), ['ctx_size']],
    ['another model and name', changed(['/m/a.gguf', '/m/b.gguf'], ['agent', 'other']), ['model', 'alias']],
    ['another batch', changed(['512', '256']), ['batch']],
    ['a micro batch', [...live, '--ubatch-size', '64'], ['ubatch']],
    ['other spellings', changed(['--ctx-size', '-c'], ['--model', '-m'], ['-b', '--batch-size']), []],
    ['the last one counts', [...live, '-c', '1'], ['ctx_size']],
    ['what it is not judged on', changed(['1', '2'], ['8081', '9000']), []],
    ['a window that is gone', live.filter((word) => word !== '--ctx-size' && word !== '4096'), ['ctx_size']],
    ['another program', ['/usr/bin/sleep', '100'], ['unknown']],
    ['no words', [], ['unknown']],
  ])('%s', (_name, argv, expected) => {
    expect(findDrift(argv, fresh)).toEqual(expected)
  })

  it('reads vllm, whose model is no flag', () => {
    const plan = planOf(VLLM)
    const argv = argvOf(plan)
    expect(findDrift(['/usr/bin/python3', ...argv], plan)).toEqual([])
    expect(
      findDrift(
        argv.map((word) => (word === '/m/a.gguf' ? '/m/b' : word)),
        plan,
      ),
    ).toEqual(['model'])
  })
})
