import { connect } from 'node:net'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { err } from '../../src/kernel/result.ts'
import { send } from '../support/raw-http.ts'
import { type FakeEngine, startFakeEngine } from '../support/start-fake.ts'
import { startGateway, type TestGateway } from '../support/start-gateway.ts'
import { agentEndpoint, createStubSlots, type StubSlots } from '../support/stub-slots.ts'

let engine: FakeEngine
let slots: StubSlots
let gateway: TestGateway

beforeEach(async () => {
  engine = await startFakeEngine({ argv: ['--alias', 'agent'] })
  const endpoint = agentEndpoint(engine)
  slots = createStubSlots({
    agent: { endpoint },
    bare: { endpoint, row: { model_id: null } },
    lame: { endpoint: { ...endpoint, routes: [] }, row: { type: 'embedding', model_id: null } },
    embed: { endpoint: { ...endpoint, routes: ['/v1/embeddings'] }, row: { type: 'embedding', model_id: 'e5' } },
  })
  gateway = await startGateway(slots, { jsonLimitBytes: 1_000_000 })
})

afterEach(async () => {
  await gateway.stop()
  await engine.stop()
})

const messages = [{ role: 'user' as const, content: 'Hello there' }]
const chat = (body: object = {}, path = '/v1/chat/completions') => ({
  path,
  body: { model: 'agent', messages, ...body },
})
const client = () => new OpenAI({ baseURL: `${gateway.origin}/v1`, apiKey: 'client-secret', maxRetries: 0 })

describe('the official openai client', () => {
  it('lists, chats, and streams', async () => {
    const names: string[] = []
    for await (const model of client().models.list()) names.push(model.id)
    expect(names).toEqual(['agent', 'embed'])
    const whole = await client().chat.completions.create({ model: 'agent', messages })
    expect(whole.choices[0]?.message.content).toMatch(/^Echo [0-9a-f]{8}: Hello there$/)
    const stream = await client().chat.completions.create({ model: 'agent', messages, stream: true })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe(whole.choices[0]?.message.content)
    const completion = await client().completions.create({ model: 'agent', prompt: 'Once' })
    expect(completion.choices[0]?.text).toContain('Once')
  })

  it('parses the error for a bad body', async () => {
    const failing = client().chat.completions.create({ model: 7 as unknown as string, messages })
    const error = await failing.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ status: 400, code: 'request.invalid', param: 'model', type: 'invalid_request_error' })
  })

  it('parses the error of a slot that cannot serve, with its Retry-After', async () => {
    slots.failWith(Hal0Error.of('slot.loading', 'Slot "agent" is loading', { retryAfterS: 3 }))
    const error = await client()
      .chat.completions.create({ model: 'agent', messages })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(OpenAI.InternalServerError)
    expect(error).toMatchObject({ status: 503, code: 'slot.loading' })
    expect((error as { headers: Headers }).headers.get('retry-after')).toBe('3')
  })
})

describe('/v1/models', () => {
  it('CASES 11: shows each slot that has a model, and wakes nothing', async () => {
    const answer = await send(gateway.origin, { path: '/v1/models' })
    expect(answer.status).toBe(200)
    const created = expect.any(Number) as number
    expect(answer.json()).toEqual({
      object: 'list',
      data: [
        {
          id: 'agent',
          object: 'model',
          created,
          owned_by: 'hal0',
          hal0: { model: 'hello', state: 'ready', type: 'llm' },
        },
        {
          id: 'embed',
          object: 'model',
          created,
          owned_by: 'hal0',
          hal0: { model: 'e5', state: 'ready', type: 'embedding' },
        },
      ],
    })
    expect(slots.log).toEqual([])
    expect((await engine.state()).counters.requests).toBe(0)
  })

  it.each(['agent', 'hal0/agent', 'hal0%2Fagent', 'hello', 'e5'])('shows one: %s', async (id) => {
    expect((await send(gateway.origin, { path: `/v1/models/${id}` })).json()).toMatchObject({
      id: decodeURIComponent(id),
    })
  })

  it.each(['nope', 'bare', 'hal0/nope'])('404 for %s', async (id) => {
    const answer = await send(gateway.origin, { path: `/v1/models/${id}` })
    expect(answer.status).toBe(404)
    expect(answer.json()).toMatchObject({ error: { code: 'model_not_found', type: 'not_found_error' } })
  })

  it('answers HEAD without a body', async () => {
    const answer = await send(gateway.origin, { path: '/v1/models', method: 'HEAD' })
    expect([answer.status, answer.text]).toEqual([200, ''])
    expect(Number(answer.headers['content-length'])).toBeGreaterThan(10)
  })
})

