import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { startClientWorld } from '../support/client-world.ts'
import { eventually, startTestDaemon, type TestDaemon } from '../support/daemon-harness.ts'
import { freePort } from '../support/free-port.ts'
import { eventsOf, open, send } from '../support/raw-http.ts'
import { FAKE_ENGINE, fakeControl } from '../support/start-fake.ts'

/*
 * What went wrong in servers like this one, by number; all of it is asked of a whole daemon somewhere.
 *
 *  1  behind-nginx, streams, api-streams     2  aborts ("while queued"), queueing      3  here, streams
 *  4  cold-slot ("at the wait limit")        5  here, queueing                         6  here, queueing
 *  7  here, bodies                           8  routes ("CORS")                        9  here, routes, upstream
 * 10  here, clients-fake-engine, bodies     11  here, routes, upstream                12  here
 * 13  here, src/slots/fleet-switching       14  here, cold-slot ("while one hangs")
 * 44  connection-reuse, queueing; with a real one test/engines/clients-llama-server   45  connection-reuse, queueing
 * 46  stopped-readers, streams              47  live-watch ("cannot be run at all")
 */

const messages = [{ role: 'user', content: 'Hi there' }]
const chat = (body: object = {}) => ({ path: '/v1/chat/completions', body: { model: 'a', messages, ...body } })

describe('CASES 3: an engine that must not be cut off', () => {
  it.each([true, false])(
    'its answer is read to the end, and nothing stops it meanwhile (stream: %s)',
    async (stream) => {
      const runners = { cpu: { binary: FAKE_ENGINE, on_client_abort: 'drain' } }
      const at = await startTestDaemon({ a: { knobs: { hold_after_tokens: 2, total_slots: 1 } } }, { runners })
      const engine = await at.load('a')
      const leaving = new AbortController()
      const left = at.chat({ stream }, { signal: leaving.signal }).then(
        (answer) => answer.text().catch(() => 'left'),
        () => 'left',
      )
      await engine.waitFor('tokens', 2)
      // One that only waits is not sent when it leaves.
      const waiting = at.chat({ stream }, { signal: leaving.signal }).catch(() => 'left')
      await eventually(() => at.row('a').queued === 1)
      leaving.abort()
      expect(await Promise.all([left, waiting])).toEqual(['left', 'left'])
      await eventually(() => at.row('a').queued === 0)
      // Nobody waits for the answer, and the lease holds: the next in turn waits, and an unload as well.
      const next = at.chat({})
      await eventually(() => at.row('a').queued === 1)
      const restarted = at.daemon.slots.restart('a', { drainMs: 60_000 })
      expect(at.row('a').in_flight).toBe(1)
      expect((await engine.state()).counters).toMatchObject({ inference: 1, aborts: 0, sigterms: 0 })
      await engine.setKnobs({ hold_after_tokens: null })
      await restarted
      // The engine that comes holds again; only its first answer matters here.
      const again = fakeControl(`http://127.0.0.1:${at.row('a').port}`)
      await again.setKnobs({ hold_after_tokens: null })
      expect((await next).status).toBe(200)
      await eventually(() => at.row('a').in_flight === 0)
      expect((await again.state()).counters.aborts).toBe(0)
    },
  )
})

describe('CASES 5: two streams wait for a load, the limit is 1', () => {
  it('nothing is committed before the engine answers: the second still gets its own status', async () => {
    const at = await startTestDaemon({
      a: { knobs: { hold_load: true, total_slots: 1, hold_after_tokens: 1 }, port: await freePort() },
    })
    let heads = 0
    const ask = (body: object) =>
      open(at.daemon.url, chat({ stream: true, ...body })).finally(() => {
        heads++
      })
    const first = ask({})
    await eventually(() => at.row('a').queued === 1)
    const second = ask({ messages: 'broken' })
    await eventually(() => at.row('a').queued === 2 && at.row('a').state === 'warming')
    expect(heads).toBe(0)
    const engine = fakeControl(`http://127.0.0.1:${at.row('a').port}`)
    // It does not listen from the first moment on.
    await eventually(() =>
      engine.setKnobs({ hold_load: false }).then(
        () => true,
        () => false,
      ),
    )
    const streaming = await first
    expect(streaming.res.statusCode).toBe(200)
    await streaming.until('\n\n')
    expect(heads).toBe(1)
    await engine.setKnobs({ hold_after_tokens: null })
    expect(await streaming.rest()).toContain('[DONE]')
    const refused = await second
    expect(refused.res.statusCode).toBe(400)
    expect(refused.res.headers['content-type']).toContain('application/json')
    expect(await refused.rest()).toContain('request.invalid')
  })
})

