import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SLOT_STATES } from '../../contract/slot-state.ts'
import type { RouteCandidate } from './find-slot.ts'
import { type RouteQuery, resolveRoute } from './resolve-route.ts'

function slot(name: string, facts: Partial<RouteCandidate> = {}): RouteCandidate {
  return {
    name,
    aliases: [],
    type: 'llm',
    default: false,
    state: 'ready',
    idle_reason: null,
    model_id: `${name}-model`,
    device: 'cpu',
    runner: 'embedded',
    in_flight: 0,
    lastUsedMs: 0,
    ...facts,
  }
}

const resolve = (
  model: string | undefined,
  rows: RouteCandidate[],
  unknownModel: 'agent' | 'reject' = 'agent',
  more: Partial<RouteQuery> = {},
) => resolveRoute({ model, needs: 'llm', rows, unknownModel, registered: new Set(), onDemandSlot: '', ...more })

describe('resolveRoute', () => {
  const house = [
    slot('agent'),
    slot('utility', { aliases: ['gpt', 'agent'] }),
    slot('cold', { state: 'offline', aliases: ['frost'] }),
    slot('bare', { model_id: null, aliases: ['naked'] }),
  ]

  it.each([
    ['1 slot name', 'utility', 'utility', false],
    ['1 slot name, cold', 'cold', 'cold', false],
    ['1 slot name without a model: acquire will say so', 'bare', 'bare', false],
    ['1 hal0/<slot>', 'hal0/utility', 'utility', false],
    ['1 hal0/<slot> that is cold: the chain goes on to agent', 'hal0/cold', 'agent', false],
    ['1 hal0/<slot> without a model: the chain goes on to agent', 'hal0/bare', 'agent', false],
    ['1 hal0/npu without any npu slot', 'hal0/npu', 'utility', false],
    ['3 bound model', 'cold-model', 'cold', false],
    ['4 no model', undefined, 'agent', false],
    ['4 empty model', '', 'agent', false],
    ['1 alias', 'gpt', 'utility', false],
    ['1 alias of a slot without a model: acquire will say so', 'naked', 'bare', false],
    ['1 hal0/<alias>', 'hal0/gpt', 'utility', false],
    ['1 hal0/<alias> that is cold: the chain goes on to agent', 'hal0/frost', 'agent', false],
    ['1 a name goes before an alias', 'agent', 'agent', false],
    ['5 aliases are case-sensitive', 'GPT', 'agent', true],
    ['5 unknown name', 'gpt-4o', 'agent', true],
    ['5 hal0/typo', 'hal0/typo', 'agent', true],
    ['5 names are case-sensitive', 'Agent', 'agent', true],
  ])('%s', (_name, model, expected, fallback) => {
    expect(resolve(model, house)).toMatchObject({ kind: 'slot', slot: expected, fallback })
  })

  it.each([
    ['5 unknown name, rejected', 'gpt-4o', house, 'reject', 'model_not_found'],
    ['no slot at all', 'gpt-4o', [], 'agent', 'dispatch.no_route'],
    ['no slot at all, rejecting', 'gpt-4o', [], 'reject', 'dispatch.no_route'],
    ['no model and no agent', undefined, [slot('other')], 'agent', 'dispatch.no_route'],
    ['agent without a model', 'x', [slot('agent', { model_id: null })], 'agent', 'dispatch.no_route'],
  ] as const)('%s', (_name, model, rows, unknownModel, code) => {
    expect(resolve(model, [...rows], unknownModel)).toMatchObject({ kind: 'error', code })
  })

  it('cold-loads the first of a chain when nothing of it serves', () => {
    const rows = [slot('agent', { state: 'offline' }), slot('x', { state: 'error' })]
    expect(resolve('hal0/x', rows)).toMatchObject({ slot: 'x' })
  })

  it('a chain passes over a slot that is idle without a model', () => {
    const rows = [slot('agent'), slot('utility', { state: 'idle', idle_reason: 'no_model' })]
    expect(resolve('hal0/utility', rows)).toMatchObject({ slot: 'agent' })
  })

  const m = { model_id: 'm' }
  it.each([
    ['dispatchable before starting', [slot('a', { ...m, state: 'starting' }), slot('b', { ...m, state: 'idle' })], 'b'],
    ['starting before offline', [slot('a', { ...m, state: 'offline' }), slot('b', { ...m, state: 'pulling' })], 'b'],
    ['offline before error', [slot('a', { ...m, state: 'error' }), slot('b', { ...m, state: 'unloading' })], 'b'],
    [
      'offline before idle without a model',
      [slot('a', { ...m, state: 'idle', idle_reason: 'no_model' }), slot('b', { ...m, state: 'offline' })],
      'b',
    ],
    [
      'idle and quiet serves',
      [slot('b', { ...m, state: 'idle', idle_reason: 'quiet' }), slot('a', { ...m, state: 'starting' })],
      'b',
    ],
    ['fewest in flight', [slot('a', { ...m, in_flight: 2 }), slot('b', { ...m, in_flight: 1 })], 'b'],
    ['most recently used', [slot('a', { ...m, lastUsedMs: 1_000 }), slot('b', { ...m, lastUsedMs: 2_000 })], 'b'],
    ['used before never used', [slot('a', m), slot('b', { ...m, lastUsedMs: 2_000 })], 'b'],
    ['name as the last word', [slot('b', m), slot('a', m)], 'a'],
  ])('3 order: %s', (_name, rows, expected) => expect(resolve('m', rows)).toMatchObject({ slot: expected }))

  it('never names a slot that does not exist, and moves nobody away from an existing name', () => {
    const row = fc.record({
      aliases: fc.constantFrom<string[]>([], ['al'], ['x', 'agent']),
      type: fc.constantFrom('llm' as const, 'embedding' as const),
      default: fc.boolean(),
      name: fc.constantFrom('agent', 'utility', 'npu', 'x', 'y'),
      state: fc.constantFrom(...SLOT_STATES),
      idle_reason: fc.constantFrom('quiet' as const, 'no_model' as const, null),
      model_id: fc.constantFrom('m', 'n', null),
      runner: fc.constantFrom('embedded', 'kokoro'),
      device: fc.constantFrom('cpu' as const, 'npu' as const),
      in_flight: fc.nat(3),
      lastUsedMs: fc.constantFrom(0, 1_700_000_000_000),
    })
    const names = fc.constantFrom(
      undefined,
      '',
      'agent',
      'x',
      'm',
      'n',
      'hal0/x',
      'hal0/npu',
      'hal0/utility',
      'hal0/',
      'typo',
      'al',
      'r',
      'embed-rerank',
    )
    const needs = fc.constantFrom('llm' as const, 'embedding' as const, 'reranking' as const)
    const onDemandSlot = fc.constantFrom('', 'y', 'scratch')
    fc.assert(
      fc.property(
        fc.uniqueArray(row, { selector: (r) => r.name }),
        names,
        fc.boolean(),
        fc.record({ needs, onDemandSlot }),
        (rows, model, reject, more) => {
          const registered = new Set<string>(['m', 'r'])
          const decision = resolve(model, rows, reject ? 'reject' : 'agent', { ...more, registered })
          expect(decision.steps).toEqual([])
          const told = resolve(model, rows, reject ? 'reject' : 'agent', { ...more, registered, explain: true })
          expect({ ...told, steps: [] }).toEqual(decision)
          const last = told.steps.at(-1)
          expect(`${last?.n} ${last?.text}`).toBe(decision.reason)
          expect(last?.outcome).toBe(decision.kind === 'error' ? 'failed' : 'chosen')
          expect(told.steps.slice(0, -1).every(({ outcome }) => outcome === 'passed')).toBe(true)
          expect(told.steps.map(({ n }) => n)).toEqual(told.steps.map(({ n }) => n).toSorted((a, b) => a - b))
          if (decision.kind === 'error') return
          if (decision.kind === 'on_demand') {
            expect([decision.slot, decision.modelId]).toEqual([more.onDemandSlot, model])
            expect(registered.has(model ?? '')).toBe(true)
            return
          }
          const chosen = rows.find((r) => r.name === decision.slot)
          expect(chosen).toBeDefined()
          if (rows.some((r) => r.name === model)) expect(decision.slot).toBe(model)
          // Kokoro brings its model.
          else if (!chosen?.aliases.includes(model ?? ''))
            expect([chosen?.runner, chosen?.model_id]).not.toEqual(['embedded', null])
        },
      ),
    )
  })
})

