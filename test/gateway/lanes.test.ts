import { describe, expect, it } from 'vitest'
import type { Caller } from '../../src/access/caller.ts'
import type { Guard } from '../../src/access/guard.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { ok } from '../../src/kernel/result.ts'
import { startFakeWorld, startGatewayAt } from '../support/gateway-world.ts'
import { open, send, start } from '../support/raw-http.ts'
import { createStubDoor, type StubLane } from '../support/stub-door.ts'
import { parseEvents, TEXT_DIALECTS } from '../support/text-dialects.ts'

// Slot `agent` is a lane's here; the list of the lane says what the test says.

const RESERVED = Hal0Error.of('gpu_reserved', 'lane agent is booked by somebody else')
const SWITCHING = Hal0Error.of('model_switching', 'lane agent goes to another model', { retryAfterS: 3 })
const ANSWERS: readonly [Hal0Error, number, string | undefined][] = [
  [RESERVED, 403, undefined],
  [Hal0Error.of('gpu_exclusive', 'lane agent is booked as a whole', { retryAfterS: 1_800 }), 503, '1800'],
  [SWITCHING, 503, '3'],
  [Hal0Error.of('slot.loading', 'lane agent is loading', { retryAfterS: 9 }), 503, '9'],
  [Hal0Error.of('slot.not_ready', 'lane agent runs nothing'), 503, undefined],
  [Hal0Error.of('lane.store_unavailable', 'the bookings cannot be read', { retryAfterS: 5 }), 503, '5'],
]
const ada: Caller = { kind: 'user', userId: 'u-ada', name: 'ada', role: 'member', keyId: 'k-1' }

async function begin(
  lane: StubLane = {},
  options: Parameters<typeof startFakeWorld>[1] & { readonly knobs?: Parameters<typeof startFakeWorld>[0] } = {},
) {
  const door = createStubDoor({ agent: lane })
  const { knobs, ...rest } = options
  const world = await startFakeWorld(knobs, { ...rest, more: { lanes: door, ...rest.more } })
  return { ...world, door, logs: () => door.stays.map(({ log }) => log.join(' ')) }
}

const as =
  (caller: Caller): Guard =>
  () =>
    ok(caller)
const messages = [{ role: 'user' as const, content: 'Hi' }]
const chat = (body: object = {}) => ({ path: '/v1/chat/completions', body: { model: 'agent', messages, ...body } })
const STREAMED = TEXT_DIALECTS.filter(({ name }) => ['chat', 'messages', 'responses'].includes(name))
const table = STREAMED.map((dialect) => [dialect.name, dialect] as const)

describe('the access list on arrival', () => {
  describe.each(ANSWERS.map(([error, ...rest]) => [error.code, error, ...rest] as const))(
    '%s',
    (code, error, status, retryAfter) => {
      it.each(table)('in the shape of %s, streamed or not', async (name, dialect) => {
        const world = await begin()
        world.door.onArrival = () => error
        for (const stream of [true, false]) {
          const headers = { 'x-hal0-wait': '30', 'x-hal0-heartbeat': '5' }
          const body = { model: 'agent', ...dialect.body, stream }
          const got = await send(world.origin, { path: dialect.path, body, headers })
          expect([got.status, got.headers['retry-after']]).toEqual([status, retryAfter])
          expect(got.json()).toMatchObject({ error: { code, message: error.message } })
          expect(got.json()['type']).toBe(name === 'messages' ? 'error' : undefined)
        }
        expect(world.slots.log).toEqual([])
        expect(world.door.stays).toEqual([])
        expect(await world.gateway.requestLine(1)).toMatchObject({ slot: 'agent', failure: code })
      })
    },
  )

  const FORM = '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nagent\r\n--x--\r\n'
  const multipart = { 'content-type': 'multipart/form-data; boundary=x' }
  it.each([
    ['embeddings', { path: '/v1/embeddings', body: { model: 'agent', input: 'x' } }],
    ['a count', { path: '/v1/messages/count_tokens', body: { model: 'agent', messages } }],
    ['a form', { path: '/v1/audio/transcriptions', body: FORM, headers: multipart }],
    ['an image', { path: '/v1/images/generations', body: { model: 'agent', prompt: 'x' } }],
    ['the engine itself', { path: '/upstream/agent/completion', body: { prompt: 'x' } }],
    ['a page of the engine', { path: '/upstream/agent/anything' }],
    ['a look at the engine', { path: '/upstream/agent/health' }],
    ['a look by an alias', { path: '/upstream/helper/props' }],
  ])('%s', async (what, request) => {
    const row =
      what === 'an image' ? { type: 'image' as const } : what === 'a form' ? { type: 'transcription' as const } : {}
    const world = await begin({}, { row })
    world.door.onArrival = () => RESERVED
    const got = await send(world.origin, request)
    expect([got.status, got.json()]).toMatchObject([403, { error: { code: 'gpu_reserved' } }])
    expect(world.slots.log).toEqual([])
    expect((await world.engine.state()).counters.inference).toBe(0)
  })

  it('the list of models hides nothing, and names a lane that runs nothing', async () => {
    const world = await begin({ standing: 'closed' }, { row: { model_id: null, state: 'offline' } })
    world.door.onArrival = () => RESERVED
    const { data } = (await send(world.origin, { path: '/v1/models' })).json() as { data: { id: string }[] }
    expect(data.map(({ id }) => id)).toEqual(['agent', 'helper'])
    expect((await send(world.origin, { path: '/v1/models/agent' })).json()).toMatchObject({
      hal0: { model: null, state: 'offline' },
    })
    expect(world.door.asked).toBe(0)
  })
})

