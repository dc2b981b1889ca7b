import { describe, expect, it } from 'vitest'
import { routeExplanationSchema } from '../../contract/route-explanation.ts'
import { type ExplainQuery, explainRoute } from './explain-route.ts'
import type { RouteCandidate } from './find-slot.ts'

function slot(name: string, facts: Partial<RouteCandidate> = {}): RouteCandidate {
  return {
    ...{ name, aliases: [], type: 'llm', default: false, state: 'ready', idle_reason: null, model_id: `${name}-model` },
    ...{ device: 'cpu', runner: 'standard', in_flight: 0, lastUsedMs: 0 },
    ...facts,
  }
}

const HOUSE: readonly RouteCandidate[] = [
  slot('agent', { in_flight: 2 }),
  slot('bare', { model_id: null, state: 'offline' }),
  slot('cold', { state: 'offline', model_id: 'm' }),
  slot('embed', { type: 'embedding' }),
  slot('warm', { state: 'starting', model_id: 'm' }),
]

const explain = (model: string, path = '/v1/chat/completions', more: Partial<ExplainQuery> = {}) =>
  explainRoute({
    ...{ model, path, rows: HOUSE, unknownModel: 'agent', registered: new Set(['shelf']), onDemandSlot: 'scratch' },
    runnersFor: (route) => (route === '/v1/audio/speech' ? ['kokoro', 'vibevoice'] : ['standard']),
    ...more,
  })

describe('explainRoute', () => {
  it('tells the whole of it', () => {
    const told = explain('m')
    expect(routeExplanationSchema.parse(told)).toEqual(told)
    expect(told).toEqual({
      model: 'm',
      path: '/v1/chat/completions',
      route: { engine_path: '/v1/chat/completions', needs: 'llm', dialect: 'openai' },
      decision: 'slot',
      slot: 'warm',
      reason: '3 bound to the model',
      steps: [
        { n: 1, text: 'no slot and no alias has this name', outcome: 'passed' },
        { n: 2, text: 'no slot has this model loaded', outcome: 'passed' },
        { n: 3, text: 'bound to the model', outcome: 'chosen' },
      ],
      candidates: [
        candidate('warm', 'starting', 'm', 'chosen, bound to the model, a load is under way'),
        candidate('cold', 'offline', 'm', 'bound to the model, needs a load'),
        { ...candidate('embed', 'ready', 'embed-model', 'of type embedding, not llm, serves now'), type: 'embedding' },
        { ...candidate('agent', 'ready', 'agent-model', 'serves now'), in_flight: 2 },
        candidate('bare', 'offline', null, 'has no model'),
      ],
      would_load: false,
      error: null,
    })
  })

  it.each([
    ['a slot that serves', 'agent', '/v1/chat/completions', ['slot', 'agent', false, null]],
    ['a slot that is cold', 'cold', '/v1/chat/completions?api_key=x', ['slot', 'cold', true, null]],
    ['a model on demand', 'shelf', '/v1/chat/completions', ['on_demand', 'scratch', true, null]],
    ['an unknown name', 'gpt-4o', '/v1/messages', ['fallback', 'agent', false, null]],
    ['an unknown name for embeddings', 'ada', '/v1/embeddings', ['fallback', 'embed', false, null]],
    ['no model named', '', '/v1/embeddings', ['slot', 'embed', false, null]],
    ['a slot without a model', 'bare', '/v1/chat/completions', ['slot', 'bare', true, 503]],
    ['a runner without the route', 'agent', '/v1/audio/speech', ['slot', 'agent', false, 501]],
    ['a type that does not answer', 'embed', '/v1/chat/completions', ['slot', 'embed', false, 501]],
    ['nothing for the type', '', '/v1/rerank', ['error', null, false, 404]],
    ['images without a slot for them', '', '/v1/images/generations', ['error', null, false, 404]],
    ['images from a slot that cannot paint', 'agent', '/v1/images/generations', ['error', null, false, 501]],
    ['a path that is none', 'agent', '/v1/nothing', ['slot', 'agent', false, 404]],
  ] as const)('%s', (_name, model, path, expected) => {
    const { decision, slot: chosen, would_load, error } = explain(model, path)
    expect([decision, chosen, would_load, error?.status ?? null]).toEqual(expected)
  })

  it('an unknown name that is rejected', () => {
    const told = explain('gpt-4o', '/v1/chat/completions', { unknownModel: 'reject' })
    expect(told).toMatchObject({ decision: 'error', error: { status: 404, code: 'model_not_found' } })
    expect(told.steps.at(-1)).toEqual({ n: 5, text: 'unknown name, rejected', outcome: 'failed' })
  })
})

function candidate(name: string, state: string, modelId: string | null, reason: string) {
  return { slot: name, state, type: 'llm', model_id: modelId, in_flight: 0, reason }
}