describe('resolveRoute: models that slots have, may get, or need', () => {
  const agent = slot('agent')
  const scratch = slot('scratch', { model_id: null })
  const more = { registered: new Set(['known']), onDemandSlot: 'scratch' }

  it.each([
    [
      '2 loaded',
      [agent, slot('a', { model_id: 'known' })],
      more,
      { kind: 'slot', slot: 'a', reason: '2 has the model loaded' },
    ],
    [
      '3 bound, cold',
      [agent, slot('a', { model_id: 'known', state: 'offline' })],
      more,
      { kind: 'slot', slot: 'a', reason: '3 bound to the model' },
    ],
    ['3 on demand', [agent, scratch], more, { kind: 'on_demand', slot: 'scratch', modelId: 'known' }],
    ['3 on demand, made at first use', [agent], more, { kind: 'on_demand', slot: 'scratch', modelId: 'known' }],
    [
      '2 on demand and loaded: it may be another model by the time of the lease',
      [agent, slot('scratch', { model_id: 'known' })],
      more,
      { kind: 'on_demand', slot: 'scratch', modelId: 'known' },
    ],
    [
      '2 a slot that is bound goes before the one on demand',
      [slot('z', { model_id: 'known' }), slot('scratch', { model_id: 'known', state: 'starting' })],
      more,
      { kind: 'slot', slot: 'z' },
    ],
    [
      '3 no slot on demand',
      [agent],
      { ...more, onDemandSlot: '' },
      {
        kind: 'error',
        code: 'model_not_found',
        message: expect.stringContaining('hal0 slot edit SLOT --model known') as string,
      },
    ],
    [
      '3 the slot on demand cannot answer on this path',
      [agent],
      { ...more, needs: 'embedding' as const },
      { kind: 'error', code: 'model_not_found' },
    ],
    ['5 not registered', [agent], { ...more, registered: new Set<string>() }, { slot: 'agent', fallback: true }],
  ])('%s', (_name, rows, input, expected) => {
    expect(resolve('known', rows, 'agent', input)).toMatchObject(expected)
  })

  it('a slot of another type is asked only where no other has the model', () => {
    const embedding = slot('a', { model_id: 'known', type: 'embedding' })
    const cold = slot('b', { model_id: 'known', state: 'offline' })
    expect(resolve('known', [embedding, cold])).toMatchObject({ slot: 'b' })
    expect(resolve('known', [embedding, cold], 'agent', { needs: 'embedding' })).toMatchObject({ slot: 'a' })
    expect(resolve('known', [embedding])).toMatchObject({ slot: 'a' })
  })

  it('embed-rerank means rerank, unless a slot is called so', () => {
    const rerank = slot('rerank', { type: 'reranking' })
    expect(resolve('embed-rerank', [agent, rerank])).toMatchObject({ slot: 'rerank', fallback: false })
    expect(resolve('hal0/embed-rerank', [agent, rerank])).toMatchObject({ slot: 'rerank' })
    const own = slot('own', { aliases: ['embed-rerank'] })
    expect(resolve('embed-rerank', [agent, rerank, own])).toMatchObject({ slot: 'own' })
    expect(resolve('embed-rerank', [agent])).toMatchObject({ slot: 'agent', fallback: true })
    expect(resolve('constructor', [agent, rerank])).toMatchObject({ slot: 'agent', fallback: true })
  })

  const embed = slot('embed', { type: 'embedding' })
  const other = slot('a', { type: 'embedding' })
  it.each([
    ['the seed', 'embedding', [agent, other, embed], 'embed'],
    ['the default of the type', 'embedding', [agent, embed, { ...other, default: true }], 'a'],
    [
      'a default without a model is passed over',
      'embedding',
      [agent, embed, { ...other, default: true, model_id: null }],
      'embed',
    ],
    ['the first of the type', 'embedding', [agent, other], 'a'],
    ['the default of another type does not count', 'embedding', [{ ...agent, default: true }, embed], 'embed'],
    ['rerank', 'reranking', [agent, slot('rerank', { type: 'reranking' })], 'rerank'],
    ['chat: agent before the default', 'llm', [agent, slot('b', { default: true })], 'agent'],
    [
      'chat: the default where agent has no model',
      'llm',
      [{ ...agent, model_id: null }, slot('b', { default: true })],
      'b',
    ],
  ] as const)('4 no model named: %s', (_name, needs, rows, expected) => {
    expect(resolve('', [...rows], 'agent', { needs })).toMatchObject({ slot: expected, fallback: false })
    const isTypeRoute = needs !== 'llm'
    const unknown = resolve('nobody', [...rows], 'agent', { needs })
    expect(unknown).toMatchObject({
      slot: expected,
      fallback: true,
      reason: isTypeRoute ? `4 the slot for ${needs}` : '5 unknown name',
    })
  })

  it('chat never goes to just any slot, and no path to a slot of another type', () => {
    expect(resolve('', [slot('b'), embed])).toMatchObject({ kind: 'error', code: 'dispatch.no_route' })
    expect(resolve('', [agent], 'agent', { needs: 'embedding' })).toMatchObject({ code: 'dispatch.no_route' })
    expect(resolve('', [agent], 'agent', { needs: 'transcription' })).toMatchObject({
      message: expect.stringContaining('no slot of type transcription') as string,
    })
  })

  it('tells the walk', () => {
    expect(resolve('nobody', [agent], 'agent', { ...more, explain: true }).steps).toEqual([
      { n: 1, text: 'no slot and no alias has this name', outcome: 'passed' },
      { n: 2, text: 'no slot has this model loaded', outcome: 'passed' },
      { n: 3, text: 'no model of this name is registered', outcome: 'passed' },
      { n: 4, text: 'a model is named', outcome: 'passed' },
      { n: 5, text: 'unknown name', outcome: 'chosen' },
    ])
  })
})
