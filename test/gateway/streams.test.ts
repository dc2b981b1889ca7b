import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import type { GatewaySettings } from '../../src/gateway/settings.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { ENGINE_ROUTES } from '../../src/runners/runner.ts'
import { heldBytes } from '../support/held-memory.ts'
import { eventsOf, open, send } from '../support/raw-http.ts'
import { type FakeEngine, type FakeKnobs, startFakeEngine } from '../support/start-fake.ts'
import { startGateway, type TestGateway } from '../support/start-gateway.ts'
import { createStubSlots, type StubSlots } from '../support/stub-slots.ts'

let engine: FakeEngine
let slots: StubSlots
let gateway: TestGateway

async function begin(
  knobs: FakeKnobs = {},
  options: { settings?: Partial<GatewaySettings>; onClientAbort?: 'abort' | 'drain'; parallel?: number } = {},
): Promise<void> {
  seenTokens.length = 0
  engine = await startFakeEngine({ argv: ['--alias', 'agent', '--parallel', '128'], knobs })
  const { onClientAbort = 'abort', parallel } = options
  const endpoint = {
    origin: engine.origin,
    engineKey: engine.key,
    alias: 'agent',
    onClientAbort,
    routes: ENGINE_ROUTES,
    enableThinking: undefined,
  }
  slots = createStubSlots({ agent: { endpoint, ...(parallel === undefined ? {} : { parallel }) } })
  gateway = await startGateway(slots, options.settings)
}

afterEach(async () => {
  await gateway.stop()
  await engine.stop()
  if (slots.leases().length > 0 || gateway.gateway.inFlight() > 0) throw new Error('a lease or a request is left over')
})

const messages = [{ role: 'user' as const, content: 'Tell me a long story' }]
const chat = (body: object = {}) => ({ path: '/v1/chat/completions', body: { model: 'agent', messages, ...body } })
const long = (maxTokens = 100_000) => chat({ stream: true, ignore_eos: true, max_tokens: maxTokens })
const errorOf = (text: string) =>
  JSON.parse(eventsOf(text).at(-1) ?? '') as { error: { code: string; message: string } }