describe('CASES 6: 20 parallel requests with the default configuration', () => {
  it('are all served or queued; a dashboard beside them neither waits nor counts', async () => {
    const at = await startTestDaemon({ a: { knobs: { hold_first: true } } })
    const engine = await at.load('a')
    const answers = Array.from({ length: 20 }, (_, n) => at.chat({ stream: n % 2 === 0 }))
    await eventually(() => at.row('a').in_flight + at.row('a').queued === 20)
    const { in_flight: inFlight, queued } = at.row('a')
    for (const path of [
      '/',
      '/index.html',
      '/assets/app.js',
      '/favicon.ico',
      '/api/slots',
      '/api/status',
      '/metrics',
    ]) {
      expect((await send(at.daemon.url, { path })).status).toBeLessThan(500)
    }
    expect(at.row('a')).toMatchObject({ in_flight: inFlight, queued })
    expect((await engine.state()).counters.active).toBe(inFlight)
    await engine.setKnobs({ hold_first: false })
    for (const answer of answers) {
      expect((await answer).status).toBe(200)
      await (await answer).text()
    }
    expect((await engine.state()).counters).toMatchObject({ answered: 20, max_active: inFlight })
  })
})

describe('CASES 7: a name that is longer than the one it takes the place of', () => {
  const asked = 'größer-als-erwartet-模型-😀-und-noch-länger'

  it.each([
    ['JSON of known length', { transfer: 'length' }],
    ['JSON in chunks', { transfer: 'chunked' }],
    ['JSON until the connection ends', { transfer: 'close' }],
  ])('%s: the byte count is right both ways, and there is one of it', async (_name, knobs) => {
    const at = await startTestDaemon({ agent: { knobs } })
    const engine = await at.load('agent')
    const answer = await send(at.daemon.url, chat({ model: asked, tail: 'ü' }))
    expect([answer.status, answer.json()['model']]).toEqual([200, asked])
    const { 'content-length': length, 'transfer-encoding': coding } = answer.headers
    expect([length, coding].filter((one) => one !== undefined)).toHaveLength(1)
    if (length !== undefined) expect(length).toBe(String(Buffer.byteLength(answer.text)))
    const seen = (await engine.state()).last_request
    const sent = JSON.stringify({ model: 'agent', messages, tail: 'ü' })
    expect([seen?.body_bytes, seen?.headers['content-length']]).toEqual([
      Buffer.byteLength(sent),
      String(Buffer.byteLength(sent)),
    ])
    expect(seen?.headers['transfer-encoding']).toBeUndefined()
  })
})

