import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { err } from '../../src/kernel/result.ts'
import { thrownBy } from '../support/client-world.ts'
import { startFakeWorld } from '../support/gateway-world.ts'
import { open, send } from '../support/raw-http.ts'
import { parseEvents, TEXT_DIALECTS, type TextDialect } from '../support/text-dialects.ts'

// Fake engine: each dialect with each trouble, as bytes, as a plain parser of events and as the official client of the dialect read it.

const NAMES = ['agent', 'helper', 'hello', 'hal0/agent'] as const
/** How the engine's writes are cut: in whole events, and in the middle of everything. */
const CUTS = [
  { sse_crlf: false, write_bytes: 0 },
  { sse_crlf: false, write_bytes: 1 },
  { sse_crlf: true, write_bytes: 1 },
  { sse_crlf: false, write_bytes: 7 },
  { sse_crlf: true, write_bytes: 7 },
  { sse_crlf: false, write_bytes: 50 },
  { sse_crlf: true, write_bytes: 50 },
] as const

const table = TEXT_DIALECTS.map((dialect) => [dialect.name, dialect] as const)
const objectOf = (text: string) => JSON.parse(text) as Record<string, unknown>
const isError = (data: string) => data !== '[DONE]' && objectOf(data)['error'] !== undefined

/** The one error at the end, whole, in the dialect's form; all before it is what the engine said. */
function lastError(dialect: TextDialect, text: string): Record<string, unknown> {
  const { events } = parseEvents(text)
  const errors = events.filter(({ data }) => isError(data))
  expect(errors).toHaveLength(1)
  const last = events.at(-1)
  expect(last).toBe(errors[0])
  expect(last?.event).toBe(['chat', 'completions'].includes(dialect.name) ? undefined : 'error')
  const said = objectOf(last?.data ?? '')
  if (dialect.name === 'responses') expect(said).toMatchObject({ type: 'error', message: expect.any(String) })
  if (dialect.name === 'messages') expect(said).toMatchObject({ type: 'error', request_id: expect.any(String) })
  return said['error'] as Record<string, unknown>
}

/** What the official client threw: one error of its own kind, with our words. */
function expectTyped(dialect: TextDialect, thrown: unknown, words: RegExp): void {
  expect(thrown).toBeInstanceOf(dialect.name === 'messages' ? Anthropic.APIError : OpenAI.APIError)
  expect((thrown as Error).message).toMatch(words)
}

