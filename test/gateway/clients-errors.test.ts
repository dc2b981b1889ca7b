import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import {
  anthropicOf,
  type ClientWorld,
  openaiOf,
  slotsOfAllTypes,
  startClientWorld,
  startEngineAlone,
  thrownBy,
} from '../support/client-world.ts'
import type { FakeKnobs } from '../support/start-fake.ts'

// Each error as the official client of its dialect reads it, through hal0 in front of fake engines.

const messages = [{ role: 'user' as const, content: 'Hello there' }]
const chat = (world: ClientWorld, more: object = {}) =>
  openaiOf(world).chat.completions.create({ model: 'agent', messages, ...more })
const message = (world: ClientWorld, more: object = {}) =>
  anthropicOf(world).messages.create({ model: 'agent', max_tokens: 9, messages, ...more })

/** What the engine says, and what the clients make of it. */
const ENGINE_ERRORS = [
  [400, OpenAI.BadRequestError, Anthropic.BadRequestError],
  [404, OpenAI.NotFoundError, Anthropic.NotFoundError],
  [429, OpenAI.RateLimitError, Anthropic.RateLimitError],
  [500, OpenAI.InternalServerError, Anthropic.InternalServerError],
  [503, OpenAI.InternalServerError, Anthropic.InternalServerError],
] as const