describe('routes', () => {
  it.each([
    ['POST', '/v1/rerank', 404, 'dispatch.no_route'],
    ['POST', '/v1/audio/speech', 404, 'dispatch.no_route'],
    ['GET', '/v1/nothing', 404, 'request.invalid'],
    ['GET', '/upstream/', 404, 'request.invalid'],
    ['GET', '/v1/models/%zz', 400, 'request.invalid'],
  ])('%s %s is %i %s', async (method, path, status, code) => {
    const answer = await send(gateway.origin, { method, path, ...(method === 'POST' ? { body: {} } : {}) })
    expect(answer.status).toBe(status)
    expect(answer.json()).toMatchObject({ error: { code } })
  })

  it('a wrong method is told the right ones', async () => {
    const answer = await send(gateway.origin, { path: '/v1/chat/completions' })
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'POST, OPTIONS'])
    expect(answer.json()).toMatchObject({
      error: { code: 'request.invalid', message: expect.stringContaining('POST') as string },
    })
    expect((await send(gateway.origin, { path: '/v1/models', method: 'DELETE' })).headers['allow']).toContain('GET')
  })

  it('an unknown address names the known ones', async () => {
    expect((await send(gateway.origin, { path: '/v1/nothing?api_key=SECRET' })).text).toMatch(
      /^(?!.*SECRET).*\/v1\/chat/,
    )
  })

  it('an engine of another type is not loaded, nor asked', async () => {
    const answer = await send(gateway.origin, chat({ model: 'embed' }))
    expect(answer.status).toBe(501)
    expect(answer.json()).toMatchObject({
      error: {
        code: 'dispatch.route_unsupported',
        message: expect.stringContaining('slots here that could answer: agent') as string,
        details: { slot: 'embed', remedy: 'Name another slot as model: "agent".' },
      },
    })
    expect([slots.log, (await engine.state()).counters.inference]).toEqual([[], 0])
  })

  it('a runner without the route is not loaded either: 501 names those that have it', async () => {
    const runnersFor = (route: string) => (route === '/v1/audio/speech' ? ['kokoro'] : ['embedded'])
    const knowing = await startGateway(slots, {}, undefined, { runnersFor })
    try {
      const answer = await send(knowing.origin, chat({}, '/v1/audio/speech'))
      expect([answer.status, answer.json()]).toMatchObject([
        501,
        { error: { message: expect.stringContaining('runners that have it: kokoro') as string } },
      ])
      expect(slots.log).toEqual([])
      expect((await send(knowing.origin, chat())).status).toBe(200)
    } finally {
      await knowing.stop()
    }
  })

  it('an engine that turns out not to have the route is not asked', async () => {
    const answer = await send(gateway.origin, chat({ model: 'lame' }, '/v1/embeddings'))
    expect(answer.status).toBe(501)
    expect(answer.json()).toMatchObject({ error: { code: 'dispatch.route_unsupported', details: { slot: 'lame' } } })
    expect(slots.log).toEqual(['wait lame', 'lease lame', 'release lame'])
    expect((await engine.state()).counters.inference).toBe(0)
  })

  it('an unknown model goes to agent and says so; a known one does not', async () => {
    const fallback = await send(gateway.origin, chat({ model: 'gpt-4o' }))
    expect([fallback.status, fallback.headers['x-hal0-route']]).toEqual([200, 'fallback'])
    expect(fallback.json()['model']).toBe('gpt-4o')
    const known = await send(gateway.origin, chat())
    expect(known.headers['x-hal0-route']).toBeUndefined()
  })

  it('a request without a model, or with null, is answered by agent under its name', async () => {
    for (const model of [undefined, null, '']) {
      const answer = await send(gateway.origin, chat({ model }))
      expect(answer.json()).toMatchObject({ model: 'agent' })
    }
    const last = (await engine.state()).last_request
    expect(last?.body_bytes).toBe(Buffer.byteLength(JSON.stringify({ model: 'agent', messages })))
  })

  it('404 model_not_found when unknown names are rejected', async () => {
    const strict = await startGateway(slots, { unknownModel: 'reject' })
    try {
      const answer = await send(strict.origin, chat({ model: 'gpt-4o' }))
      expect(answer.status).toBe(404)
      expect(answer.json()).toMatchObject({ error: { code: 'model_not_found', param: 'model' } })
    } finally {
      await strict.stop()
    }
  })

  it("a slot's invalid file is a 503 without Retry-After to a client", async () => {
    slots.failWith(Hal0Error.of('config.invalid', 'slots/agent.toml: bad'))
    const answer = await send(gateway.origin, chat())
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, undefined])
    expect(answer.json()).toMatchObject({ error: { code: 'config.invalid' } })
    expect(answer.text).not.toContain('agent.toml')
  })

  it('an unexpected failure is answered without its text', async () => {
    slots.failWith(new Error('secret inside') as never)
    const answer = await send(gateway.origin, chat())
    expect(answer.status).toBe(500)
    expect(answer.text).not.toContain('secret inside')
    expect(gateway.lines.some((line) => line.message === 'request failed')).toBe(true)
  })
})

