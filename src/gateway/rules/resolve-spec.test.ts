import { describe, expect, it } from 'vitest'
import type { SlotType } from '../../contract/slot-row.ts'
import type { RouteCandidate } from './find-slot.ts'
import { type RouteQuery, resolveRoute } from './resolve-route.ts'

/** One row for each sentence of SPEC 11 "Resolution". */
function slot(name: string, facts: Partial<RouteCandidate> = {}): RouteCandidate {
  return {
    ...{ name, aliases: [], type: 'llm', default: false, state: 'ready', idle_reason: null, model_id: `${name}-model` },
    ...{ device: 'cpu', runner: 'standard', in_flight: 0, lastUsedMs: 0 },
    ...facts,
  }
}

const cold = { state: 'offline' } as const
const empty = { model_id: null } as const
const AGENT = slot('agent')
const UTILITY = slot('utility')
const X = slot('x', { aliases: ['ex'] })
const NPU = slot('flm', { device: 'npu', runner: 'flm' })
const EMBED = slot('embed', { type: 'embedding' })
const RERANK = slot('rerank', { type: 'reranking' })
const TTS = slot('tts', { type: 'tts', runner: 'kokoro', ...empty })
const IMG = slot('img', { type: 'image', runner: 'comfyui' })
const HEAR = slot('hear', { type: 'transcription', default: true, runner: 'moonshine', ...empty })
const SCRATCH = slot('scratch', { ...cold, ...empty })
const ALL = [AGENT, EMBED, NPU, HEAR, IMG, RERANK, SCRATCH, TTS, UTILITY, X]

type House = readonly RouteCandidate[]
/** The slot, ` !` behind a fallback, ` <- model` behind one that loads it first, or the code of the error. */
function go(model: string | undefined, rows: House, more: Partial<RouteQuery> = {}): string {
  const decision = resolveRoute({
    ...{ model, rows, needs: 'llm', unknownModel: 'agent', registered: new Set(['shelf']), onDemandSlot: 'scratch' },
    ...more,
  })
  if (decision.kind === 'error') return decision.code
  if (decision.kind === 'on_demand') return `${decision.slot} <- ${decision.modelId}`
  return decision.fallback ? `${decision.slot} !` : decision.slot
}

describe('1: names and chains', () => {
  it.each<[string, string, House, string]>([
    ['a slot', 'x', ALL, 'x'],
    ['a slot, cold', 'x', [AGENT, { ...X, ...cold }], 'x'],
    ['an alias', 'ex', ALL, 'x'],
    ['hal0/<slot>', 'hal0/x', ALL, 'x'],
    ['hal0/<alias>', 'hal0/ex', ALL, 'x'],
    ['hal0/utility → utility', 'hal0/utility', ALL, 'utility'],
    ['hal0/utility → agent, where utility is cold', 'hal0/utility', [AGENT, { ...UTILITY, ...cold }], 'agent'],
    [
      'hal0/utility → agent, where utility is without a model',
      'hal0/utility',
      [AGENT, { ...UTILITY, ...empty }],
      'agent',
    ],
    ['hal0/utility → agent, where there is none', 'hal0/utility', [AGENT, X], 'agent'],
    [
      'hal0/utility, all cold: the first is loaded',
      'hal0/utility',
      [
        { ...AGENT, ...cold },
        { ...UTILITY, ...cold },
      ],
      'utility',
    ],
    [
      'hal0/utility, only agent has a model',
      'hal0/utility',
      [
        { ...AGENT, ...cold },
        { ...UTILITY, ...empty },
      ],
      'agent',
    ],
    ['hal0/npu → the slot of the NPU', 'hal0/npu', ALL, 'flm'],
    ['hal0/npu → a slot of that name before any other on the NPU', 'hal0/npu', [AGENT, NPU, slot('npu')], 'npu'],
    ['hal0/npu → utility', 'hal0/npu', [AGENT, { ...NPU, ...cold }, UTILITY], 'utility'],
    ['hal0/npu → agent', 'hal0/npu', [AGENT, { ...NPU, ...cold }, { ...UTILITY, ...cold }], 'agent'],
    [
      'hal0/npu, all cold: its own is loaded',
      'hal0/npu',
      [AGENT, NPU, UTILITY].map((row) => ({ ...row, ...cold })),
      'flm',
    ],
    ['hal0/npu without an NPU, all cold', 'hal0/npu', [AGENT, UTILITY].map((row) => ({ ...row, ...cold })), 'utility'],
    ['hal0/x → agent, where x is cold', 'hal0/x', [AGENT, { ...X, ...cold }], 'agent'],
    [
      'hal0/x, both cold: x is loaded',
      'hal0/x',
      [
        { ...AGENT, ...cold },
        { ...X, ...cold },
      ],
      'x',
    ],
    ['hal0/typo goes to 5', 'hal0/typo', ALL, 'agent !'],
    ['hal0/ alone goes to 5', 'hal0/', ALL, 'agent !'],
    ['hal0/hal0/x goes to 5', 'hal0/hal0/x', ALL, 'agent !'],
    ['HAL0/x goes to 5', 'HAL0/x', ALL, 'agent !'],
  ])('%s', (_name, model, rows, expected) => expect(go(model, rows)).toBe(expected))

  it('who stands in for hal0/<slot> answers the path: a cold slot for embeddings is loaded, agent is not asked', () => {
    const needs = 'embedding' as const
    expect(go('hal0/embed', [AGENT, { ...EMBED, ...cold }], { needs })).toBe('embed')
    expect(go('hal0/utility', [AGENT, { ...UTILITY, ...cold }], { needs })).toBe('utility')
  })

  it('hal0/typo is rejected as any unknown name', () => {
    expect(go('hal0/typo', ALL, { unknownModel: 'reject' })).toBe('model_not_found')
  })
})

