import { describe, expect, it } from 'vitest'
import { checkRoute, type RouteAsk, unsupportedByEngine, unsupportedError } from './check-route.ts'
import type { RouteCandidate } from './find-slot.ts'
import { IMAGES_ROUTE, inferenceRouteOf } from './route-table.ts'

function slot(name: string, facts: Partial<RouteCandidate> = {}): RouteCandidate {
  return {
    ...{ name, aliases: [], type: 'llm', default: false, state: 'ready', idle_reason: null, model_id: `${name}-model` },
    ...{ device: 'cpu', runner: 'standard', in_flight: 0, lastUsedMs: 0 },
    ...facts,
  }
}

const ROWS: readonly RouteCandidate[] = [
  slot('agent'),
  slot('broken', { type: 'embedding', state: 'error' }),
  slot('cold', { type: 'embedding', state: 'offline' }),
  slot('embed', { type: 'embedding' }),
  slot('empty', { type: 'embedding', model_id: null }),
  slot('voice', { type: 'tts', runner: 'kokoro', model_id: null }),
]

const RUNNERS: Readonly<Record<string, readonly string[]>> = {
  '/v1/audio/speech': ['kokoro', 'vibevoice'],
  '/v1/embeddings': ['embedded', 'standard'],
}

function ask(name: string, path: string, more: Partial<RouteAsk> = {}): RouteAsk {
  const route = inferenceRouteOf(path)
  const row = ROWS.find((one) => one.name === name)
  if (route === undefined || row === undefined) throw new Error(`no ${name} or ${path}`)
  return { slot: row, route, rows: ROWS, runnersFor: (asked) => RUNNERS[asked] ?? ['standard'], ...more }
}

describe('checkRoute', () => {
  it.each([
    ['agent', '/v1/chat/completions'],
    // llama-server says itself what it was not started for.
    ['agent', '/v1/embeddings'],
    ['agent', '/v1/tokenize'],
    ['embed', '/v1/embeddings'],
    ['embed', '/v1/tokenize'],
    ['voice', '/v1/audio/speech'],
  ])('%s may be asked for %s', (name, path) => expect(checkRoute(ask(name, path))).toBeUndefined())

  it.each([
    [
      'agent',
      '/v1/audio/speech',
      'The runner of slot "agent" (type llm, runner standard) does not have /v1/audio/speech; runners that have it: kokoro, vibevoice; slots here that could answer: voice',
    ],
    [
      'embed',
      '/v1/chat/completions',
      'The engine of slot "embed" (type embedding, runner standard) does not answer /v1/chat/completions; runners that have it: standard; slots here that could answer: agent',
    ],
    [
      'voice',
      '/v1/rerank',
      'The runner of slot "voice" (type tts, runner kokoro) does not have /v1/rerank; runners that have it: standard',
    ],
  ])('%s is not asked for %s', (name, path, message) => {
    expect(checkRoute(ask(name, path))).toMatchObject({ code: 'dispatch.route_unsupported', status: 501, message })
  })

  it('refuses no runner where nobody knows what runners have', () => {
    expect(checkRoute(ask('agent', '/v1/audio/speech', { runnersFor: undefined }))).toBeUndefined()
  })
})

it('the engine refused: its words, the runners, the slots, and what to do', () => {
  const error = unsupportedError(ask('agent', '/v1/embeddings'), 'Start it with `--embeddings`')
  expect(error.message).toContain(
    'does not serve /v1/embeddings: Start it with `--embeddings`; runners that have it: embedded, standard',
  )
  expect(error.details).toMatchObject({ slots: ['embed', 'cold'], remedy: 'Name another slot as model: "embed".' })
  const alone = unsupportedError(ask('agent', '/v1/embeddings', { rows: [] }), 'no')
  expect(alone.details?.['remedy']).toContain('`hal0 slot create NAME --type embedding --model MODEL`')
})

describe('images asked of a slot that chats', () => {
  const img = slot('img', { type: 'image', runner: 'comfyui', model_id: null, state: 'idle', idle_reason: 'no_model' })
  const asked = (...rows: readonly RouteCandidate[]) =>
    unsupportedError({ slot: slot('agent'), route: IMAGES_ROUTE, rows, runnersFor: () => ['comfyui'] })
  const who = 'The runner of slot "agent" (type llm, runner standard) does not have /v1/images/generations'
  it.each([
    [
      'a slot that paints',
      asked(slot('agent'), { ...img, ...{ model_id: 'xl', state: 'offline', idle_reason: null } }),
      `${who}; runners that have it: comfyui; slots here that could answer: img`,
      'Name another slot as model: "img".',
    ],
    [
      'one that has nothing to paint with yet',
      asked(slot('agent'), img),
      `${who}; runners that have it: comfyui`,
      'Give slot "img" a model: `hal0 slot edit img --model MODEL`.',
    ],
    [
      'one with a runner that does not paint',
      asked({ ...img, runner: 'standard' }),
      `${who}; runners that have it: comfyui`,
      'Make a slot for it: `hal0 slot create NAME --type image --model MODEL`; `hal0 runner list` shows what each runner has.',
    ],
  ])('beside %s', (_name, error, message, remedy) => {
    expect(error).toMatchObject({ status: 501, message, details: { runners: ['comfyui'], remedy } })
  })
})

describe('unsupportedByEngine', () => {
  const openai = (message: string) => JSON.stringify({ error: { message, code: 0 } })
  it.each([
    [
      'llama-server without --embeddings',
      501,
      openai('This server does not support embeddings.'),
      'This server does not support embeddings.',
    ],
    ['llama-server, unknown path', 404, openai('File Not Found'), 'File Not Found'],
    ['FastAPI, unknown path', 404, '{"detail":"Not Found"}', 'Not Found'],
    ['FastAPI, wrong method', 405, '{"detail":"Method Not Allowed"}', 'Method Not Allowed'],
    ['Express', 404, '<!DOCTYPE html><pre>Cannot POST /x</pre>', 'it has no such path'],
    ['Go', 404, '404 page not found\n', '404 page not found'],
    ['nothing said', 404, '', 'it has no such path'],
    ['not implemented, nothing said', 501, '', 'not implemented'],
    ['vLLM, another model', 404, openai('The model `x` does not exist.'), undefined],
    ['a missing adapter', 404, '{"detail":"adapter not found"}', undefined],
    ['a bad request', 400, openai('File Not Found'), undefined],
    ['a broken engine', 500, openai('not implemented'), undefined],
  ])('%s', (_name, status, body, expected) => expect(unsupportedByEngine(status, body)).toBe(expected))
})