describe('a request that is let in', () => {
  it('is recorded with its key, its user and its booking', async () => {
    const world = await begin({ standing: 'own', reservationId: 'r-1' }, { guard: as(ada) })
    expect((await send(world.origin, chat())).status).toBe(200)
    expect(await world.gateway.requestLine(1)).toMatchObject({ key_id: 'k-1', user: 'u-ada', reservation: 'r-1' })
    expect(world.door.stays.map(({ userId }) => userId)).toEqual(['u-ada'])
    expect(world.logs()).toEqual(['leased leave'])
  })

  it('of the local admin has neither', async () => {
    const world = await begin()
    expect((await send(world.origin, chat())).status).toBe(200)
    const line = await world.gateway.requestLine(1)
    expect([line['key_id'], line['user'], line['reservation']]).toEqual([undefined, undefined, undefined])
  })

  it.each([
    ['a user', as(ada), 'u-ada'],
    ['the local admin', as({ kind: 'local_admin' }), 'Bearer abc'],
  ])('waits in the turn of %s', async (_name, guard, key) => {
    const world = await begin({}, { guard })
    world.slots.leasesAtOnce = false
    await send(world.origin, { ...chat(), headers: { authorization: 'Bearer abc' } })
    expect(world.slots.keys).toEqual([key])
  })

  it('a look at the engine is no use of the lane', async () => {
    const world = await begin()
    expect((await send(world.origin, { path: '/upstream/agent/health' })).status).toBe(200)
    expect([world.logs(), world.slots.log]).toEqual([['leave'], ['look agent']])
  })

  it.each([
    ['offline', 'slot.not_ready'],
    ['starting', 'slot.loading'],
  ] as const)('a look at a lane that is %s', async (state, code) => {
    const world = await begin({}, { row: { state } })
    const got = await send(world.origin, { path: '/upstream/agent/health' })
    expect([got.status, got.json()]).toMatchObject([503, { error: { code } }])
    expect(got.text).not.toContain('slot load')
    expect(world.logs()).toEqual(['leave'])
  })

  it('a slot that is no lane is never asked about', async () => {
    const door = createStubDoor({ gpu0: {} })
    const world = await startFakeWorld({}, { more: { lanes: door } })
    expect((await send(world.origin, chat())).status).toBe(200)
    expect((await send(world.origin, { path: '/upstream/agent/health' })).status).toBe(200)
    expect([door.asked, door.stays]).toEqual([0, []])
  })
})

