import { describe, expect, it } from 'vitest'
import {
  engineHelp,
  launchRequest,
  NO_ABILITIES,
  type RequestChange,
  showLayers,
  showRemoved,
} from '../../../test/support/launch-request.ts'
import { argvOf } from '../../contract/launch-plan.ts'
import { assembleLaunch } from './assemble-launch.ts'

function assemble(change: RequestChange) {
  const launch = assembleLaunch(launchRequest(change))
  if (!launch.ok) throw launch.error
  return launch.value
}

const VLLM = { key: 'vllm', dialect: 'vllm', command: ['/usr/bin/vllm', 'serve'], keyEnv: 'VLLM_API_KEY' } as const
const VLLM_BASE = 'base: /m/a.gguf --host 127.0.0.1 --port 8081 --served-model-name agent --max-model-len 4096'

describe('vllm serve', () => {
  it.each<[string, RequestChange, string]>([
    ['nothing special', {}, VLLM_BASE],
    ['what only llama.cpp has', { nGpuLayers: 9, threads: 3, model: { mmproj: '/p', jinja: true } }, VLLM_BASE],
    [
      'no model bound',
      { model: 'none' },
      'base: --host 127.0.0.1 --port 8081 --served-model-name agent --max-model-len 8192',
    ],
    ['a template', { model: { chatTemplate: '/t' } }, `${VLLM_BASE} | model: --chat-template /t`],
    ['no template for an embedding slot', { type: 'embedding', model: { chatTemplate: '/t' } }, VLLM_BASE],
    [
      'a drafter',
      { model: { drafter: '/d' } },
      `${VLLM_BASE} | profile: --speculative-config {"method":"draft_model","model":"/d","num_speculative_tokens":5}`,
    ],
    [
      'heads',
      { model: { mtp: true } },
      `${VLLM_BASE} | profile: --speculative-config {"method":"mtp","num_speculative_tokens":1}`,
    ],
    [
      'n-grams',
      { tune: { speculation: 'ngram' } },
      `${VLLM_BASE} | profile: --speculative-config {"method":"ngram","num_speculative_tokens":5,"prompt_lookup_max":4}`,
    ],
    [
      'its own speculation',
      { model: { mtp: true }, profile: { flags: ['-sc', '{"method":"ngram"}'] } },
      `${VLLM_BASE} | profile: -sc {"method":"ngram"}`,
    ],
    [
      'the flags of the profile',
      { profile: { flags: ['--gpu-memory-utilization', '0.8', '-tp', '2', '--enforce-eager'] } },
      `${VLLM_BASE} | profile: --gpu-memory-utilization 0.8 -tp 2 --enforce-eager`,
    ],
    [
      'several values, where the flag takes them',
      { profile: { flags: ['--lora-modules', 'a=/a', 'b=/b', '--max_num_seqs=4'] } },
      `${VLLM_BASE} | profile: --lora-modules a=/a b=/b --max_num_seqs 4`,
    ],
    ['reasoning keys', { profile: { reasoningEffort: 'low' } }, VLLM_BASE],
  ])('%s', (_name, change, expected) => {
    expect(showLayers(assemble({ ...change, engine: VLLM }))).toBe(expected)
  })

  it('gives the model as the positional argument, where nothing else can be one', () => {
    expect(argvOf(assemble({ engine: VLLM }).plan).slice(0, 4)).toEqual([
      '/usr/bin/vllm',
      'serve',
      '/m/a.gguf',
      '--host',
    ])
    const stray = assembleLaunch(
      launchRequest({ engine: VLLM, profile: { flags: ['--dtype', 'auto', '/other/model'] } }),
    )
    expect(stray.ok ? undefined : stray.error.code).toBe('slot.config_error')
  })

  it('refuses what its help does not know, and knows beginnings and keys of JSON flags', () => {
    const known = '--host 1|--port 1|--served-model-name 1|--max-model-len 1|--dtype 1|--speculative-config 1'
    const help = engineHelp(...known.split('|'))
    const run = (...words: string[]) =>
      assembleLaunch(launchRequest({ engine: { ...VLLM, help }, profile: { flags: words } }))
    expect(run('--dty', 'auto', '--speculative-config.method', 'ngram').ok).toBe(true)
    const bad = run('--dtpye', 'auto')
    expect(bad.ok ? undefined : bad.error.message).toContain('did you mean --dtype?')
  })
})

const SGLANG = { key: 'sglang', dialect: 'sglang', command: ['/usr/bin/sglang', 'serve'], keyEnv: undefined } as const
const SGLANG_BASE =
  'base: --model-path /m/a.gguf --host 127.0.0.1 --port 8081 --served-model-name agent --context-length 4096'

describe('sglang', () => {
  it.each<[string, RequestChange, string]>([
    ['nothing special', { nGpuLayers: 9 }, `${SGLANG_BASE} | slot: --enable-metrics`],
    [
      'a template',
      { model: { chatTemplate: '/t' } },
      `${SGLANG_BASE} | model: --chat-template /t | slot: --enable-metrics`,
    ],
    [
      'a drafter',
      { model: { drafter: '/d' } },
      `${SGLANG_BASE} | profile: --speculative-algorithm STANDALONE --speculative-draft-model-path /d | slot: --enable-metrics`,
    ],
    [
      'heads',
      { model: { tags: ['mtp'] } },
      `${SGLANG_BASE} | profile: --speculative-algorithm NEXTN | slot: --enable-metrics`,
    ],
    [
      'n-grams',
      { profile: { speculation: 'ngram' } },
      `${SGLANG_BASE} | profile: --speculative-algorithm NGRAM | slot: --enable-metrics`,
    ],
    [
      'names of one flag',
      { profile: { flags: ['--tp', '2', '--tp-size=4', '--mem-fraction-static', '0.8'] } },
      `${SGLANG_BASE} | profile: --tp-size 4 --mem-fraction-static 0.8 | slot: --enable-metrics`,
    ],
  ])('%s', (_name, change, expected) => {
    expect(showLayers(assemble({ ...change, engine: SGLANG }))).toBe(expected)
  })

  it('has no key', () => {
    expect(assemble({ engine: SGLANG }).plan.keyEnv).toBeUndefined()
  })
})