describe('CASES 9: a key in a header or in the address', () => {
  it('is in no file of the daemon, in no event, and nothing of it reaches an engine', async () => {
    const world = await startClientWorld()
    const client = createClient({ baseUrl: world.origin })
    const headers = {
      authorization: 'Bearer sk-geheim-1',
      'x-api-key': 'sk-geheim-2',
      cookie: 'session=sk-geheim-3',
      'x-stainless-os': 'Linux',
    }
    const query = '?api_key=sk-geheim-4&key=sk-geheim-5&token=sk-geheim-6&access_token=sk-geheim-7&keep=1'
    const form = new FormData()
    form.set('file', new Blob(['sound']), 'a.wav')
    const echo = { fake: { echo: true } }
    const post = async (path: string, body: object) =>
      (await send(world.origin, { path: path + query, headers, body: { model: 'agent', ...body } })).text
    const heard = [
      await post('/v1/chat/completions', { messages, ...echo }),
      await post('/v1/chat/completions', { messages, stream: true, ...echo }),
      await post('/v1/messages', { messages, max_tokens: 900, ...echo }),
      await post('/v1/responses', { input: 'x', ...echo }),
      await post('/upstream/agent/v1/chat/completions', { messages, ...echo }),
      await post('/v1/chat/completions', { messages: 'wrong' }),
      await post('/v1/nothing', {}),
      await post('/upstream/nobody/x', {}),
      await (
        await fetch(`${world.origin}/v1/audio/transcriptions${query}`, { method: 'POST', headers, body: form })
      ).text(),
      (await send(world.origin, { path: `/v1/models${query}`, headers })).text,
      (await send(world.origin, { path: `/api/slots${query}`, headers })).text,
      (await send(world.origin, { path: `/api/nothing${query}`, headers })).text,
    ]
    // The echo is what the engine was sent.
    expect(heard[0]).toContain('Linux')
    expect(heard.filter((text) => text.includes('geheim'))).toEqual([])
    for (const name of ['agent', 'stt']) {
      const { requests } = await (await world.engine(name)).state()
      expect(requests.length).toBeGreaterThan(0)
      expect(JSON.stringify(requests)).not.toContain('geheim')
    }
    await world.atRest()
    expect(JSON.stringify(await client.events({ limit: 1000 }))).not.toContain('geheim')
    await world.daemon.stop({ drainMs: 0 })
    const files = await filesBelow(world.folder)
    expect(files.filter(({ path }) => path.endsWith('daemon.log'))).toHaveLength(1)
    expect(files.filter(({ bytes }) => bytes.includes('geheim')).map(({ path }) => path)).toEqual([])
  })
})

async function filesBelow(folder: string): Promise<readonly { path: string; bytes: Buffer }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Promise.all(paths.map(async (path) => ({ path, bytes: await readFile(path) })))
}

describe('CASES 10: an engine that names its file', () => {
  const bodies = {
    '/v1/chat/completions': { messages },
    '/v1/completions': { prompt: 'Hi there' },
    '/v1/responses': { input: 'Hi there' },
    '/v1/messages': { messages, max_tokens: 20 },
  }

  it.each(Object.entries(bodies))(
    '%s: every `model` is the name that was asked for, however it is cut',
    async (path, body) => {
      const at = await startTestDaemon({ a: { knobs: { model_name: 'path' } } })
      await at.load('a')
      for (const stream of [false, true]) {
        for (const fake of [{}, { write_bytes: 7 }, { write_bytes: 61, sse_crlf: true }, { transfer: 'chunked' }]) {
          const answer = await send(at.daemon.url, { path, body: { model: 'hal0/a', ...body, stream, fake } })
          expect(answer.status).toBe(200)
          expect(answer.text).not.toContain('.gguf')
          const named = [...answer.text.matchAll(/"model":\s*"([^"]*)"/g)].map(([, name]) => name)
          expect(new Set(named)).toEqual(new Set(['hal0/a']))
          // Chunks of the two older dialects name it each time.
          if (stream && path.endsWith('completions')) expect(named.length).toBe(eventsOf(answer.text).length - 1)
        }
      }
    },
  )
})