describe('nobody waits for the load of a lane', () => {
  it.each([undefined, '30'])('with X-Hal0-Wait %s', async (wait) => {
    const asked: string[] = []
    const arbiter = {
      enter: (slot: string) => Promise.reject(new Error(`asked for ${slot}`)),
      enterNow: (slot: string) => void asked.push(slot),
    }
    const world = await begin({}, { more: { arbiter } })
    world.slots.hold('agent')
    const got = await send(world.origin, {
      ...chat(),
      ...(wait === undefined ? {} : { headers: { 'x-hal0-wait': wait } }),
    })
    expect([got.status, got.headers['retry-after']]).toEqual([503, '7'])
    expect(got.json()).toMatchObject({ error: { code: 'slot.loading' } })
    expect([world.slots.waits, asked]).toEqual([[0], []])
    expect(world.logs()).toEqual(['leave', 'leave'])
  })

  it.each([
    Hal0Error.of('slot.not_ready', 'nothing runs'),
    Hal0Error.of('slot.crash_looping', 'it failed', { retryAfterS: 60 }),
    Hal0Error.of('slot.unloading', 'it stops', { retryAfterS: 1 }),
  ])('$code of its slot: the list says why', async (failure) => {
    const world = await begin()
    world.slots.failWith(failure)
    world.door.onArrival = (nth) => (nth === 2 ? SWITCHING : undefined)
    const got = await send(world.origin, chat())
    expect([got.status, got.headers['retry-after']]).toEqual([503, '3'])
    expect(got.json()).toMatchObject({ error: { code: 'model_switching' } })
    expect(world.logs()).toEqual(['leave'])
  })
})

describe('the list changes', () => {
  it('while a request waits for a place: it is answered at once', async () => {
    const world = await begin({}, { knobs: { hold_after_tokens: 1 }, parallel: 1 })
    const a = await open(world.origin, chat({ stream: true }))
    await a.until('\n\n')
    const b = send(world.origin, chat())
    await world.slots.logged('wait agent', 2)
    world.door.stays[1]?.end(RESERVED)
    const got = await b
    expect([got.status, got.json()]).toMatchObject([403, { error: { code: 'gpu_reserved' } }])
    expect(world.slots.log).toContain('left agent')
    expect(world.logs()).toEqual(['leased', 'leave'])
    await world.engine.setKnobs({ hold_after_tokens: null })
    expect(await a.rest()).toContain('[DONE]')
    expect((await world.engine.state()).counters.inference).toBe(1)
    await world.gateway.requestLine(2)
    expect(world.logs()).toEqual(['leased leave', 'leave'])
  })

  it('before its turn comes: it is not forwarded, and its place goes on', async () => {
    const world = await begin({}, { knobs: { hold_after_tokens: 1 }, parallel: 1 })
    const a = await open(world.origin, chat({ stream: true }))
    await a.until('\n\n')
    const b = send(world.origin, chat())
    await world.slots.logged('wait agent', 2)
    world.door.onLease = () => SWITCHING
    await world.engine.setKnobs({ hold_after_tokens: null })
    expect(await a.rest()).toContain('[DONE]')
    expect([(await b).status, (await b).headers['retry-after']]).toEqual([503, '3'])
    expect(world.logs()).toEqual(['leased leave', 'refused leave'])
    expect((await world.engine.state()).counters.inference).toBe(1)
    world.door.onLease = () => undefined
    expect((await send(world.origin, chat())).status).toBe(200)
  })

  it('a waiting stream that has shown signs of life ends with an event', async () => {
    const world = await begin({}, { parallel: 1, knobs: { hold_after_tokens: 1 } })
    const a = await open(world.origin, chat({ stream: true }))
    await a.until('\n\n')
    const b = await open(world.origin, { ...chat({ stream: true }), headers: { 'x-hal0-heartbeat': '1' } })
    world.door.stays[1]?.end(RESERVED)
    expect([b.res.statusCode, await b.rest()]).toEqual([200, expect.stringContaining('"gpu_reserved"') as unknown])
    a.leave()
    await world.slots.logged('release agent')
  })

  it.each(table)('in the middle of a stream of %s: one last event, and the engine stops', async (_name, dialect) => {
    const world = await begin({}, { knobs: { hold_after_tokens: 2 } })
    const body = { model: 'agent', ...dialect.body, stream: true }
    const stream = await open(world.origin, { path: dialect.path, body })
    const first = await stream.until('\n\n')
    world.door.stays[0]?.end(RESERVED)
    const { events } = parseEvents(first + (await stream.rest()))
    expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject({ error: { code: 'gpu_reserved' } })
    expect(events.filter(({ data }) => data.includes('gpu_reserved'))).toHaveLength(1)
    await world.engine.waitFor('aborts_mid_stream', 1)
    await world.slots.logged('release agent')
    expect(world.logs()).toEqual(['leased leave'])
    expect(await world.gateway.requestLine(1)).toMatchObject({ status: 200, failure: 'gpu_reserved' })
  })

  it('in the middle of an answer that is no stream: its status', async () => {
    const world = await begin({}, { knobs: { hold_after_tokens: 1 } })
    const answer = send(world.origin, chat())
    await world.engine.waitFor('active', 1)
    world.door.stays[0]?.end(RESERVED)
    expect((await answer).status).toBe(403)
    await world.slots.logged('release agent')
    expect(world.logs()).toEqual(['leased leave'])
  })
})

