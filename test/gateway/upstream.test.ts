import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { open, send } from '../support/raw-http.ts'
import { startGateway, type TestGateway } from '../support/start-gateway.ts'
import { agentEndpoint, createStubSlots, type StubSlots } from '../support/stub-slots.ts'

interface Seen {
  readonly line: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

/** An engine of the plainest kind: what it was asked stands in `seen`; `answer` says what it does. */
let seen: Seen[]
let answer: (req: IncomingMessage, res: ServerResponse, body: Buffer) => void
let engine: Server
let slots: StubSlots
let gateway: TestGateway

beforeEach(async () => {
  seen = []
  answer = (_req, res) => res.end('fine')
  engine = createServer((req, res) => {
    const pieces: Buffer[] = []
    req.on('data', (piece: Buffer) => pieces.push(piece))
    req.on('end', () => {
      const body = Buffer.concat(pieces)
      seen.push({ line: `${req.method} ${req.url}`, headers: req.headers, body })
      answer(req, res, body)
    })
  })
  engine.listen(0, '127.0.0.1')
  await once(engine, 'listening')
  const { port } = engine.address() as AddressInfo
  const endpoint = agentEndpoint({ origin: `http://127.0.0.1:${port}`, key: 'engine-key' })
  slots = createStubSlots({
    agent: { endpoint, row: { aliases: ['org/helper'] } },
    cold: { endpoint, row: { state: 'offline' } },
    warm: { endpoint, row: { state: 'warming' } },
    broken: { endpoint, row: { state: 'error' } },
    // Its runner has none of the routes of /v1: here it does not matter.
    odd: { endpoint: { ...endpoint, routes: [] } },
  })
  gateway = await startGateway(slots)
})

afterEach(async () => {
  await gateway.stop()
  engine.closeAllConnections()
  await new Promise((resolve) => engine.close(resolve))
})

describe('what the engine gets', () => {
  it.each([
    ['GET', '/upstream/agent/slots?a=%20&b=+&&c', 'GET /slots?a=%20&b=+&&c'],
    ['GET', '/upstream/agent', 'GET /'],
    ['GET', '/upstream/agent?x=/y', 'GET /?x=/y'],
    ['DELETE', '/upstream/agent/a%2Fb//c/', 'DELETE /a%2Fb//c/'],
    ['PUT', '/upstream/agent/x?&&', 'PUT /x?&&'],
    ['PATCH', '/upstream/org%2Fhelper/x', 'PATCH /x'],
    ['POST', '/upstream/odd/v1/chat/completions', 'POST /v1/chat/completions'],
    // CASES 9: the client's key.
    ['GET', '/upstream/agent/x?api_key=secret&a=1&token=secret', 'GET /x?a=1'],
  ])('%s %s', async (method, path, line) => {
    const got = await send(gateway.origin, { method, path, headers: { authorization: 'Bearer secret' } })
    expect([got.status, got.text]).toEqual([200, 'fine'])
    expect(seen.map((one) => one.line)).toEqual([line])
    expect(seen[0]?.headers.authorization).toBe('Bearer engine-key')
    expect(JSON.stringify(seen)).not.toContain('secret')
  })

  it('a body, byte for byte, with the type and the length that its sender gave it', async () => {
    const body = Buffer.from([0, 255, 13, 10, 0x7b, 0x22, 0xef, 0xbb, 0xbf])
    const headers = { 'content-type': 'application/x-odd; q="1"' }
    await send(gateway.origin, { path: '/upstream/agent/blob', body, headers })
    expect(seen[0]?.body.equals(body)).toBe(true)
    expect(seen[0]?.headers).toMatchObject({ ...headers, 'content-length': String(body.length) })
  })

  it('`model` is left alone', async () => {
    const body = { model: 'another', model_too: 1 }
    await send(gateway.origin, { path: '/upstream/agent/v1/completions', body })
    expect(seen[0]?.body.toString()).toBe(JSON.stringify(body))
  })

  it('a body while it comes: what is sent in pieces arrives in pieces', async () => {
    const first = new Promise<string>((resolve) => {
      engine.removeAllListeners('request')
      engine.on('request', (req: IncomingMessage, res: ServerResponse) => {
        req.once('data', (piece: Buffer) => resolve(piece.toString()))
        req.on('end', () => res.end('whole'))
      })
    })
    const upload = request(`${gateway.origin}/upstream/agent/upload`, { method: 'POST', agent: false })
    upload.write('one')
    expect(await first).toBe('one')
    upload.end('two')
    const [res] = (await once(upload, 'response')) as [IncomingMessage]
    expect(await textOf(res)).toBe('whole')
  })
})

describe('what the client gets', () => {
  it('status, headers and bytes as they come; CORS once, and nothing of the connection', async () => {
    answer = (_req, res) => {
      const more = { 'access-control-allow-origin': 'http://engine.test', 'keep-alive': 'timeout=1', 'x-odd': 'yes' }
      res.writeHead(418, 'Odd', { ...more, 'content-type': 'text/odd', 'set-cookie': ['a=1', 'b=2'] })
      res.end('{"model":"/secret/file.gguf"')
    }
    const got = await send(gateway.origin, { path: '/upstream/agent/x', headers: { 'x-request-id': 'abc-1' } })
    expect([got.status, got.text]).toEqual([418, '{"model":"/secret/file.gguf"'])
    expect(got.headers).toMatchObject({ 'content-type': 'text/odd', 'x-odd': 'yes', 'x-request-id': 'abc-1' })
    expect(got.headers['set-cookie']).toEqual(['a=1', 'b=2'])
    const origins = got.rawHeaders.filter((name) => name.toLowerCase() === 'access-control-allow-origin')
    expect([origins.length, got.headers['access-control-allow-origin']]).toEqual([1, '*'])
    expect(gateway.events).toEqual([])
  })

  it.each([400, 404, 429, 500, 501, 503])("the engine's own %i, untouched", async (status) => {
    answer = (_req, res) => res.writeHead(status, { 'content-type': 'application/json' }).end('{"error":"mine"}')
    const got = await send(gateway.origin, { path: '/upstream/agent/x', body: {} })
    expect([got.status, got.text, got.headers['content-type']]).toEqual([
      status,
      '{"error":"mine"}',
      'application/json',
    ])
    expect(slots.log.at(-1)).toBe('release agent')
  })

  it('HEAD: the headers, no body, and the next request on the same engine works', async () => {
    answer = (_req, res) => res.writeHead(200, { 'content-length': '4' }).end('fine')
    const head = await send(gateway.origin, { method: 'HEAD', path: '/upstream/agent/x' })
    expect([head.status, head.headers['content-length'], head.text]).toEqual([200, '4', ''])
    expect((await send(gateway.origin, { path: '/upstream/agent/y' })).text).toBe('fine')
  })

  it('a stream as it comes', async () => {
    let next: (() => void) | undefined
    answer = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('data: one\n\n')
      next = () => res.end('data: two\n\n')
    }
    const opened = await open(gateway.origin, { path: '/upstream/agent/completion', body: { stream: true } })
    await opened.until('data: one\n\n')
    next?.()
    expect(await opened.rest()).toBe('data: two\n\n')
  })

  it('a client that leaves: the engine is cut off, the lease comes back', async () => {
    const cut = new Promise<void>((resolve) => {
      answer = (_req, res) => {
        res.on('close', resolve)
        res.writeHead(200).write('begun')
      }
    })
    const opened = await open(gateway.origin, { path: '/upstream/agent/x', body: {} })
    await opened.until('begun')
    opened.leave()
    await cut
    await slots.logged('release agent')
    expect(slots.leases()).toEqual([])
  })
})