describe('CASES 8: CORS', () => {
  const allowed = (raw: readonly string[]) =>
    raw.filter((name) => name.toLowerCase() === 'access-control-allow-origin').length

  it('a preflight passes without a key', async () => {
    const answer = await send(gateway.origin, {
      path: '/v1/chat/completions',
      method: 'OPTIONS',
      headers: {
        origin: 'http://app.test',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,x-stainless-os',
      },
    })
    expect(answer.status).toBe(204)
    expect(answer.headers['access-control-allow-headers']).toBe('authorization,x-stainless-os')
    expect(answer.headers['access-control-allow-methods']).toContain('POST')
    expect(Number(answer.headers['access-control-max-age'])).toBeGreaterThan(0)
    expect(allowed(answer.rawHeaders)).toBe(1)
  })

  it('exactly one Access-Control-Allow-Origin, also when the engine sets its own', async () => {
    await engine.setKnobs({ cors: 'http://engine.test' })
    for (const request of [
      chat(),
      chat({ stream: true }),
      chat({ model: 1 }),
      { path: '/v1/models' },
      { path: '/v1/x' },
    ]) {
      const answer = await send(gateway.origin, { ...request, headers: { origin: 'http://app.test' } })
      expect(allowed(answer.rawHeaders)).toBe(1)
      expect(answer.headers['access-control-allow-origin']).toBe('*')
    }
  })
})

describe('CASES 9: keys', () => {
  it('reach neither the engine nor the log', async () => {
    const answer = await send(gateway.origin, {
      ...chat({}, '/v1/chat/completions?a=1&api_key=query-secret&key=query-secret&access_token=query-secret'),
      headers: {
        authorization: 'Bearer header-secret',
        'x-api-key': 'header-secret',
        cookie: 'c=header-secret',
        'x-goog-api-key': 'header-secret',
        x_auth_token: 'header-secret',
      },
    })
    expect(answer.status).toBe(200)
    const seen = (await engine.state()).last_request
    expect(seen?.url).toBe('/v1/chat/completions?a=1')
    expect(seen?.headers['authorization']).toBe(`Bearer ${engine.key}`)
    expect(JSON.stringify(seen)).not.toContain('-secret')
    await gateway.requestLine(1)
    expect(JSON.stringify(gateway.lines)).not.toMatch(/-secret|test-engine-key|Hello there/)
  })
})

describe('the guard', () => {
  it('a refusal looks like any other answer, and nothing else is done', async () => {
    const refusal = Hal0Error.of('auth.required', 'not you', { param: 'host' })
    const closed = await startGateway(slots, {}, () => err(refusal))
    try {
      for (const request of [chat(), { path: '/v1/models' }, { path: '/v1/models', method: 'OPTIONS' }]) {
        const answer = await send(closed.origin, { ...request, headers: { 'x-request-id': 'r-1' } })
        expect([answer.status, answer.headers['x-request-id']]).toEqual([401, 'r-1'])
        expect(answer.headers['access-control-allow-origin']).toBe('*')
        expect(answer.json()).toMatchObject({
          error: { code: 'auth.required', param: 'host', details: { request_id: 'r-1' } },
        })
      }
      expect(await closed.requestLine(1)).toMatchObject({ status: 401, failure: 'auth.required', detail: 'not you' })
      expect(slots.log).toEqual([])
    } finally {
      await closed.stop()
    }
  })
})

