import { describe, expect, it } from 'vitest'
import {
  ENGINE,
  engineHelp,
  launchRequest,
  NO_ABILITIES,
  type RequestChange,
  showLayers,
  showRemoved,
} from '../../../test/support/launch-request.ts'
import { argvOf } from '../../contract/launch-plan.ts'
import { assembleLaunch } from './assemble-launch.ts'
import { explainFlags } from './explain-flags.ts'

const BASE = 'base: --host 127.0.0.1 --port 8081 --model /m/a.gguf --alias agent --ctx-size 4096'
const JINJA = 'model: --jinja'
const SLOT = 'slot: --metrics'
/** The same with another window. */
const window = (tokens: number) => `${BASE.slice(0, -4)}${tokens} | ${JINJA} | ${SLOT}`

/** What hal0 itself gives every engine, and no more. */
const BARE_FLAGS = ['--host 1', '--port 1', '--model 1', '--alias 1', '--ctx-size 1']
const BARE = engineHelp(...BARE_FLAGS)

function assemble(change: RequestChange) {
  const launch = assembleLaunch(launchRequest(change))
  if (!launch.ok) throw launch.error
  return launch.value
}
const flags = (...words: readonly string[]) => ({ profile: { flags: words } })

describe('the command of llama-server', () => {
  it.each<[string, RequestChange, string]>([
    ['nothing special', {}, `${BASE} | ${JINJA} | ${SLOT}`],
    [
      'an engine that brings its own model',
      { model: 'none' },
      'base: --host 127.0.0.1 --port 8081 --alias agent --ctx-size 8192 | model: --jinja | slot: --metrics',
    ],
    ['all layers on the GPU', { nGpuLayers: 99 }, `${BASE} | ${JINJA} | slot: -ngl 99 --metrics`],
    ['no layer on the GPU is a choice', { nGpuLayers: 0 }, `${BASE} | ${JINJA} | slot: -ngl 0 --metrics`],
    ['threads', { threads: 6 }, `${BASE} | ${JINJA} | slot: --threads 6 --metrics`],
    ['layers and threads', { nGpuLayers: 3, threads: 2 }, `${BASE} | ${JINJA} | slot: -ngl 3 --threads 2 --metrics`],
    // Context: tune, profile, native capped, fallback.
    ['window of [tune]', { tune: { ctx_size: 512 }, profile: { ctxTokens: 1024 } }, window(512)],
    ['window of the profile', { profile: { ctxTokens: 1024 } }, window(1024)],
    ['native window at the cap', { model: { nativeCtxTokens: 32768 } }, window(32768)],
    ['native window over the cap', { model: { nativeCtxTokens: 131072 } }, window(32768)],
    ['no window known', { model: { nativeCtxTokens: null } }, window(8192)],
    // Model layer.
    [
      'a template file',
      { model: { chatTemplate: '/m/t.jinja' } },
      `${BASE} | model: --chat-template-file /m/t.jinja --jinja | ${SLOT}`,
    ],
    ['a projector', { model: { mmproj: '/m/p.gguf' } }, `${BASE} | model: --mmproj /m/p.gguf --jinja | ${SLOT}`],
    [
      'a projector, vision off in the profile',
      { model: { mmproj: '/m/p.gguf' }, profile: { vision: 'off' } },
      `${BASE} | ${JINJA} | ${SLOT}`,
    ],
    [
      'a projector, vision off in [tune]',
      { model: { mmproj: '/m/p.gguf' }, tune: { vision: 'off' } },
      `${BASE} | ${JINJA} | ${SLOT}`,
    ],
    [
      '[tune] switches vision on again',
      { model: { mmproj: '/m/p.gguf' }, profile: { vision: 'off' }, tune: { vision: 'auto' } },
      `${BASE} | model: --mmproj /m/p.gguf --jinja | ${SLOT}`,
    ],
    [
      'a projector that the engine cannot use',
      { model: { mmproj: '/m/p.gguf' }, engine: { abilities: { ...ENGINE.abilities, mmproj: false } } },
      `${BASE} | ${JINJA} | ${SLOT}`,
    ],
    [
      'all of the model',
      { model: { mmproj: '/m/p.gguf', chatTemplate: '/m/t' } },
      `${BASE} | model: --chat-template-file /m/t --mmproj /m/p.gguf --jinja | ${SLOT}`,
    ],
    ['jinja = true', { model: { jinja: true } }, `${BASE} | ${JINJA} | ${SLOT}`],
    ['jinja = false', { model: { jinja: false } }, `${BASE} | ${SLOT}`],
    ['an engine without jinja', { engine: { abilities: NO_ABILITIES } }, `${BASE} | ${SLOT}`],
    // Pooled: no template, no projector, no speculation, no thinking.
    [
      'an embedding slot',
      {
        type: 'embedding',
        model: { mmproj: '/p', drafter: '/d', chatTemplate: '/t' },
        ...flags('--embedding', '-b', '8192'),
      },
      `${BASE} | profile: --embedding -b 8192 | ${SLOT}`,
    ],
    [
      'a reranking slot',
      { type: 'reranking', model: { mtp: true }, ...flags('--reranking') },
      `${BASE} | profile: --reranking | ${SLOT}`,
    ],
    [
      'a chat slot with a mode flag',
      { model: { drafter: '/d' }, ...flags('--embeddings') },
      `${BASE} | profile: --embeddings | ${SLOT}`,
    ],
    [
      'pooled: no reasoning',
      { type: 'embedding', profile: { reasoningEffort: 'low' }, tune: { reasoning_budget: 1 } },
      `${BASE} | ${SLOT} --embedding`,
    ],
    // Speculation.
    [
      'a drafter on the CPU',
      { model: { drafter: '/m/d.gguf' } },
      `${BASE} | ${JINJA} | profile: --spec-type draft-simple --spec-draft-model /m/d.gguf | slot: --metrics --spec-draft-device none`,
    ],
    [
      'a drafter on ROCm',
      { device: 'gpu-rocm', model: { drafter: '/d' } },
      `${BASE} | ${JINJA} | profile: --spec-type draft-simple --spec-draft-model /d | slot: --metrics --spec-draft-device ROCm0`,
    ],
    [
      'a drafter on Vulkan',
      { device: 'gpu-vulkan', model: { drafter: '/d' } },
      `${BASE} | ${JINJA} | profile: --spec-type draft-simple --spec-draft-model /d | slot: --metrics --spec-draft-device Vulkan0`,
    ],
    [
      'heads on CUDA',
      { device: 'gpu-cuda', model: { mtp: true } },
      `${BASE} | ${JINJA} | profile: --spec-type draft-mtp | slot: --metrics --spec-draft-device CUDA0`,
    ],
    [
      'heads by the tag',
      { model: { tags: ['mtp'] } },
      `${BASE} | ${JINJA} | profile: --spec-type draft-mtp | slot: --metrics --spec-draft-device none`,
    ],
    [
      'n-grams need no device',
      { profile: { speculation: 'ngram' } },
      `${BASE} | ${JINJA} | profile: --spec-type ngram-mod | ${SLOT}`,
    ],
    ['speculation off', { profile: { speculation: 'off' }, model: { drafter: '/d' } }, `${BASE} | ${JINJA} | ${SLOT}`],
    [
      '[tune] wins over the profile',
      { profile: { speculation: 'off' }, tune: { speculation: 'auto' }, model: { drafter: '/d' } },
      `${BASE} | ${JINJA} | profile: --spec-type draft-simple --spec-draft-model /d | slot: --metrics --spec-draft-device none`,
    ],
    [
      "the profile's own --spec-draft-* win",
      { model: { mtp: true }, ...flags('--spec-draft-n-max', '5') },
      `${BASE} | ${JINJA} | profile: --spec-type draft-mtp --spec-draft-n-max 5 | slot: --metrics --spec-draft-device none`,
    ],
    [
      "the profile's own --spec-type wins",
      { model: { drafter: '/d' }, ...flags('--spec-type', 'draft-eagle3') },
      `${BASE} | ${JINJA} | profile: --spec-draft-model /d --spec-type draft-eagle3 | slot: --metrics --spec-draft-device none`,
    ],
    [
      "the profile's --spec-type needs no drafter",
      { model: { drafter: '/d' }, ...flags('--spec-type', 'ngram-simple') },
      `${BASE} | ${JINJA} | profile: --spec-type ngram-simple | ${SLOT}`,
    ],
    [
      "the draft device is the slot's",
      { model: { mtp: true }, ...flags('-devd', 'Vulkan1') },
      `${BASE} | ${JINJA} | profile: --spec-type draft-mtp | slot: --metrics --spec-draft-device none`,
    ],
    // Profile and tune.
    [
      'the flags of the profile in their order',
      flags('--temp', '0.7', '--top-k', '40', '-fa', 'on'),
      `${BASE} | ${JINJA} | profile: --temp 0.7 --top-k 40 -fa on | ${SLOT}`,
    ],
    [
      'the last one wins, where it stands',
      flags('--temp', '0.1', '--top-k', '40', '--temperature', '0.9'),
      `${BASE} | ${JINJA} | profile: --top-k 40 --temperature 0.9 | ${SLOT}`,
    ],
    [
      'opposites are one flag',
      flags('--mmap', '-nkvo', '--no-mmap', '--kv-offload'),
      `${BASE} | ${JINJA} | profile: --no-mmap --kv-offload | ${SLOT}`,
    ],
    [
      'with an equals sign',
      flags('--temp=0.7', '--override-kv=a.b=int:3'),
      `${BASE} | ${JINJA} | profile: --temp 0.7 --override-kv a.b=int:3 | ${SLOT}`,
    ],
    ['underscores', flags('--batch_size', '64', '-b', '32'), `${BASE} | ${JINJA} | profile: -b 32 | ${SLOT}`],
    [
      'negative numbers are values',
      flags('--seed', '-1', '--reasoning-budget', '-1', '-l', '15-0.5'),
      `${BASE} | ${JINJA} | profile: --seed -1 --reasoning-budget -1 -l 15-0.5 | ${SLOT}`,
    ],
    [
      'two values',
      flags('--control-vector-layer-range', '3', '9'),
      `${BASE} | ${JINJA} | profile: --control-vector-layer-range 3 9 | ${SLOT}`,
    ],
    [
      'repeatable flags accumulate',
      flags('--lora', '/a', '--lora', '/b', '--lora-scaled', '/c:1', '--override-kv', 'x', '--override-kv', 'x'),
      `${BASE} | ${JINJA} | profile: --lora /a --lora /b --lora-scaled /c:1 --override-kv x --override-kv x | ${SLOT}`,
    ],
    [
      'an unknown flag takes what follows',
      flags('--new-thing', '1', '2', '--other-thing'),
      `${BASE} | ${JINJA} | profile: --new-thing 1 2 --other-thing | ${SLOT}`,
    ],
    ['metrics twice', flags('--metrics'), `${BASE} | ${JINJA} | ${SLOT}`],
    [
      'keys of the profile about reasoning',
      { profile: { reasoningEffort: 'high', reasoningBudget: 2048 } },
      `${BASE} | ${JINJA} | profile: --reasoning-effort high --reasoning-budget 2048 | ${SLOT}`,
    ],
    [
      "the profile's flags win over its keys",
      { profile: { reasoningEffort: 'high', flags: ['--reasoning-effort', 'low'] } },
      `${BASE} | ${JINJA} | profile: --reasoning-effort low | ${SLOT}`,
    ],
    [
      "[tune] wins over the profile's keys and flags",
      {
        tune: { reasoning_effort: 'max', reasoning_budget: 0 },
        profile: { reasoningBudget: 9, flags: ['--reasoning-effort', 'low'] },
      },
      `${BASE} | ${JINJA} | slot: --metrics --reasoning-effort max --reasoning-budget 0`,
    ],
    ['thinking is no flag', { tune: { enable_thinking: false } }, `${BASE} | ${JINJA} | ${SLOT}`],
  ])('%s', (_name, change, expected) => {
    expect(showLayers(assemble(change))).toBe(expected)
  })

  it('is an array of words, whatever stands in them', () => {
    const words = [
      '--grammar',
      'root ::= "a\\n" # b',
      '--json-schema',
      '{"a": "b c"}',
      '--tags',
      '',
      '--samplers',
      "it's;$HOME`x`",
    ]
    const launch = assemble({ model: { path: '/m/a b "c" #1.gguf' }, ...flags(...words) })
    expect(argvOf(launch.plan)).toEqual([
      '/usr/bin/llama-server',
      '--host',
      '127.0.0.1',
      '--port',
      '8081',
      '--model',
      '/m/a b "c" #1.gguf',
      '--alias',
      'agent',
      '--ctx-size',
      '4096',
      '--jinja',
      ...words,
      '--metrics',
    ])
  })

  it('keeps what stands before the flags, the key and the environment', () => {
    const { plan } = assemble({
      engine: { command: ['/usr/bin/node', '/x/server.js'] },
      device: 'gpu-rocm',
      gpus: [2],
      env: { FOO: 'bar', HIP_VISIBLE_DEVICES: '1' },
    })
    expect(plan).toMatchObject({
      slot: 'agent',
      port: 8081,
      keyEnv: 'LLAMA_API_KEY',
      command: ['/usr/bin/node', '/x/server.js'],
    })
    expect(plan.env).toEqual({ ROCR_VISIBLE_DEVICES: '2', HIP_VISIBLE_DEVICES: '1', FOO: 'bar' })
  })
})