describe('CASES 11: a client that looks again and again', () => {
  it('wakes nothing, and keeps nothing awake', async () => {
    const slots = { idle_timeout_s: 0.6, unload_after_s: 2 }
    const at = await startTestDaemon({ a: {}, cold: {} }, { slots })
    const engine = await at.load('a')
    expect((await at.chat({})).status).toBe(200)
    const paths = ['/v1/models', '/v1/models/a', '/metrics', '/api/slots', '/api/slots/a', '/api/status', '/api/health']
    let isOver = false
    let looks = 0
    // Far more often than the slot would need to stay awake.
    const look = async (path: string): Promise<void> => {
      for (; !isOver; looks++) {
        expect((await send(at.daemon.url, { path })).status).toBe(200)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const looking = paths.map(look)
    await at.event(({ type, data }) => type === 'slot.state' && data['to'] === 'idle')
    expect((await engine.state().catch(() => undefined))?.counters.inference ?? 1).toBe(1)
    await eventually(() => at.states('a').slice(-3).join(' ') === 'idle unloading offline')
    isOver = true
    await Promise.all(looking)
    expect(looks).toBeGreaterThan(paths.length)
    expect(at.states('cold')).toEqual([])
  })
})

describe('CASES 12: two clients with different sampling options', () => {
  it('take turns at one process', async () => {
    const at = await startTestDaemon({ a: {} })
    const engine = await at.load('a')
    const { pid } = at.row('a')
    const starts = () => at.states('a').filter((state) => state === 'starting').length
    const before = starts()
    const options = [
      { temperature: 0.1, top_p: 0.5, seed: 1, max_tokens: 3 },
      { temperature: 1.3, top_k: 80, min_p: 0.01, repeat_penalty: 1.2, cache_prompt: false, grammar: 'root ::= "x"' },
    ]
    for (let n = 0; n < 20; n++) {
      expect((await at.chat({ ...options[n % 2], stream: n % 4 < 2 })).status).toBe(200)
      expect(at.row('a').pid).toBe(pid)
    }
    await eventually(() => at.row('a').in_flight === 0)
    expect([starts(), (await engine.state()).counters.inference]).toEqual([before, 20])
  })
})

describe('CASES 13: A, B, A, C, A, B for slots that exclude each other', () => {
  it('at most one switch for each, and everybody is served', async () => {
    const knobs = { load_ms: 60, stall_first_ms: 20 }
    const groups = { big: ['a', 'b', 'c'] }
    // A port that hal0 chooses may be lost to another test, which costs one more start.
    const slot = async () => ({ knobs, port: await freePort() })
    const at = await startTestDaemon({ a: await slot(), b: await slot(), c: await slot() }, { slots: { groups } })
    const starts = () => ['a', 'b', 'c'].map((name) => at.states(name).filter((state) => state === 'starting').length)
    // All of them wait before the first is served: its load is held back by a slot of the same group that is busy.
    const engine = await at.load('c')
    await engine.setKnobs({ hold_first: true })
    const busy = at.chat({ model: 'c' })
    await engine.waitFor('active', 1)
    const [a0 = 0, b0 = 0, c0 = 0] = starts()
    const answers: Promise<Response>[] = []
    for (const model of ['a', 'b', 'a', 'c', 'a', 'b']) {
      answers.push(at.chat({ model }))
      await eventually(() => presentIn(at) === 1 + answers.length)
    }
    await engine.setKnobs({ hold_first: false })
    for (const answer of [busy, ...answers]) {
      expect((await answer).status).toBe(200)
      await (await answer).text()
    }
    const [a1 = 0, b1 = 0, c1 = 0] = starts()
    const walks = JSON.stringify(['a', 'b', 'c'].map(at.states))
    expect([a1 - a0, b1 - b0], walks).toEqual([1, 1])
    expect(c1 - c0).toBeLessThanOrEqual(1)
    const up = ['a', 'b', 'c'].filter((name) => ['ready', 'serving', 'idle'].includes(at.row(name).state))
    expect(up).toHaveLength(1)
  })
})

/** Requests that are in slots or wait for one. */
function presentIn(at: TestDaemon): number {
  return at.daemon.slots.rows().reduce((all, { in_flight, queued }) => all + in_flight + queued, 0)
}

describe('CASES 14: a slot that hangs over a request', () => {
  it('delays no other slot, and can be unloaded by force: its caller is told, its process is gone', async () => {
    const at = await startTestDaemon({ a: { knobs: { stall_first_ms: -1 } }, b: {} })
    const engine = await at.load('a')
    await at.load('b')
    const { pid } = at.row('a')
    const hanging = at.chat({})
    await engine.waitFor('active', 1)
    for (let n = 0; n < 10; n++) expect((await at.chat({ model: 'b' })).status).toBe(200)
    const client = createClient({ baseUrl: at.daemon.url })
    const unloaded = await client.slots.unload('a', { drainS: 0, force: true })
    expect(unloaded).toMatchObject({ done: true, slot: { state: 'offline', pid: null } })
    const answer = await hanging
    expect([answer.status, await answer.json()]).toMatchObject([503, { error: { code: 'slot.unloading' } }])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await at.enginePids()).not.toContain(pid)
    expect((await at.chat({ model: 'b' })).status).toBe(200)
  })
})
