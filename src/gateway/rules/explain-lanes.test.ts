import { describe, expect, it } from 'vitest'
import { routeExplanationSchema } from '../../contract/route-explanation.ts'
import type { LaneStanding } from '../../lanes/rules/lane-standing.ts'
import { explainRoute } from './explain-route.ts'
import type { RouteCandidate } from './find-slot.ts'

function slot(name: string, facts: Partial<RouteCandidate> = {}): RouteCandidate {
  return {
    ...{ name, aliases: [], type: 'llm', default: false, state: 'ready', idle_reason: null, model_id: 'm' },
    ...{ device: 'cpu', runner: 'standard', in_flight: 0, lastUsedMs: 0 },
    ...facts,
  }
}

interface House {
  readonly rows: readonly RouteCandidate[]
  readonly standings: Readonly<Record<string, LaneStanding>>
  readonly own?: string
  readonly fallback?: string
}

function explain(model: string, { rows, standings, own, fallback }: House, path = '/v1/chat/completions') {
  const told = explainRoute({
    ...{ model, path, rows, unknownModel: 'agent', registered: new Set(), onDemandSlot: 'scratch' },
    runnersFor: () => ['standard'],
    problemOf: () => null,
    lanes: { standing: (name) => standings[name], ownLaneFor: () => own, isFallback: (name) => name === fallback },
  })
  expect(routeExplanationSchema.parse(told)).toEqual(told)
  return told
}

describe('explainRoute with lanes', () => {
  it('tells the caller where each of them stands', () => {
    const rows = [slot('a'), slot('b'), slot('c', { state: 'serving', in_flight: 1 }), slot('d', { state: 'offline' })]
    const told = explain('m', { rows, standings: { a: 'closed', b: 'own', c: 'open', d: 'open' } })
    expect(told.candidates.map(({ slot: name, reason }) => [name, reason])).toEqual([
      ['b', 'chosen, your lane, bound to the model, serves now'],
      ['c', 'a lane, bound to the model, serves now'],
      ['d', 'a lane, bound to the model, runs nothing, and no request loads it'],
      ['a', 'a lane that others have booked, bound to the model'],
    ])
    expect([told.error, told.would_load]).toEqual([null, false])
  })

  it('tells of the own lane whose default stands in', () => {
    const rows = [slot('a', { model_id: 'default' })]
    const told = explain('m', { rows, standings: { a: 'own' }, own: 'a', fallback: 'a' })
    expect(told).toMatchObject({ slot: 'a', reason: '2 own lane', error: null })
    expect(told.steps.at(-1)).toEqual({ n: 2, text: 'own lane', outcome: 'chosen' })
    expect(told.candidates[0]?.reason).toBe('chosen, your lane, its default stands in for what was booked, serves now')
  })

  it.each([
    ['ready', 'closed', 'gpu_reserved', 403],
    ['offline', 'closed', 'gpu_reserved', 403],
    ['starting', 'own', 'slot.loading', 503],
    ['warming', 'open', 'slot.loading', 503],
    ['unloading', 'open', 'model_switching', 503],
    ['offline', 'own', 'slot.not_ready', 503],
    ['error', 'open', 'slot.not_ready', 503],
  ] as const)('a lane that is %s and %s: %s', (state, standing, code, status) => {
    const house = { rows: [slot('a', { state, model_id: null })], standings: { a: standing } }
    for (const path of ['/v1/chat/completions', '/upstream/a/completion']) {
      expect(explain('a', house, path)).toMatchObject({ slot: 'a', would_load: false, error: { code, status } })
    }
  })
})