describe('an engine that is gone before it has read a request', () => {
  it('the request waits again, by the list', async () => {
    const door = createStubDoor({ agent: {} })
    const gone = { origin: 'http://127.0.0.1:1' }
    const world = await startGatewayAt(gone, { more: { lanes: door } })
    const got = await send(world.origin, chat())
    expect(got.status).toBe(502)
    expect(door.stays.map(({ log }) => log.join(' '))).toEqual([`${'leased waits '.repeat(4)}leased leave`])
  })

  it('and is ended by it', async () => {
    const door = createStubDoor({ agent: {} })
    const world = await startGatewayAt({ origin: 'http://127.0.0.1:1' }, { more: { lanes: door } })
    let leases = 0
    door.onLease = () => (++leases === 2 ? SWITCHING : undefined)
    expect((await send(world.origin, chat())).status).toBe(503)
    expect(door.stays.map(({ log }) => log.join(' '))).toEqual(['leased waits refused leave'])
  })
})

describe('X-Hal0-Route: lane-fallback', () => {
  it.each([
    ['by the name of the lane', { path: '/v1/chat/completions', model: 'agent' }, 'lane-fallback'],
    ['by its alias', { path: '/v1/chat/completions', model: 'helper' }, 'lane-fallback'],
    ['by the booked model', { path: '/v1/chat/completions', model: 'booked' }, 'lane-fallback'],
    ['on /upstream', { path: '/upstream/agent/v1/chat/completions', model: 'agent' }, 'lane-fallback'],
    ['not to who names what it runs', { path: '/v1/chat/completions', model: 'hello' }, undefined],
  ])('%s', async (_name, { path, model }, expected) => {
    const world = await begin({ standing: 'own', ownModel: 'booked', isFallback: true })
    const got = await send(world.origin, { path, body: { model, messages } })
    expect([got.status, got.headers['x-hal0-route']]).toEqual([200, expected])
    if (!path.startsWith('/upstream')) expect(got.json()['model']).toBe(model)
  })

  it('not in a refusal', async () => {
    const world = await begin({ isFallback: true })
    world.door.onArrival = () => RESERVED
    expect((await send(world.origin, chat())).headers['x-hal0-route']).toBeUndefined()
  })
})

describe('who leaves', () => {
  it.each(['queued', 'mid-stream'])('%s has left the lane', async (when) => {
    const world = await begin({}, { knobs: { hold_after_tokens: 1 }, parallel: 1 })
    const a = await open(world.origin, chat({ stream: true }))
    await a.until('\n\n')
    if (when === 'queued') {
      const b = start(world.origin, chat())
      await world.slots.logged('wait agent', 2)
      b.destroy()
      await world.slots.logged('left agent')
    }
    a.leave()
    await world.slots.logged('release agent')
    await world.gateway.requestLine(when === 'queued' ? 2 : 1)
    expect(world.logs()).toEqual(when === 'queued' ? ['leased leave', 'leave'] : ['leased leave'])
  })

  it('an engine that is read to the end is in use until then', async () => {
    const world = await begin({}, { knobs: { hold_after_tokens: 1 }, endpoint: { onClientAbort: 'drain' } })
    const a = await open(world.origin, chat({ stream: true }))
    await a.until('\n\n')
    a.leave()
    await world.gateway.requestLine(1)
    expect(world.logs()).toEqual(['leased'])
    await world.engine.setKnobs({ hold_after_tokens: null })
    await world.slots.logged('release agent')
    expect(world.logs()).toEqual(['leased leave'])
  })
})