describe('2 and 3: models', () => {
  const loaded = slot('a', { model_id: 'm', in_flight: 3 })
  const bound = slot('b', { model_id: 'm', ...cold })
  const none = { registered: new Set<string>() }
  it.each<[string, string, House, Partial<RouteQuery>, string]>([
    ['2: one that has it loaded, before one that is only bound', 'm', [AGENT, bound, loaded], {}, 'a'],
    ['3: the registry binding', 'm', [AGENT, bound], {}, 'b'],
    ['3: else the slot on demand', 'shelf', ALL, {}, 'scratch <- shelf'],
    ['3: made at first use', 'shelf', [AGENT], {}, 'scratch <- shelf'],
    [
      '3: swapped: it has another one',
      'shelf',
      [AGENT, { ...SCRATCH, model_id: 'other', state: 'ready' }],
      {},
      'scratch <- shelf',
    ],
    ['3: another name for it', 'shelf', [AGENT], { onDemandSlot: 'spare' }, 'spare <- shelf'],
    ['3: "" → 404', 'shelf', [AGENT], { onDemandSlot: '' }, 'model_not_found'],
    ['3: not registered → 5', 'shelf', [AGENT], none, 'agent !'],
    ['3: a file name is no id → 5', 'shelf.gguf', [AGENT], {}, 'agent !'],
  ])('%s', (_name, model, rows, more, expected) => expect(go(model, rows, more)).toBe(expected))

  it.each([
    ['llm', 'hal0 slot edit SLOT --model shelf'],
    ['embedding', 'hal0 slot create NAME --type embedding --model shelf'],
  ] as const)('the 404 names the command that would bind it (%s)', (needs, command) => {
    const query = { model: 'shelf', needs, rows: [AGENT], unknownModel: 'agent', onDemandSlot: '' } as const
    expect(resolveRoute({ ...query, registered: new Set(['shelf']) })).toMatchObject({
      message: expect.stringContaining(command) as string,
      remedy: expect.stringContaining(`\`${command}\``) as string,
    })
  })
})

describe('4: no model, or a type route', () => {
  it.each<[string, SlotType, string | undefined, House, string]>([
    ['no model: agent', 'llm', undefined, ALL, 'agent'],
    ['an empty one is none', 'llm', '', ALL, 'agent'],
    ['embeddings → embed', 'embedding', undefined, ALL, 'embed'],
    ['rerank → rerank', 'reranking', undefined, ALL, 'rerank'],
    ['speech → tts, whose engine brings its model', 'tts', undefined, ALL, 'tts'],
    ["transcriptions → its type's default", 'transcription', undefined, ALL, 'hear'],
    ['images → img', 'image', undefined, ALL, 'img'],
    [
      'a name of another service → embed, and the client is told',
      'embedding',
      'text-embedding-3-small',
      ALL,
      'embed !',
    ],
    ['a voice of another service', 'tts', 'tts-1', ALL, 'tts !'],
    ['whisper-1', 'transcription', 'whisper-1', ALL, 'hear !'],
    ['a slot named goes before the type', 'embedding', 'agent', ALL, 'agent'],
    ['a type without any slot', 'reranking', undefined, [AGENT, EMBED], 'dispatch.no_route'],
    ['a type whose slot has no model', 'embedding', undefined, [AGENT, { ...EMBED, ...empty }], 'dispatch.no_route'],
  ])('%s', (_name, needs, model, rows, expected) => expect(go(model, rows, { needs })).toBe(expected))

  it('a type route answers unknown names also where they are rejected', () => {
    expect(go('ada', ALL, { needs: 'embedding', unknownModel: 'reject' })).toBe('embed !')
  })
})

describe('5: a name nobody knows', () => {
  const reject = { unknownModel: 'reject' } as const
  it.each<[string, House, Partial<RouteQuery>, string]>([
    ['agent, with X-Hal0-Route: fallback', ALL, {}, 'agent !'],
    ['agent, cold', [{ ...AGENT, ...cold }], {}, 'agent !'],
    ['reject: 404 model_not_found', ALL, reject, 'model_not_found'],
    ['no target at all: 404 dispatch.no_route', [], {}, 'dispatch.no_route'],
    ['no slot has a model', [{ ...AGENT, ...empty }], {}, 'dispatch.no_route'],
    ['no slot has a model, rejecting', [{ ...AGENT, ...empty }], reject, 'dispatch.no_route'],
    ['never another slot than agent', [X], {}, 'dispatch.no_route'],
    ['but the default of the type', [X, { ...UTILITY, default: true }], {}, 'utility !'],
  ])('%s', (_name, rows, more, expected) => expect(go('gpt-4o', rows, more)).toBe(expected))

  it.each([
    ['llm', [], 'hal0 slot create agent --model MODEL'],
    ['llm', [{ ...AGENT, ...empty }], 'hal0 slot edit agent --model MODEL'],
    ['embedding', [AGENT], 'hal0 slot create embed --type embedding --model MODEL'],
    ['transcription', [AGENT], 'hal0 slot create NAME --type transcription'],
    // It made a slot of the built-in engine, which does not rerank.
    ['reranking', [AGENT], 'hal0 slot create rerank --type reranking --binary cpu --model MODEL'],
  ] as const)('no target for %s: the command that makes one', (needs, rows, command) => {
    const query = { model: '', needs, rows, unknownModel: 'agent', registered: new Set<string>() } as const
    expect(resolveRoute({ ...query, onDemandSlot: '' })).toMatchObject({
      remedy: expect.stringContaining(`\`${command}\``) as string,
    })
  })
})