describe('what is left out', () => {
  it.each<[string, RequestChange, readonly string[]]>([
    [
      'what hal0 manages',
      flags('--port', '1', '-m=/x', '--temp', '1', '-c', '9'),
      ['profile denied --port 1', 'profile denied -m /x', 'profile denied -c 9'],
    ],
    [
      'flags that open files',
      flags('--grammar-file', '/x', '-jf', '/y'),
      ['profile denied --grammar-file /x', 'profile denied -jf /y'],
    ],
    ['a managed flag without its value', flags('--host'), ['profile denied --host']],
    ['an earlier setting', flags('--temp', '0.1', '--temp', '0.2'), ['profile replaced --temp 0.1']],
    [
      'what the draft bundle set',
      { model: { mtp: true }, ...flags('--spec-type', 'draft-mtp,ngram-mod') },
      ['profile replaced --spec-type draft-mtp'],
    ],
    [
      'what [tune] replaces',
      { tune: { reasoning_budget: 0 }, profile: { reasoningBudget: 5 } },
      ['profile replaced --reasoning-budget 5'],
    ],
    [
      'what changes only the speed',
      {
        engine: { noEffect: new Set(['-fa', '-nkvo', '--no-mmap']), help: BARE },
        ...flags('--flash-attn', 'on', '--no_mmap', '--no-kv-offload'),
      },
      ['profile no_effect --flash-attn on', 'profile no_effect --no_mmap', 'profile no_effect --no-kv-offload'],
    ],
    [
      'nothing that changes only the speed, where the engine knows it',
      {
        engine: { noEffect: new Set(['-fa', '-kvu']), help: engineHelp(...BARE_FLAGS, '-fa 1', '--kv-unified 0') },
        ...flags('--flash-attn', 'on', '-kvu'),
      },
      [],
    ],
    [
      'nothing of an engine that cannot be asked',
      { engine: { noEffect: new Set(['-fa']), help: undefined }, ...flags('-fa', 'on') },
      [],
    ],
    [
      'the mode that does not fit the type',
      { type: 'reranking', ...flags('--embedding', '--rerank') },
      ['profile denied --embedding'],
    ],
    [
      'the other mode that does not fit',
      { type: 'embedding', ...flags('--rerank', '--embedding') },
      ['profile denied --rerank'],
    ],
    ['the second mode of a chat slot', flags('--rerank', '--embedding'), ['profile denied --embedding']],
  ])('%s', (_name, change, expected) => {
    expect(showRemoved(assemble(change))).toEqual(expected)
  })

  it('does not say of a flag without effect that only speed is at stake', () => {
    const { removed } = assemble({
      engine: { noEffect: new Set(['--cache-type-k']), help: BARE },
      ...flags('--cache-type-k', 'q8_0'),
    })
    expect(removed[0]?.detail).toMatch(/has nothing like it.*\(speed, memory, checks\)/)
  })

  it('is explained beside the flag that stands', () => {
    const launch = assemble({
      tune: { reasoning_effort: 'max' },
      profile: { reasoningEffort: 'high', flags: ['--reasoning-effort', 'low', '--reasoning_effort', 'medium'] },
    })
    expect(explainFlags(launch).find(({ canonical }) => canonical === '--reasoning-effort')).toEqual({
      flag: '--reasoning-effort',
      values: ['max'],
      layer: 'slot',
      canonical: '--reasoning-effort',
      replaced: [
        { flag: '--reasoning-effort', values: ['high'], layer: 'profile' },
        { flag: '--reasoning-effort', values: ['low'], layer: 'profile' },
        { flag: '--reasoning_effort', values: ['medium'], layer: 'profile' },
      ],
    })
    expect(launch.removed[0]?.detail).toBe('the slot sets --reasoning-effort max')
  })
})