describe('slots', () => {
  it('404 for one that does not exist, with those that do', async () => {
    const got = await send(gateway.origin, { path: '/upstream/nope/health' })
    expect(got.status).toBe(404)
    expect(got.json()).toMatchObject({
      error: { code: 'slot.not_found', message: expect.stringContaining('there are: agent, cold, warm') as string },
    })
    // Only names of slots: the ids of models and the fallback are of /v1.
    expect((await send(gateway.origin, { path: '/upstream/hello/health' })).status).toBe(404)
    expect((await send(gateway.origin, { path: '/upstream/hal0%2Fagent/health' })).status).toBe(404)
    expect(slots.log).toEqual([])
  })

  it('a cold one is loaded by any request', async () => {
    expect((await send(gateway.origin, { path: '/upstream/cold/completion', body: {} })).status).toBe(200)
    expect(slots.log).toEqual(['wait cold', 'lease cold', 'release cold'])
  })

  it.each([
    ['cold', 503, 'slot.not_ready'],
    ['broken', 503, 'slot.not_ready'],
    ['warm', 503, 'slot.loading'],
  ])('CASES 11: a look at %s loads nothing: %i %s', async (slot, status, code) => {
    for (const path of ['/health', '/v1/models', '/metrics', '/props', '/slots?x=1']) {
      const got = await send(gateway.origin, { path: `/upstream/${slot}${path}` })
      expect([got.status, got.json()]).toMatchObject([status, { error: { code } }])
      expect(got.headers['retry-after'] !== undefined).toBe(code === 'slot.loading')
    }
    expect([slots.log, seen]).toEqual([[], []])
  })

  it.each(['GET', 'HEAD'])('SPEC 7: a look (%s) is no use: no lease, and it waits behind nobody', async (method) => {
    // Nobody gets a lease any more.
    slots.hold('agent')
    slots.leasesAtOnce = false
    for (const path of ['/health', '/v1/models', '/metrics', '/props', '/slots?x=1']) {
      const got = await send(gateway.origin, { method, path: `/upstream/agent${path}` })
      expect([got.status, got.text]).toEqual([200, method === 'HEAD' ? '' : 'fine'])
    }
    expect(slots.log).toEqual(Array.from({ length: 5 }, () => 'look agent'))
    expect(seen[0]?.headers.authorization).toBe('Bearer engine-key')
  })

  it('a look at an engine that ends is told so, and begun no more', async () => {
    answer = (_req, res) => void res.writeHead(200).write('begun')
    const opened = await open(gateway.origin, { method: 'GET', path: '/upstream/agent/metrics' })
    await opened.until('begun')
    slots.revoke(Hal0Error.of('slot.unloading', 'it ends', { retryAfterS: 1 }))
    await expect(opened.rest()).rejects.toThrow()
    expect(await gateway.requestLine(1)).toMatchObject({ slot: 'agent', failure: 'slot.unloading' })
    expect(slots.log).toEqual(['look agent'])
  })

  it('a look that the engine had no time to read is begun anew', async () => {
    const gone = createServer()
    gone.listen(0, '127.0.0.1')
    await once(gone, 'listening')
    const { port } = gone.address() as AddressInfo
    gone.close()
    const dead = createStubSlots({ agent: { endpoint: agentEndpoint({ origin: `http://127.0.0.1:${port}` }) } })
    const other = await startGateway(dead)
    const got = await send(other.origin, { path: '/upstream/agent/health' })
    expect([got.status, got.json()]).toMatchObject([502, { error: { code: 'dispatch.upstream_unavailable' } }])
    expect(dead.log).toEqual(['look agent', 'look agent', 'look agent'])
    await other.stop()
  })

  it('a POST to a page of the engine is no look', async () => {
    expect((await send(gateway.origin, { path: '/upstream/agent/props', body: {} })).status).toBe(200)
    expect(slots.log).toEqual(['wait agent', 'lease agent', 'release agent'])
  })

  it('X-Hal0-Wait, and the errors of a slot that cannot be had, are as under /v1', async () => {
    const bad = await send(gateway.origin, { path: '/upstream/agent/x', headers: { 'x-hal0-wait': 'soon' } })
    expect([bad.status, bad.json()]).toMatchObject([400, { error: { code: 'request.invalid' } }])
    slots.failWith(Hal0Error.of('dispatch.queue_full', 'full', { retryAfterS: 2 }))
    const full = await send(gateway.origin, { path: '/upstream/agent/x', body: {} })
    expect([full.status, full.headers['retry-after']]).toEqual([429, '2'])
  })

  it('a WebSocket is refused in words; an offer of HTTP/2 is passed over', async () => {
    const ws = { connection: 'Upgrade', upgrade: 'websocket' }
    const got = await send(gateway.origin, { path: '/upstream/agent/ws', headers: ws })
    expect([got.status, got.json()]).toMatchObject([501, { error: { code: 'dispatch.route_unsupported' } }])
    const h2c = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'x' }
    expect((await send(gateway.origin, { path: '/upstream/agent/x', headers: h2c })).text).toBe('fine')
    expect(seen[0]?.headers).not.toHaveProperty('upgrade')
  })
})

async function textOf(res: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of res) text += String(piece)
  return text
}
