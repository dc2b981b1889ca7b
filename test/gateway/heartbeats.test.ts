import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { thrownBy } from '../support/client-world.ts'
import { type FakeWorld, startFakeWorld, startGatewayAt } from '../support/gateway-world.ts'
import { type OpenAnswer, open, send } from '../support/raw-http.ts'
import { dial, startSocketEngine } from '../support/raw-socket.ts'
import { parseEvents, TEXT_DIALECTS, type TextDialect } from '../support/text-dialects.ts'

// Fake engine: signs of life in streams that are silent. Opt-in: by `[dispatcher] heartbeat_s`, or by the header X-Hal0-Heartbeat.

const COMMENT = 'hal0 waits for the engine'
const ASKED = { 'x-hal0-heartbeat': '1' }
const table = TEXT_DIALECTS.map((dialect) => [dialect.name, dialect] as const)
const [chat] = TEXT_DIALECTS
if (chat === undefined) throw new Error('there are no dialects')

const of = (dialect: TextDialect, more: object = {}, headers: Readonly<Record<string, string>> = {}) => ({
  path: dialect.path,
  headers,
  body: { model: 'agent', stream: true, ...dialect.body, ...more },
})

/** How many signs of life are in it; in each dialect its own. */
function beatsIn(dialect: TextDialect, text: string): number {
  const { events, comments } = parseEvents(text)
  for (const comment of comments) expect(comment.trim()).toBe(COMMENT)
  const pings = events.filter(({ event }) => event === 'ping')
  for (const ping of pings) expect(JSON.parse(ping.data)).toEqual({ type: 'ping' })
  // The others would not know what to make of a ping.
  expect(dialect.name === 'messages' ? comments : pings).toEqual([])
  return comments.length + pings.length
}

const sign = (dialect: TextDialect) => (dialect.name === 'messages' ? 'event: ping' : COMMENT)
const errorsIn = (text: string) =>
  parseEvents(text)
    .events.filter(({ data }) => data.startsWith('{'))
    .map(({ data }) => (JSON.parse(data) as { error?: Record<string, unknown> }).error)
    .filter((error) => error !== undefined)

/** What came of a stream until the engine was let go, and the rest. */
async function whole(stream: OpenAnswer, part: string, go: () => Promise<void>): Promise<string> {
  const first = await stream.until(part)
  await go()
  return first + (await stream.rest())
}

describe.each(table)('%s', (_name, dialect) => {
  it('off by default', async () => {
    const world = await startFakeWorld({ stall_after_tokens: 2, stall_mid_ms: 300 })
    expect(beatsIn(dialect, (await send(world.origin, of(dialect))).text)).toBe(0)
  })

  it('by setting: only after the status of the engine, and in between its events', async () => {
    const world = await startFakeWorld({ hold_after_tokens: 2 }, { settings: { heartbeatS: 0.05 } })
    const stream = await open(world.origin, of(dialect))
    const text = await whole(stream, sign(dialect), () => world.engine.setKnobs({ hold_after_tokens: null }))
    expect(beatsIn(dialect, text)).toBeGreaterThan(0)
    expect(errorsIn(text)).toEqual([])
    // The engine's own events come first.
    expect(text.indexOf(sign(dialect))).toBeGreaterThan(text.indexOf('data: {'))

    await world.engine.setKnobs({ error_status: 429, stall_first_ms: 200 })
    const late = await send(world.origin, of(dialect))
    expect([late.status, late.text.includes(sign(dialect))]).toEqual([429, false])
  })

  it('by header: while it waits for a cold slot; the answer follows in the same stream', async () => {
    const world = await startFakeWorld()
    world.slots.hold('agent')
    const stream = await open(world.origin, of(dialect, {}, ASKED))
    expect([stream.res.statusCode, stream.res.headers['content-type']]).toEqual([200, 'text/event-stream'])
    expect(stream.res.headers['x-accel-buffering']).toBe('no')
    const text = await whole(stream, sign(dialect), () => Promise.resolve(world.slots.open('agent')))
    expect(beatsIn(dialect, text)).toBeGreaterThan(0)
    expect(errorsIn(text)).toEqual([])
    const { events } = parseEvents(text)
    expect(events.filter(({ event }) => event !== 'ping').length).toBeGreaterThan(3)
    expect(await world.gateway.requestLine(1)).toMatchObject({ status: 200, slot: 'agent' })
  })

  it('by header: an error before the first sign has its status, after it is an event', async () => {
    const world = await startFakeWorld()
    world.slots.failWith(Hal0Error.of('dispatch.queue_full', 'full', { retryAfterS: 2 }))
    const early = await send(world.origin, of(dialect, {}, ASKED))
    expect([early.status, early.headers['retry-after']]).toEqual([429, '2'])
    world.slots.failWith(undefined)

    // An error of the engine that comes too late for its status.
    await world.engine.setKnobs({ error_status: 503, hold_first: true })
    const stream = await open(world.origin, of(dialect, {}, ASKED))
    const text = await whole(stream, sign(dialect), () => world.engine.setKnobs({ hold_first: false }))
    const errors = errorsIn(text)
    expect(errors).toMatchObject([{ message: expect.stringContaining('planned error') as string }])
    expect(await world.gateway.requestLine(2)).toMatchObject({ status: 200, failure: 'dispatch.upstream_unavailable' })
  })

  it('by header: the official client reads on, and throws what comes late', async () => {
    const world = await startFakeWorld()
    world.slots.hold('agent')
    const reading = dialect.read(world.origin, {}, ASKED)
    await openedBy(world, 1)
    world.slots.open('agent')
    expect((await reading).length).toBeGreaterThan(3)

    await world.engine.setKnobs({ die_after_tokens: 0 })
    world.slots.hold('agent')
    const failing = thrownBy(dialect.read(world.origin, {}, ASKED))
    await openedBy(world, 2)
    world.slots.open('agent')
    const thrown = await failing
    expect(thrown).toBeInstanceOf(dialect.name === 'messages' ? Anthropic.APIError : OpenAI.APIError)
    expect((thrown as Error).message).toMatch(/without a proper answer/)
  })
})