describe('an engine that says what it knows', () => {
  const known =
    '--host 1|--port 1|--model -m 1|--alias 1|--ctx-size 1|--metrics 0|--temp 1|--spec-draft-n-max 1|--kv-offload --no-kv-offload 0|--load-mode 1'
  const help = engineHelp(...known.split('|'))

  it.each<[string, RequestChange, string]>([
    ['leaves out what hal0 adds for comfort', { model: { mmproj: '/p' } }, `${BASE} | ${SLOT}`],
    [
      'writes the name that the build knows',
      flags('--draft-max', '7'),
      `${BASE} | profile: --spec-draft-n-max 7 | ${SLOT}`,
    ],
    ['writes the opposite by its name', flags('-nkvo'), `${BASE} | profile: --no-kv-offload | ${SLOT}`],
    [
      'takes a new spelling with its values',
      {
        engine: { help: engineHelp(...known.split('|'), '--new --newer 2') },
        ...flags('--newer', '1', '2', '--new', '3', '4'),
      },
      `${BASE} | profile: --new 3 4 | ${SLOT}`,
    ],
    [
      'never takes a new name of what hal0 manages',
      { engine: { help: engineHelp(...known.split('|'), '--port --listen-port 1') }, ...flags('--listen-port', '1') },
      `${BASE} | ${SLOT}`,
    ],
  ])('%s', (_name, change, expected) => {
    expect(showLayers(assemble({ ...change, engine: { help, ...change.engine } }))).toBe(expected)
  })

  it.each<[string, RequestChange, string, Record<string, unknown>]>([
    [
      'a flag of the profile',
      flags('--tmep', '1'),
      'slot agent: runner standard does not know --tmep (profile chat); did you mean --temp?',
      { flag: '--tmep', layer: 'profile', nearest: '--temp' },
    ],
    [
      'a flag that is like no other',
      flags('--mirostat', '1'),
      'slot agent: runner standard does not know --mirostat (profile chat)',
      { flag: '--mirostat' },
    ],
    [
      'the opposite of a flag is no name of it',
      { engine: { help: engineHelp(...BARE_FLAGS, '--kv-offload 0') }, ...flags('-nkvo') },
      'slot agent: runner standard does not know -nkvo (profile chat)',
      { flag: '-nkvo' },
    ],
    [
      'a flag that newer builds have no more',
      flags('--no-mmap'),
      'slot agent: runner standard does not know --no-mmap (profile chat); did you mean --load-mode none?',
      { nearest: '--load-mode none' },
    ],
    [
      'a flag of the slot',
      { threads: 3 },
      'slot agent: runner standard does not know --threads (layer slot: threads of slot agent)',
      { layer: 'slot', remedy: expect.stringMatching(/^Take threads of slot agent back, or/) },
    ],
    [
      'a flag of the model',
      { model: { chatTemplate: '/t' } },
      'slot agent: runner standard does not know --chat-template-file (layer model: chat_template of the model)',
      { layer: 'model' },
    ],
    [
      'a key of [tune]',
      { tune: { reasoning_effort: 'low' } },
      'slot agent: runner standard does not know --reasoning-effort (layer slot: reasoning_effort in [tune] of slot agent)',
      { layer: 'slot' },
    ],
    [
      'a key of the profile',
      { profile: { reasoningBudget: 5 } },
      'slot agent: runner standard does not know --reasoning-budget (layer profile: reasoning_budget of profile chat)',
      { layer: 'profile', profile: 'chat' },
    ],
    [
      'the opposite of what only changes the speed',
      { engine: { noEffect: new Set(['--kv-unified']) }, ...flags('--no-kv-unified') },
      'slot agent: runner standard does not know --no-kv-unified (profile chat)',
      { flag: '--no-kv-unified' },
    ],
    [
      'a program that is no such engine',
      { engine: { help: engineHelp('--port 1') } },
      'slot agent: runner standard does not know --host (layer base)',
      { layer: 'base', remedy: expect.stringContaining('[runners.standard]') },
    ],
    [
      'a flag that is like one that no profile may set',
      flags('--PORT', '1'),
      'slot agent: runner standard does not know --PORT (profile chat)',
      { remedy: expect.stringContaining('`hal0 profile create NAME --from chat`') },
    ],
  ])('refuses %s', (_name, change, message, details) => {
    const launch = assembleLaunch(launchRequest({ ...change, engine: { help, ...change.engine } }))
    expect(launch.ok ? undefined : launch.error).toMatchObject({ code: 'slot.flag_unsupported', message, details })
  })
})