describe('streams', () => {
  it('CASES 1: chunks arrive spaced, with flushed headers, unbuffered by proxies', async () => {
    await begin({ headers_early: true, hold_after_tokens: 0 })
    const stream = await open(gateway.origin, chat({ stream: true }))
    // The head has come although the engine has said nothing yet.
    expect(stream.res.headers['x-accel-buffering']).toBe('no')
    expect(stream.res.headers['content-type']).toContain('text/event-stream')
    await engine.setKnobs({ hold_after_tokens: 1 })
    const first = await stream.until('\n\n')
    expect(first).not.toContain('[DONE]')
    await engine.setKnobs({ hold_after_tokens: null })
    expect(await stream.rest()).toContain('[DONE]')
  })

  it('bytes are untouched when the names are equal', async () => {
    await begin()
    const direct = await send(engine.origin, {
      ...chat({ stream: true }),
      headers: { authorization: `Bearer ${engine.key}` },
    })
    const through = await send(gateway.origin, chat({ stream: true }))
    const plain = (text: string) => text.replace(/chatcmpl-fake-\d+|"timings":\{[^}]*\}/g, '')
    expect(plain(through.text)).toBe(plain(direct.text))
    expect(through.headers['content-length']).toBeUndefined()
  })

  it.each(['cut', 'reset', 'exit'])(
    'an engine that dies mid-stream (%s) gives one final error event',
    async (die_how) => {
      await begin({ die_after_tokens: 3, die_how })
      const { status, text } = await send(gateway.origin, long())
      expect(status).toBe(200)
      const events = eventsOf(text)
      for (const event of events) JSON.parse(event)
      expect(errorOf(text).error).toMatchObject({ code: 'dispatch.upstream_unavailable', type: 'server_error' })
      expect(text.endsWith('\n\n')).toBe(true)
      expect(await gateway.requestLine(1)).toMatchObject({
        status: 200,
        failure: 'dispatch.upstream_unavailable',
        slot: 'agent',
      })
      // Told when the engine has been cut off: its client may have the end before.
      await expect.poll(() => gateway.events).toMatchObject([{ type: 'gateway.engine_lost', source: 'slot:agent' }])
    },
  )

  it('an engine that dies in the middle of an event leaves no broken JSON behind', async () => {
    await begin({ die_after_tokens: 3, write_bytes: 50 })
    const { text } = await send(gateway.origin, long())
    for (const event of eventsOf(text)) JSON.parse(event)
    expect(errorOf(text).error.code).toBe('dispatch.upstream_unavailable')
  })

  it('the openai client throws the final error', async () => {
    await begin({ die_after_tokens: 3 })
    const client = new OpenAI({ baseURL: `${gateway.origin}/v1`, apiKey: 'x', maxRetries: 0 })
    const stream = await client.chat.completions.create({ model: 'agent', messages, stream: true })
    const read = async () => {
      for await (const chunk of stream) expect(chunk.object).toBe('chat.completion.chunk')
    }
    await expect(read()).rejects.toThrow(/broke off/)
  })

  it.each([
    ['before the first byte', { die_after_tokens: 0 }, true],
    ['while it writes a plain answer', { transfer: 'short' }, false],
    ['with something that is not HTTP', { garbage: 'not_http' }, false],
  ])('an engine that fails %s is a 502', async (_name, knobs, stream) => {
    await begin(knobs)
    const answer = await send(gateway.origin, chat({ stream }))
    expect(answer.status).toBe(502)
    expect(answer.json()).toMatchObject({
      error: { code: 'dispatch.upstream_unavailable', details: { slot: 'agent' } },
    })
    // Nothing proves that the engine did not take the request up: it is asked once.
    expect((await engine.state()).counters.inference).toBe(1)
  })

  it.each([true, false])(
    'a stream that ends cleanly before its end is said to be broken (CRLF: %s)',
    async (sse_crlf) => {
      await begin({ die_after_tokens: 3, die_how: 'end', sse_crlf })
      const { status, text } = await send(gateway.origin, long())
      expect(status).toBe(200)
      expect(errorOf(text).error).toMatchObject({ code: 'dispatch.upstream_unavailable' })
      expect(text.split('"error"')).toHaveLength(2)
      expect(await gateway.requestLine(1)).toMatchObject({ failure: 'dispatch.upstream_unavailable' })
    },
  )

  it('a stream without [DONE] is complete when its last event gives a reason', async () => {
    await begin({ sse_done: false })
    const { text } = await send(gateway.origin, chat({ stream: true }))
    expect(text).not.toContain('"error"')
    expect(text).not.toContain('[DONE]')
  })

  it.each([
    ['a page', { garbage: 'html' }, /text\/html/, true],
    ['broken JSON', { garbage: 'truncated_json' }, /broken JSON/, true],
    ['nothing', { garbage: 'empty' }, /without a body/, false],
  ])('an engine that answers 200 with %s is a 502', async (_name, knobs, what, hasSample) => {
    await begin(knobs)
    const answer = await send(gateway.origin, chat())
    expect(answer.status).toBe(502)
    const { error } = answer.json() as { error: { code: string; message: string; details: Record<string, unknown> } }
    expect(error.code).toBe('dispatch.upstream_unavailable')
    expect(error.message).toMatch(what)
    expect(String(error.details['sample'])).toMatch(hasSample ? /^.{1,120}$/s : /^$/)
    expect(slots.log.at(-1)).toBe('release agent')
  })

  it('JSON that is too long to collect and ends too early breaks the connection', async () => {
    await begin({ transfer: 'chunked', chunk_bytes: 100_000, die_after_tokens: 8, die_how: 'end' })
    const answer = await open(gateway.origin, chat({ ignore_eos: true, max_tokens: 50 })).catch(() => undefined)
    if (answer?.res.statusCode === 200) await expect(answer.rest()).rejects.toThrow()
    else expect(answer?.res.statusCode).toBe(502)
  })

  it('an engine that cannot be reached is a 502', async () => {
    await begin()
    await engine.stop()
    const answer = await send(gateway.origin, chat())
    expect(answer.status).toBe(502)
    expect(answer.text).toContain('cannot be reached')
  })

  it('a plain answer too long to collect breaks the connection when the engine dies in it', async () => {
    await begin({ transfer: 'short', chunk_bytes: 100_000 })
    const answer = await open(gateway.origin, chat())
    expect(answer.res.statusCode).toBe(200)
    await expect(answer.rest()).rejects.toThrow()
  })

  it('stall guard: silence after the first byte is 504 as a last event', async () => {
    await begin({ hold_after_tokens: 2 }, { settings: { stallS: 0.2 } })
    const { text } = await send(gateway.origin, long())
    expect(errorOf(text).error.code).toBe('dispatch.stalled')
    await engine.waitFor('aborts_mid_stream', 1)
  })

  it('no time limit before the first byte', async () => {
    await begin({ stall_first_ms: 600 }, { settings: { stallS: 0.1 } })
    expect((await send(gateway.origin, chat({ stream: true }))).text).toContain('[DONE]')
  })
})