describe('request ids and the log', () => {
  it('40 requests on one connection at once raise no warning', async () => {
    const warnings: Error[] = []
    const note = (warning: Error): void => void warnings.push(warning)
    process.on('warning', note)
    const socket = connect(gateway.port, '127.0.0.1')
    socket.write('GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(40))
    await gateway.requestLine(40)
    // Warnings are emitted in a turn of their own.
    await new Promise((resolve) => setImmediate(resolve))
    socket.destroy()
    process.off('warning', note)
    expect(warnings).toEqual([])
  })

  it("keeps the client's id and makes one where it has none or a bad one", async () => {
    const named = await send(gateway.origin, { ...chat(), headers: { 'x-request-id': 'abc-1' } })
    expect(named.headers['x-request-id']).toBe('abc-1')
    expect((await engine.state()).last_request?.headers['x-request-id']).toBe('abc-1')
    const made = await send(gateway.origin, { ...chat(), headers: { 'x-request-id': 'a b' } })
    expect(made.headers['x-request-id']).toMatch(/^req_[0-9a-f]{16}_[0-9a-z]+$/)
  })

  it('one line per request', async () => {
    const answer = await send(gateway.origin, { ...chat(), headers: { 'x-request-id': 'abc-1' } })
    const line = await gateway.requestLine(1)
    expect(line).toMatchObject({
      request_id: 'abc-1',
      method: 'POST',
      route: '/v1/chat/completions',
      slot: 'agent',
      reason: '1 slot name',
      status: 200,
      bytes: Buffer.byteLength(answer.text),
      ms: expect.any(Number) as number,
      ttft_ms: expect.any(Number) as number,
    })
  })
})

describe("the engine's own errors", () => {
  it.each([true, false])("come in the one error body, with the engine's own words (stream: %s)", async (stream) => {
    const own = { code: 400, message: 'n_ctx is too small', type: 'exceed_context_size_error', n_ctx: 512 }
    await engine.setKnobs({ error_status: 400, error_body: { error: own }, error_headers: { 'x-odd': 'yes' } })
    const answer = await send(gateway.origin, chat({ stream }))
    expect([answer.status, answer.headers['x-odd']]).toEqual([400, undefined])
    const requestId = answer.headers['x-request-id']
    expect(answer.json()).toMatchObject({
      error: {
        code: 'request.invalid',
        message: own.message,
        type: own.type,
        param: null,
        details: { slot: 'agent', engine: own, request_id: requestId },
      },
    })
    expect(slots.log.at(-1)).toBe('release agent')
    expect(gateway.events).toEqual([])
  })

  it.each([
    [400, 'bad', OpenAI.BadRequestError, 'request.invalid'],
    [401, 'Invalid API Key', OpenAI.InternalServerError, 'dispatch.upstream_unavailable'],
    [429, 'slow down', OpenAI.RateLimitError, 'dispatch.queue_full'],
    [503, 'Loading model', OpenAI.InternalServerError, 'slot.loading'],
  ] as const)('the openai client parses a %i', async (status, message, kind, code) => {
    await engine.setKnobs({ error_status: status, error_body: { error: { code: status, message, type: 'odd_error' } } })
    const error = await client()
      .chat.completions.create({ model: 'agent', messages })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(kind)
    expect(error).toMatchObject({ code, type: expect.any(String) as string })
    if (status !== 401) expect(error).toMatchObject({ message: expect.stringContaining(message) as string })
    const isTransient = code === 'dispatch.queue_full' || code === 'slot.loading'
    expect((error as { headers: Headers }).headers.get('retry-after')).toBe(isTransient ? '1' : null)
  })

  it('a redirection is not followed and not passed on', async () => {
    await engine.setKnobs({ error_status: 302, error_headers: { location: 'http://elsewhere/' } })
    const answer = await send(gateway.origin, chat())
    expect([answer.status, answer.headers['location']]).toEqual([502, undefined])
  })
})