describe('an engine of the user', () => {
  const template = ['run', '--at=${HOST}:${PORT}', '-f', '${MODEL}', '--name', 'x-${ALIAS}-${CTX}', '${OTHER}', '--end']
  const engine = { key: 'custom', dialect: 'template', command: ['/opt/x'], template, abilities: NO_ABILITIES } as const

  it('gets the words of its template, filled in, then those of the profile', () => {
    const launch = assemble({
      engine,
      model: { path: '/m/a b$&.gguf' },
      profile: { flags: ['extra', '--x=1', '--x=2', '--y', '-1', 'z'] },
    })
    const filled = ['run', '--at=127.0.0.1:8081', '-f', '/m/a b$&.gguf', '--name', 'x-agent-4096', '${OTHER}', '--end']
    expect(argvOf(launch.plan)).toEqual(['/opt/x', ...filled, 'extra', '--x=1', '--x=2', '--y', '-1', 'z'])
    expect(launch.plan.flags.map(({ layer }) => layer)).toEqual([...Array(5).fill('base'), ...Array(4).fill('profile')])
  })

  it('does not get again what its template sets, nor what hal0 manages everywhere', () => {
    const launch = assemble({
      engine,
      profile: { flags: ['--at', '0.0.0.0:1', '-f=/x', '--port', '9', '--temp', '1'] },
    })
    expect(showRemoved(launch)).toEqual([
      'profile denied --at 0.0.0.0:1',
      'profile denied -f /x',
      'profile denied --port 9',
    ])
    expect(argvOf(launch.plan).slice(-2)).toEqual(['--temp', '1'])
  })

  it.each(['a\0b', 'a\udc00'])('refuses a word that no process can have: %j', (word) => {
    const launch = assembleLaunch(launchRequest({ engine, profile: { flags: ['x', word] } }))
    expect(launch.ok ? undefined : launch.error).toMatchObject({
      code: 'slot.config_error',
      message: expect.stringContaining('word 2 contains'),
    })
  })

  it('has an empty name for a model that is not bound', () => {
    expect(argvOf(assemble({ engine, model: 'none' }).plan).slice(3, 5)).toEqual(['-f', ''])
  })
})

describe('notes', () => {
  it.each<[string, RequestChange, string]>([
    [
      'a chat slot that cannot chat',
      { profile: { flags: ['--embedding'] } },
      'profile chat makes the engine embed or rerank: this slot of type llm will answer no chat',
    ],
    [
      'a window beyond the native one, for an engine that opens it',
      { engine: VLLM, tune: { ctx_size: 8192 } },
      "the window of 8192 tokens is larger than the model's own of 4096: answers may degrade beyond it",
    ],
    [
      'a window beyond the native one',
      { tune: { ctx_size: 8192 } },
      "the window of 8192 tokens is larger than the model's own of 4096: a request can use no more than that (older builds: answers degrade beyond it)",
    ],
    [
      'a projector without use',
      { model: { mmproj: '/p' }, engine: { abilities: NO_ABILITIES } },
      'the model has a projector for images, which runner standard cannot use',
    ],
    [
      'a drafter without use',
      { model: { drafter: '/d' }, engine: { abilities: NO_ABILITIES } },
      'the model has a drafter, which runner standard cannot use',
    ],
    [
      'a drafter that is missing',
      { profile: { flags: ['--spec-type', 'draft-simple'] } },
      "the profile's flags say --spec-type draft-simple, but the model has no drafter",
    ],
    [
      'a variable against gpu_index',
      { device: 'gpu-cuda', gpus: [1], env: { CUDA_VISIBLE_DEVICES: '0' } },
      '[server] env sets CUDA_VISIBLE_DEVICES=0, which wins over gpu_index 1',
    ],
    ['gpu_index without a GPU', { gpus: [1] }, 'gpu_index 1 has no meaning on device cpu'],
    [
      'a key without a flag',
      { engine: VLLM, tune: { reasoning_budget: 1 } },
      'runner vllm has no flag for reasoning_budget: it is left out',
    ],
  ])('%s', (_name, change, expected) => {
    expect(assemble(change).notes).toEqual([expected])
  })

  it.each<[string, RequestChange]>([
    ['a window that rope flags stretch', { tune: { ctx_size: 8192 }, profile: { flags: ['--rope-scale', '2'] } }],
    ['a window that is the native one', { tune: { ctx_size: 4096 } }],
    [
      'vision that is off',
      { model: { mmproj: '/p' }, profile: { vision: 'off' }, engine: { abilities: NO_ABILITIES } },
    ],
    ['a variable that agrees', { device: 'gpu-vulkan', gpus: [1], env: { GGML_VK_VISIBLE_DEVICES: '1' } }],
  ])('none for %s', (_name, change) => {
    expect(assemble(change).notes).toEqual([])
  })
})