describe('abort', () => {
  it('before the first byte reaches the engine and frees the lease', async () => {
    await begin({ hold_first: true })
    const waiting = open(gateway.origin, long()).catch((error: unknown) => error)
    await engine.waitFor('inference', 1)
    const client = new AbortController()
    const aborted = fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(chat().body),
      signal: client.signal,
    }).catch(() => 'aborted')
    await engine.waitFor('inference', 2)
    client.abort()
    expect(await aborted).toBe('aborted')
    await engine.waitFor('aborts_before_first_byte', 1)
    await slots.logged('release agent')
    expect(await gateway.requestLine(1)).toMatchObject({ status: 499, failure: 'client_gone' })
    await engine.setKnobs({ hold_first: false })
    const other = (await waiting) as Awaited<ReturnType<typeof open>>
    expect(await other.until('\n\n')).toContain('chat.completion.chunk')
    other.leave()
    await engine.waitFor('aborts_mid_stream', 1)
  })

  it('mid-stream reaches the engine and frees the lease', async () => {
    await begin({ tokens_per_second: 50 })
    const stream = await open(gateway.origin, long())
    await stream.until('\n\n')
    stream.leave()
    const state = await engine.waitFor('aborts_mid_stream', 1)
    expect(state.counters.tokens).toBeLessThan(10_000)
    await slots.logged('release agent')
  })

  it('CASES 3: a fragile engine is read to the end, and the lease is held until then', async () => {
    await begin({ hold_after_tokens: 3 }, { onClientAbort: 'drain' })
    const stream = await open(gateway.origin, long(2_000))
    await stream.until('\n\n')
    stream.leave()
    await gateway.requestLine(1)
    expect(slots.log).not.toContain('release agent')
    expect(gateway.gateway.inFlight()).toBe(1)
    await engine.setKnobs({ hold_after_tokens: null })
    await slots.logged('release agent')
    const { counters } = await engine.state()
    expect([counters.aborts, counters.answered]).toEqual([0, 1])
  })

  it('a fragile engine that was held back by its client is read on when the client leaves', async () => {
    await begin({ chunk_bytes: 50_000 }, { onClientAbort: 'drain' })
    const stream = await open(gateway.origin, long(2_000))
    stream.res.pause()
    await expect.poll(async () => heldBack(await tokens())).toBe(true)
    stream.leave()
    await slots.logged('release agent')
    const { counters } = await engine.state()
    expect([counters.aborts, counters.tokens]).toEqual([0, 2_000])
  }, 90_000)
})