describe.each(table)('%s', (_name, dialect) => {
  const body = (more: object = {}) => ({ path: dialect.path, body: { model: 'agent', ...dialect.body, ...more } })

  it.each(NAMES)(
    'asked as %s of an engine that says a file path: that name, in every event and answer',
    async (model) => {
      const world = await startFakeWorld({ model_name: 'path' })
      for (const cut of CUTS) {
        const { status, text } = await send(world.origin, body({ model, stream: true, fake: cut }))
        expect(status).toBe(200)
        const names = parseEvents(text)
          .events.filter(({ data }) => data !== '[DONE]')
          .map(({ data }) => dialect.modelOf(objectOf(data)))
        expect(new Set(names.filter((name) => name !== undefined))).toEqual(new Set([model]))
        expect(text).not.toContain('fake.gguf')
      }
      const whole = await send(world.origin, body({ model }))
      expect([whole.status, dialect.modelOf(whole.json())]).toEqual([200, model])
      expect(whole.text).not.toContain('fake.gguf')
      const read = await dialect.read(world.origin, { model })
      const named = read.map((event) => dialect.modelOf(event as Record<string, unknown>))
      expect(new Set(named.filter((name) => name !== undefined))).toEqual(new Set([model]))
    },
  )

  it.each(['cut', 'reset', 'end'])(
    'an engine that dies mid-stream (%s), however its writes are cut',
    async (die_how) => {
      const world = await startFakeWorld()
      const words = die_how === 'end' ? /unfinished stream/ : /broke off/
      for (const cut of CUTS) {
        const fake = { die_after_tokens: 3, die_how, ...cut }
        const { status, text } = await send(world.origin, body({ stream: true, fake }))
        expect(status).toBe(200)
        expect(lastError(dialect, text)).toMatchObject({ code: 'dispatch.upstream_unavailable' })
        expectTyped(dialect, await thrownBy(dialect.read(world.origin, { fake })), words)
      }
    },
  )

  it('an engine whose process ends mid-stream', async () => {
    const world = await startFakeWorld({ die_after_tokens: 3, die_how: 'exit' })
    const { text } = await send(world.origin, body({ stream: true }))
    expect(lastError(dialect, text)['message']).toMatch(/broke off/)
  })

  it('an engine that falls silent mid-stream', async () => {
    const world = await startFakeWorld({}, { settings: { stallS: 0.15 } })
    const fake = { stall_after_tokens: 2, stall_mid_ms: -1 }
    const { text } = await send(world.origin, body({ stream: true, fake }))
    expect(lastError(dialect, text)).toMatchObject({ code: 'dispatch.stalled' })
    expectTyped(dialect, await thrownBy(dialect.read(world.origin, { fake })), /sent nothing for 0.15 s/)
    await world.engine.waitFor('aborts_mid_stream', 2)
  })

  it('a lease that is revoked mid-stream', async () => {
    const world = await startFakeWorld({ hold_after_tokens: 2 })
    const stream = await open(world.origin, body({ stream: true }))
    const first = await stream.until('\n\n')
    world.slots.revoke(Hal0Error.of('slot.unloading', 'Slot "agent" is being unloaded', { retryAfterS: 4 }))
    const error = lastError(dialect, first + (await stream.rest()))
    expect(error).toMatchObject({
      code: 'slot.unloading',
      message: expect.stringContaining('being unloaded') as string,
    })
    await world.engine.waitFor('aborts_mid_stream', 1)
  })

  it('an engine that breaks its chunks mid-stream, and keeps the connection open for the next', async () => {
    const world = await startFakeWorld()
    for (const cut of CUTS) {
      const fake = { bad_chunking: true, ...cut }
      const { text } = await send(world.origin, body({ stream: true, fake }))
      expect(lastError(dialect, text)).toMatchObject({ code: 'dispatch.upstream_unavailable' })
      expectTyped(dialect, await thrownBy(dialect.read(world.origin, { fake })), /broke off/)
    }
    expect(await dialect.read(world.origin, {})).not.toHaveLength(0)
  })

  it.each([
    [400, { error_status: 400 }, 400],
    [404, { error_status: 404 }, 404],
    [429, { error_status: 429, error_headers: { 'retry-after': '3' } }, 429],
    [500, { error_status: 500 }, 500],
    [503, { error_status: 503 }, 503],
    [501, { missing_routes: ['*'], missing_status: 404 }, 501],
    [502, { die_after_tokens: 0 }, 502],
  ])('%i before the answer, in its own shape, streamed or not', async (_status, knobs, status) => {
    const world = await startFakeWorld(knobs)
    for (const stream of [true, false]) {
      const got = await send(world.origin, body({ stream }))
      expect([got.status, got.headers['content-type']]).toEqual([status, expect.stringContaining('json')])
      expectShape(dialect, got.json())
      if ('error_status' in knobs) expect(got.text).toContain('planned error of the fake engine')
      expect(got.headers['retry-after']).toBe(status === 429 ? '3' : undefined)
      expectTyped(dialect, await thrownBy(dialect.read(world.origin, {})), new RegExp(`^${status} `))
    }
  })

  it.each([
    [503, Hal0Error.of('slot.loading', 'Slot "agent" is loading', { retryAfterS: 7 }), '7'],
    [429, Hal0Error.of('dispatch.queue_full', 'full', { retryAfterS: 2 }), '2'],
    [503, Hal0Error.of('slot.model_missing', 'no file', {}), undefined],
  ])('%i of a slot that cannot be had', async (status, failure, retryAfter) => {
    const world = await startFakeWorld()
    world.slots.failWith(failure)
    const got = await send(world.origin, body({ stream: true }))
    expect([got.status, got.headers['retry-after']]).toEqual([status, retryAfter])
    expectShape(dialect, got.json())
  })

  it('a body that is no JSON, one that is too long, a name that nobody knows, and a key that is refused', async () => {
    const world = await startFakeWorld({}, { settings: { jsonLimitBytes: 500, unknownModel: 'reject' } })
    const asked: readonly [unknown, number][] = [
      ['{"model":"agent",', 400],
      [{ ...dialect.body, model: 'agent', filler: 'x'.repeat(600) }, 413],
      [{ ...dialect.body, model: 'nobody' }, 404],
    ]
    for (const [sent, status] of asked) {
      const got = await send(world.origin, { path: dialect.path, body: sent })
      expect(got.status).toBe(status)
      expectShape(dialect, got.json())
    }
    const closed = await startFakeWorld({}, { guard: () => err(Hal0Error.of('auth.required', 'A key is needed')) })
    const got = await send(closed.origin, body())
    expect(got.status).toBe(401)
    expectShape(dialect, got.json())
  })
})

function expectShape(dialect: TextDialect, said: Record<string, unknown>): void {
  const { error } = said as { error: Record<string, unknown> }
  expect(error).toMatchObject({ message: expect.any(String), type: expect.any(String) })
  expect(said['type']).toBe(dialect.name === 'messages' ? 'error' : undefined)
  if (dialect.name === 'messages') expect(said['request_id']).toEqual(expect.any(String))
  else expect(error).toHaveProperty('param')
}
