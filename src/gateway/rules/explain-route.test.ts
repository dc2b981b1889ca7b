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
        {
          ...candidate(
            'embed',
            'ready',
            'embed-model',
            'of type embedding, not llm, cannot answer /v1/chat/completions',
          ),
          type: 'embedding',
        },
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

  it('a slot for images whose runner does not paint', () => {
    const rows = [slot('art', { type: 'image', runner: 'standard' })]
    const told = explain('', '/v1/images/generations', { rows, runnersFor: () => ['comfyui'] })
    expect(told).toMatchObject({ decision: 'slot', slot: 'art', error: { status: 501 } })
    expect(told.error?.message).toContain('runners that have it: comfyui')
  })

  // An engine that is up "serves now", whatever it was asked for, and a slot without its program "needs a load".
  describe('what speaks against a slot', () => {
    const PROBLEMS: Readonly<Record<string, string>> = {
      cold: 'runner "cpu" cannot start: no program "llama-server" on PATH; install llama.cpp',
      warm: 'line 3',
      bare: 'profile "x" does not exist',
    }
    const problemOf = (name: string): string | null => PROBLEMS[name] ?? null
    const told = (model: string, path: string, more: Partial<ExplainQuery> = {}) =>
      explain(model, path, { problemOf, ...more })
    const reasons = (asked: ReturnType<typeof explain>) =>
      Object.fromEntries(asked.candidates.map(({ slot: name, reason }) => [name, reason]))

    it('is in its reason', () => {
      const asked = told('', '/v1/messages', { runnersFor: () => ['vllm', 'cpu'] })
      expect(reasons(asked)).toEqual({
        agent: 'chosen, cannot answer /v1/messages',
        bare: 'has no model, cannot answer /v1/messages, a start would fail',
        cold: 'cannot answer /v1/messages, needs a program: llama-server',
        embed: 'of type embedding, not llm, cannot answer /v1/messages',
        warm: 'cannot answer /v1/messages',
      })
      expect(asked.error?.remedy).toContain('`hal0 slot create NAME --binary cpu --model MODEL`')
    })

    it.each([
      [
        'a program',
        'cold',
        { status: 500, code: 'slot.spawn_failed', remedy: expect.stringContaining('Install llama-server') },
      ],
      ['a load that is under way is not held against it', 'warm', null],
    ] as const)('%s', (_name, model, error) => {
      const asked = told(model, '/v1/chat/completions')
      if (error === null) expect(asked.error).toBeNull()
      else expect(asked.error).toMatchObject(error)
    })

    it('a mistake in its files', () => {
      const rows = [slot('off', { state: 'offline' })]
      const asked = told('off', '/v1/chat/completions', { rows, problemOf: () => 'line 3' })
      expect(asked.error).toMatchObject({ status: 503, code: 'slot.config_error', message: 'line 3' })
      expect(reasons(asked)).toEqual({ off: 'chosen, a start would fail' })
    })

    it('of a model on demand is only a missing program', () => {
      const rows = [slot('scratch', { state: 'offline', model_id: null })]
      const asked = (problem: string) => told('shelf', '/v1/chat/completions', { rows, problemOf: () => problem })
      expect(asked('line 3').error).toBeNull()
      expect(asked('cannot start: no program "x" on PATH').error).toMatchObject({ code: 'slot.spawn_failed' })
    })

    it('an image slot that is up has checkpoints of its own, one that is off has none', () => {
      const asked = (state: 'idle' | 'offline') =>
        explain('', '/v1/images/generations', {
          rows: [slot('img', { type: 'image', runner: 'comfyui', model_id: null, state, idle_reason: null })],
          runnersFor: () => ['comfyui'],
        }).error
      expect(asked('idle')).toBeNull()
      expect(asked('offline')).toMatchObject({ code: 'slot.not_ready', status: 503 })
    })
  })

  it.each([
    ['/upstream/cold', 'cold', true, '/'],
    ['/upstream/agent/v1/messages?x=1', 'agent', false, '/v1/messages'],
  ])('%s is explained as what it is', (path, name, wouldLoad, enginePath) => {
    const told = explain('whatever', path)
    expect(routeExplanationSchema.parse(told)).toEqual(told)
    const text = `the path names the slot; its engine is asked for ${enginePath}, as it is`
    expect(told).toMatchObject({ route: null, decision: 'slot', slot: name, would_load: wouldLoad, error: null })
    expect(told.steps).toEqual([{ n: 1, text, outcome: 'chosen' }])
    expect(told.candidates.map((one) => one.slot)).toEqual([name])
  })

  it('/upstream of a slot that is not there', () => {
    const told = explain('', '/upstream/nobody/props')
    expect(told).toMatchObject({ decision: 'error', slot: null, error: { status: 404, code: 'slot.not_found' } })
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