describe('revoked leases', () => {
  const unloading = Hal0Error.of('slot.unloading', 'Slot "agent" is being unloaded', { retryAfterS: 4 })

  it('before the head: a proper answer', async () => {
    await begin({ hold_first: true })
    const answer = send(gateway.origin, chat({ stream: true }))
    await engine.waitFor('inference', 1)
    slots.revoke(unloading)
    expect((await answer).status).toBe(503)
    expect((await answer).headers['retry-after']).toBe('4')
    expect((await answer).json()).toMatchObject({ error: { code: 'slot.unloading' } })
    await engine.waitFor('aborts_before_first_byte', 1)
  })

  it('mid-stream: a last event, and the engine is cut off', async () => {
    await begin({ hold_after_tokens: 2 })
    const stream = await open(gateway.origin, long())
    const first = await stream.until('\n\n')
    slots.revoke(unloading)
    expect(errorOf(first + (await stream.rest())).error.code).toBe('slot.unloading')
    await engine.waitFor('aborts_mid_stream', 1)
  })

  it('closing the gateway ends streams in the same way', async () => {
    await begin({ hold_after_tokens: 2 })
    const stream = await open(gateway.origin, long())
    await stream.until('\n\n')
    const rest = stream.rest()
    await gateway.gateway.close()
    expect(errorOf(await rest).error.message).toContain('stopping')
    await engine.waitFor('aborts_mid_stream', 1)
    expect((await send(gateway.origin, { path: '/v1/models' })).status).toBe(503)
  })
})

const seenTokens: number[] = []
async function tokens(): Promise<number> {
  return (await engine.state()).counters.tokens
}
/** Twice the same count in a row: the engine has stopped. */
function heldBack(count: number): boolean {
  const previous = seenTokens.at(-1)
  seenTokens.push(count)
  return count > 0 && previous === count
}

describe('backpressure', () => {
  it('CASES 46: 100 clients that stop reading hold their engine back, memory stays flat, others are served', async () => {
    await begin({ chunk_bytes: 200_000 })
    const before = await heldBytes()
    const streams = await Promise.all(Array.from({ length: 100 }, () => open(gateway.origin, long(5_000))))
    for (const stream of streams) stream.res.pause()
    await expect.poll(async () => heldBack(await tokens()), { timeout: 60_000, interval: 300 }).toBe(true)
    // 100 streams of 1 GB each were asked for.
    expect((await tokens()) * 200_000).toBeLessThan(2_000_000_000)
    // Also counts what the clients in this process hold.
    expect((await heldBytes()) - before).toBeLessThan(200_000_000)
    expect((await send(gateway.origin, chat({ fake: { chunk_bytes: 0 } }))).status).toBe(200)
    for (const stream of streams) stream.leave()
    await slots.logged('release agent', 101)
  }, 90_000)

  it('a held stream goes on where it stopped when its client reads again', async () => {
    await begin({ chunk_bytes: 20_000 })
    const stream = await open(gateway.origin, long(500))
    stream.res.pause()
    await expect.poll(async () => heldBack(await tokens())).toBe(true)
    const text = await stream.rest()
    expect(eventsOf(text).filter((event) => event.includes('"content":"')).length).toBeGreaterThanOrEqual(500)
    expect(text).toContain('[DONE]')
  })

  it('the stall guard rests while the client holds us back', async () => {
    await begin({ chunk_bytes: 50_000 }, { settings: { stallS: 0.3 } })
    const stream = await open(gateway.origin, long(500))
    stream.res.pause()
    await expect.poll(async () => heldBack(await tokens()), { interval: 500 }).toBe(true)
    expect(await stream.rest()).toContain('[DONE]')
  })

  it('a client that takes nothing for too long is cut off, and the engine with it', async () => {
    await begin({ chunk_bytes: 50_000 }, { settings: { clientStallS: 0.3 } })
    const stream = await open(gateway.origin, long(5_000))
    stream.res.pause()
    await engine.waitFor('aborts_mid_stream', 1)
    expect(await gateway.requestLine(1)).toMatchObject({ failure: 'client_stalled' })
    stream.leave()
  })
})
