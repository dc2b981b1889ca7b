import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SLOT_STATES } from '../../contract/slot-state.ts'
import { type RouteCandidate, resolveRoute } from './resolve-route.ts'

function slot(name: string, facts: Partial<RouteCandidate> = {}): RouteCandidate {
  return {
    name,
    state: 'ready',
    idle_reason: null,
    model_id: `${name}-model`,
    device: 'cpu',
    in_flight: 0,
    last_used_at: null,
    ...facts,
  }
}

const resolve = (model: string | undefined, rows: RouteCandidate[], unknownModel: 'agent' | 'reject' = 'agent') =>
  resolveRoute({ model, rows, unknownModel })

describe('resolveRoute', () => {
  const house = [slot('agent'), slot('utility'), slot('cold', { state: 'offline' }), slot('bare', { model_id: null })]

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
    [
      'most recently used',
      [
        slot('a', { ...m, last_used_at: '2026-01-01T00:00:00.000Z' }),
        slot('b', { ...m, last_used_at: '2026-01-02T00:00:00.000Z' }),
      ],
      'b',
    ],
    ['used before never used', [slot('a', m), slot('b', { ...m, last_used_at: '2026-01-02T00:00:00.000Z' })], 'b'],
    ['name as the last word', [slot('b', m), slot('a', m)], 'a'],
  ])('3 order: %s', (_name, rows, expected) => expect(resolve('m', rows)).toMatchObject({ slot: expected }))

  it('never names a slot that does not exist, and moves nobody away from an existing name', () => {
    const row = fc.record({
      name: fc.constantFrom('agent', 'utility', 'npu', 'x', 'y'),
      state: fc.constantFrom(...SLOT_STATES),
      idle_reason: fc.constantFrom('quiet' as const, 'no_model' as const, null),
      model_id: fc.constantFrom('m', 'n', null),
      device: fc.constantFrom('cpu' as const, 'npu' as const),
      in_flight: fc.nat(3),
      last_used_at: fc.constantFrom(null, '2026-01-01T00:00:00.000Z'),
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
    )
    fc.assert(
      fc.property(fc.uniqueArray(row, { selector: (r) => r.name }), names, fc.boolean(), (rows, model, reject) => {
        const decision = resolve(model, rows, reject ? 'reject' : 'agent')
        if (decision.kind === 'error') return
        expect(rows.map((r) => r.name)).toContain(decision.slot)
        if (rows.some((r) => r.name === model)) expect(decision.slot).toBe(model)
        else expect(rows.find((r) => r.name === decision.slot)?.model_id).not.toBeNull()
      }),
    )
  })
})