describe('words that are no flags', () => {
  it.each<[string, readonly string[], string]>([
    ['a value without a flag', ['--metrics', 'yes'], '"yes" (word 2) is a value without a flag'],
    ['a flag without its value', ['--temp', '--top-k', '3'], '--temp needs a value'],
    ['too few values', ['--control-vector-layer-range', '1'], '--control-vector-layer-range needs 2 values'],
    ['a switch with a value', ['--metrics=1'], '--metrics takes no value'],
    ['a blank in a name', ['--temp 0.7'], '"--temp 0.7" (word 1) is no name of a flag'],
    [
      'a managed flag as a value',
      ['--grammar=--port', '--temp', '1'],
      '--grammar cannot have the value "--port", which the engine reads as a flag',
    ],
    ['an empty word', [''], '"" (word 1) is a value without a flag'],
    ['a NUL', ['-r', 'a', '--grammar', 'b\0c'], 'word 4 contains a NUL character, which no command line can hold'],
    ['half of a character', ['-r', 'a\ud800b'], 'word 2 contains half of a character (a lone surrogate)'],
  ])('%s', (_name, words, problem) => {
    const launch = assembleLaunch(launchRequest(flags(...words)))
    expect(launch.ok ? undefined : launch.error).toMatchObject({
      code: 'slot.config_error',
      message: `slot agent: the flags of profile chat cannot be read: ${problem}`,
      param: 'flags',
    })
  })
})