describe('errors of a fake engine', () => {
  it.each(ENGINE_ERRORS)('%i is typed in both dialects, whole and streamed', async (status, ofOpenai, ofAnthropic) => {
    const world = await startClientWorld()
    const engine = await world.engine('agent')
    await engine.setKnobs({ error_status: status, error_headers: { 'Retry-After': '4' } })
    for (const stream of [false, true]) {
      const error = await thrownBy(chat(world, { stream }))
      expect(error).toBeInstanceOf(ofOpenai)
      expect(error).toMatchObject({ status, message: expect.stringContaining('planned error') as string })
      if (status === 429) {
        expect((error as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('4')
      }

      const other = await thrownBy(message(world, { stream }))
      expect(other).toBeInstanceOf(ofAnthropic)
      // Anthropic's shape, with a type that its client knows.
      expect(other).toMatchObject({
        status,
        error: { type: 'error', error: { message: 'planned error of the fake engine' } },
      })
      expect((other as { type: unknown }).type).toEqual(expect.any(String))
    }
    await world.atRest()
  })

  it('a prompt that is too long is a BadRequestError that says by how much', async () => {
    const world = await startClientWorld()
    const long = [{ role: 'user' as const, content: 'word '.repeat(100_000) }]
    for (const [call, type] of [
      [() => chat(world, { messages: long }), OpenAI.BadRequestError],
      [() => message(world, { messages: long }), Anthropic.BadRequestError],
      [() => openaiOf(world).responses.create({ model: 'agent', input: long }), OpenAI.BadRequestError],
    ] as const) {
      const error = await thrownBy(call())
      expect(error).toBeInstanceOf(type)
      expect((error as Error).message).toMatch(/exceeds the available context size \(\d+ tokens\)/)
    }
  })

  it.each(['cut', 'reset', 'exit'])(
    'an engine that dies mid-stream (%s) ends every dialect with an error',
    async (die_how) => {
      const world = await startClientWorld()
      const fake: FakeKnobs = { die_after_tokens: 3, die_how }
      // `exit` may be known before the connection ends.
      const lost = /broke off|exited with/
      const read = async (stream: AsyncIterable<unknown>) => {
        for await (const event of stream) expect(event).toBeTypeOf('object')
      }
      await world.engine('agent')
      const openai = await thrownBy(
        openaiOf(world)
          .chat.completions.create({ model: 'agent', messages, stream: true, fake } as never)
          .then((stream) => read(stream as never)),
      )
      expect(openai).toBeInstanceOf(OpenAI.APIError)
      expect(openai).toMatchObject({
        code: 'dispatch.upstream_unavailable',
        message: expect.stringMatching(lost) as string,
      })

      await world.engine('agent')
      const anthropic = await thrownBy(
        anthropicOf(world)
          .messages.create({ model: 'agent', max_tokens: 9, messages, stream: true, fake } as never)
          .then((stream) => read(stream as never)),
      )
      expect(anthropic).toBeInstanceOf(Anthropic.APIError)
      expect((anthropic as Error).message).toMatch(lost)

      await world.engine('agent')
      // In this dialect the error is an event, which the client hands on.
      const events: { type: string; message?: string }[] = []
      const reading = openaiOf(world)
        .responses.create({ model: 'agent', input: 'x', stream: true, fake } as never)
        .then(async (stream) => {
          for await (const event of stream as unknown as AsyncIterable<{ type: string; message?: string }>)
            events.push(event)
        })
      const thrown: unknown = await reading.catch((error: unknown) => error)
      expect(thrown instanceof Error ? thrown.message : events.at(-1)).toEqual(
        thrown instanceof Error ? expect.stringMatching(lost) : expect.objectContaining({ type: 'error' }),
      )
      await world.atRest()
    },
  )

  it('an engine that dies before its first byte is an InternalServerError with our message', async () => {
    const world = await startClientWorld()
    for (const stream of [true, false]) {
      await world.engine('agent')
      const error = await thrownBy(chat(world, { stream, fake: { die_after_tokens: 0 } }))
      expect(error).toBeInstanceOf(OpenAI.InternalServerError)
      expect(error).toMatchObject({ status: 502, code: 'dispatch.upstream_unavailable' })
    }
  })
})

describe('errors of hal0', () => {
  it('an unknown model with unknown_model = "reject" is a NotFoundError in both dialects', async () => {
    const world = await startClientWorld(slotsOfAllTypes(), { dispatcher: { unknown_model: 'reject' } })
    const error = await thrownBy(chat(world, { model: 'no-such-model' }))
    expect(error).toBeInstanceOf(OpenAI.NotFoundError)
    expect(error).toMatchObject({
      code: 'model_not_found',
      message: expect.stringContaining('no-such-model') as string,
    })
    const other = await thrownBy(message(world, { model: 'no-such-model' }))
    expect(other).toBeInstanceOf(Anthropic.NotFoundError)
    expect(other).toMatchObject({ type: 'not_found_error' })
    expect(await thrownBy(openaiOf(world).models.retrieve('no-such-model'))).toBeInstanceOf(OpenAI.NotFoundError)
  })

  it('a body that is no JSON is a BadRequestError in both dialects', async () => {
    const world = await startClientWorld()
    // The client stringifies what it is given; only a text passes as it is.
    const headers = { 'content-type': 'application/json' }
    const bad = new TextEncoder().encode('{"model":"agent",')
    const error = await thrownBy(openaiOf(world).post('/chat/completions', { body: bad, headers }))
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ type: 'invalid_request_error' })
    const other = await thrownBy(anthropicOf(world).post('/v1/messages', { body: bad, headers }))
    expect(other).toBeInstanceOf(Anthropic.BadRequestError)
    expect(other).toMatchObject({ type: 'invalid_request_error' })
  })

  it('a route that the runner lacks is 501 and names the runners that have it', async () => {
    const world = await startClientWorld()
    const error = await thrownBy(openaiOf(world).audio.speech.create({ model: 'agent', voice: 'alloy', input: 'x' }))
    expect(error).toBeInstanceOf(OpenAI.InternalServerError)
    expect(error).toMatchObject({ status: 501, code: 'dispatch.route_unsupported' })
    expect((error as Error).message).toContain('sound')
    const other = await thrownBy(message(world, { model: 'tts' }))
    expect(other).toBeInstanceOf(Anthropic.InternalServerError)
    expect(other).toMatchObject({ status: 501 })
    expect((other as Error).message).toContain('cpu')
  })

  it('a full queue is a RateLimitError with Retry-After', async () => {
    const world = await startClientWorld(slotsOfAllTypes({ total_slots: 1, hold_first: true }), {
      slots: { queue_limit: 1 },
    })
    const engine = await world.engine('agent')
    const first = chat(world)
    await engine.waitFor('active', 1)
    const second = chat(world)
    while (world.daemon.slots.row('agent')?.queued !== 1) await new Promise((resolve) => setImmediate(resolve))
    const error = await thrownBy(chat(world))
    expect(error).toBeInstanceOf(OpenAI.RateLimitError)
    expect(error).toMatchObject({ code: 'dispatch.queue_full' })
    expect(Number((error as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after'))).toBeGreaterThan(0)
    expect(await thrownBy(message(world))).toBeInstanceOf(Anthropic.RateLimitError)
    await engine.setKnobs({ hold_first: false })
    expect((await first).choices).toHaveLength(1)
    expect((await second).choices).toHaveLength(1)
  })
})

describe('retries of the official client', () => {
  /** Calls with their times, as the client makes them. */
  function watched(origin: string, maxRetries: number) {
    const calls: { atMs: number; status: number; retryAfterS: number }[] = []
    const client = new OpenAI({
      baseURL: `${origin}/v1`,
      apiKey: 'x',
      maxRetries,
      fetch: async (url, init) => {
        const atMs = performance.now()
        const answer = await fetch(url, init)
        calls.push({ atMs, status: answer.status, retryAfterS: Number(answer.headers?.get('retry-after')) })
        return answer
      },
    })
    return { client, calls }
  }

  it.each([0, 1])(
    'a slot that loads is 503 with a Retry-After that the client keeps (maxRetries %i)',
    async (maxRetries) => {
      const world = await startClientWorld(slotsOfAllTypes({ hold_load: true }))
      const { client, calls } = watched(world.origin, maxRetries)
      const asking = client.chat.completions.create({ model: 'agent', messages }, { headers: { 'x-hal0-wait': '0' } })
      if (maxRetries === 0) {
        const error = await thrownBy(asking)
        expect(error).toBeInstanceOf(OpenAI.InternalServerError)
        expect(error).toMatchObject({ status: 503, code: 'slot.loading' })
        expect(calls).toHaveLength(1)
      } else {
        await expect.poll(() => calls.length).toBe(1)
        const knobsUrl = () => `http://127.0.0.1:${world.daemon.slots.row('agent')?.port}/fake/knobs`
        await expect
          .poll(() =>
            fetch(knobsUrl(), { method: 'POST', body: '{"hold_load":false}' }).then(
              (r) => r.status,
              () => 0,
            ),
          )
          .toBe(200)
        await expect.poll(() => world.daemon.slots.row('agent')?.state).toBe('ready')
        expect((await asking).choices[0]?.message.content).toContain('Hello there')
      }
      const [first, second] = calls
      expect(first).toMatchObject({ status: 503 })
      expect(first?.retryAfterS).toBeGreaterThan(0)
      if (first !== undefined && second !== undefined) {
        expect(second.atMs - first.atMs).toBeGreaterThanOrEqual(first.retryAfterS * 1000 - 1)
      }
    },
  )

  it('does the same on a fake engine alone', async () => {
    const target = await startEngineAlone({ error_status: 503, error_count: 1, error_headers: { 'Retry-After': '1' } })
    const { client, calls } = watched(target.origin, 1)
    const answer = await client.chat.completions.create(
      { model: 'agent', messages },
      { headers: { authorization: `Bearer ${target.key}` } },
    )
    expect(answer.choices).toHaveLength(1)
    expect(calls.map(({ status }) => status)).toEqual([503, 200])
  })
})