/** The n-th request waits, and its stream was begun: a neighbour that asked at the same time and saw its first sign says so. */
async function openedBy(world: FakeWorld, nth: number): Promise<void> {
  await world.slots.logged('wait agent', nth * 2 - 1)
  const neighbour = await open(world.origin, of(chat as TextDialect, {}, ASKED))
  await neighbour.until(COMMENT)
  const left = world.slots.logged('left agent', nth)
  neighbour.leave()
  await left
}

describe('a sign of life', () => {
  it.each([1, 7, 50])(
    'never stands within an event, though the engine writes %i bytes at a time',
    async (write_bytes) => {
      const world = await startFakeWorld(
        { write_bytes, tokens_per_second: 8, sse_crlf: true, model_name: 'path' },
        { settings: { heartbeatS: 0.01 } },
      )
      for (const dialect of TEXT_DIALECTS) {
        const { text } = await send(world.origin, of(dialect, { max_tokens: 5, max_output_tokens: 5 }))
        const { events } = parseEvents(text)
        for (const { data } of events) if (data !== '[DONE]') JSON.parse(data)
        expect(errorsIn(text)).toEqual([])
        expect(beatsIn(dialect, text)).toBeGreaterThan(0)
      }
    },
  )

  it('is not sent between the lines of an event, however slow they are', async () => {
    const lines = ['event: chunk\n', 'data: {"model":"agent",\n', 'data: "choices":[]}\n', '\ndata: [DONE]\n\n']
    const engine = await startSocketEngine(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n')
      const next = (at: number): void => {
        if (at === lines.length) return void socket.end()
        socket.write(lines[at] ?? '')
        setTimeout(() => next(at + 1), at === lines.length - 1 ? 0 : 250)
      }
      next(0)
    })
    const world = await startGatewayAt(engine, { settings: { heartbeatS: 0.05 } })
    expect((await send(world.origin, of(chat))).text).toBe(lines.join(''))
  })

  it('is not sent while a line is open that was too long to be kept', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n'
    const half = `data: {"choices":[{"delta":{"content":"${'x'.repeat(300_000)}`
    const engine = await startSocketEngine(({ socket }) => void socket.write(head + half))
    const world = await startGatewayAt(engine, { settings: { heartbeatS: 0.05, stallS: 0.4 } })
    const { text } = await send(world.origin, of(chat))
    expect(text).not.toContain(COMMENT)
    const { events } = parseEvents(text)
    expect(events).toHaveLength(2)
    expect(JSON.parse(events[1]?.data ?? '')).toMatchObject({ error: { code: 'dispatch.stalled' } })
  })

  it('is not sent to a client that is held back', async () => {
    const world = await startFakeWorld({ chunk_bytes: 50_000 }, { settings: { heartbeatS: 0.02 } })
    const stream = await open(world.origin, of(chat, { ignore_eos: true, max_tokens: 400 }))
    stream.res.pause()
    const made = async () => (await world.engine.state()).counters.tokens
    let before = -1
    await expect
      .poll(
        async () => {
          const now = await made()
          const isSame = now === before && now > 0
          before = now
          return isSame
        },
        { interval: 200, timeout: 20_000 },
      )
      .toBe(true)
    const text = await stream.rest()
    expect(text).toContain('[DONE]')
    // Held back for some 200 ms at least: ten would have been due.
    expect(text.split(COMMENT).length - 1).toBeLessThan(5)
  })

  it('counts silence from the last byte: a stream that flows has none', async () => {
    const world = await startFakeWorld({ tokens_per_second: 100 }, { settings: { heartbeatS: 1.5 } })
    const { text } = await send(world.origin, of(chat, { ignore_eos: true, max_tokens: 250 }))
    expect(beatsIn(chat, text)).toBe(0)
  })

  it('is for streams alone', async () => {
    const world = await startFakeWorld({ stall_first_ms: 1_200 }, { settings: { heartbeatS: 0.05 } })
    const got = await send(world.origin, of(chat, { stream: false }, ASKED))
    expect([got.status, got.json()]).toMatchObject([200, { object: 'chat.completion' }])
  })

  it.each(['0', '0.5', '61', '-1', 'yes', '1s', '1e1', ''])('the header "%s" is a 400 that names it', async (value) => {
    const world = await startFakeWorld()
    const got = await send(world.origin, of(chat, {}, { 'x-hal0-heartbeat': value }))
    expect([got.status, got.json()]).toMatchObject([
      400,
      {
        error: {
          code: 'request.invalid',
          param: 'X-Hal0-Heartbeat',
          message: expect.stringContaining('1 to 60') as string,
        },
      },
    ])
    expect((await world.engine.state()).counters.inference).toBe(0)
  })

  it('a client that leaves an opened stream is gone: nothing is loaded for it any more', async () => {
    const world = await startFakeWorld()
    world.slots.hold('agent')
    const stream = await open(world.origin, of(chat, {}, ASKED))
    await stream.until(COMMENT)
    stream.leave()
    await world.slots.logged('left agent')
    expect(await world.gateway.requestLine(1)).toMatchObject({ failure: 'client_gone' })
  })

  it('the gateway that closes says so in an opened stream', async () => {
    const world = await startFakeWorld()
    world.slots.hold('agent')
    const stream = await open(world.origin, of(chat, {}, ASKED))
    const first = await stream.until(COMMENT)
    const rest = stream.rest()
    await world.gateway.gateway.close()
    expect(errorsIn(first + (await rest))).toMatchObject([{ code: 'slot.unloading' }])
  })

  it('a lease that is revoked says so in an opened stream', async () => {
    const world = await startFakeWorld({ hold_first: true })
    const stream = await open(world.origin, of(chat, {}, ASKED))
    const first = await stream.until(COMMENT)
    const rest = stream.rest()
    world.slots.revoke(Hal0Error.of('slot.unloading', 'being unloaded', { retryAfterS: 4 }))
    expect(errorsIn(first + (await rest))).toMatchObject([{ code: 'slot.unloading' }])
    await world.engine.waitFor('aborts_before_first_byte', 1)
  })

  it('an answer that is no stream cannot follow an opened one: an error event says so', async () => {
    const world = await startFakeWorld({ garbage: 'html', hold_first: true })
    const stream = await open(world.origin, of(chat, {}, ASKED))
    const text = await whole(stream, COMMENT, () => world.engine.setKnobs({ hold_first: false }))
    expect(errorsIn(text)).toMatchObject([{ code: 'dispatch.upstream_unavailable' }])
  })

  it('HTTP/1.0: without chunks, to the end of the connection', async () => {
    const world = await startFakeWorld()
    world.slots.hold('agent')
    const text = JSON.stringify({ model: 'agent', stream: true, ...chat.body })
    const lines = [
      'POST /v1/chat/completions HTTP/1.0',
      'content-type: application/json',
      'x-hal0-heartbeat: 1',
      `content-length: ${Buffer.byteLength(text)}`,
    ]
    const got = dial(world.gateway.port, `${lines.join('\r\n')}\r\n\r\n${text}`)
    await got.until(COMMENT)
    world.slots.open('agent')
    const all = await got.ended
    expect(all).not.toMatch(/transfer-encoding/i)
    const body = all.slice(all.indexOf('\r\n\r\n') + 4)
    expect(beatsIn(chat, body)).toBeGreaterThan(0)
    expect(body).toContain('[DONE]')
  })
})
