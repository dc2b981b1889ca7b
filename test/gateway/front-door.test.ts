import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createOpenGuard } from '../../src/access/guard.ts'
import { daemonSettingsSchema } from '../../src/config/settings/daemon-settings.ts'
import { createFrontDoor, listen, mostConnections } from '../../src/front-door.ts'
import { createGateway, type Gateway } from '../../src/gateway/gateway.ts'
import { requestFacts } from '../../src/gateway/rules/request-facts.ts'
import { gatewaySettingsOf } from '../../src/gateway/settings.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import type { Log } from '../../src/kernel/log.ts'
import { createStubSlots } from '../support/stub-slots.ts'

const lines: unknown[] = []
let port = 0
let gateway: Gateway
let stop = async (): Promise<void> => {}

beforeEach(async () => {
  lines.length = 0
  const write = (facts: object, message: string): void => void lines.push({ ...facts, message })
  const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log }
  gateway = createGateway({
    slots: createStubSlots({}),
    guard: createOpenGuard({ allowedHosts: () => [] }),
    settings: gatewaySettingsOf(daemonSettingsSchema.parse({})),
    log,
    clock: systemClock,
    bus: { publish: () => {} },
    registeredModels: () => new Set(),
    spillFolder: '/nonexistent',
    onRecord: (record) => write(requestFacts(record, null), 'request'),
    onDemand: { ensure: () => Promise.resolve() },
  })
  const server = createFrontDoor({ gateway, api: (_request, response) => void response.end('api'), log })
  const { url } = await listen(server, '127.0.0.1', 0)
  port = Number(new URL(url).port)
  stop = async () => {
    server.close()
    await gateway.close()
    server.closeAllConnections()
  }
})
afterEach(() => stop())

/** Sends bytes as they are and reads until the server closes, or `part` has come. */
async function raw(text: string, part?: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(text)
  let seen = ''
  for await (const piece of socket) {
    seen += String(piece)
    if (part !== undefined && seen.includes(part)) break
  }
  socket.destroy()
  return seen
}

function bodyOf(answer: string): { error: { code: string; message: string; details: Record<string, unknown> } } {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as ReturnType<typeof bodyOf>
}

describe('what the HTTP parser refuses is answered in the one error body, and the connection ends', () => {
  it.each([
    ['no HTTP', 'hello?api_key=SECRET\r\n\r\n', 400],
    ['a bad header', 'GET /v1/models HTTP/1.1\r\nHost: x\r\nbad header: SECRET\r\n\r\n', 400],
    ['too many headers', `GET /v1/models HTTP/1.1\r\nHost: x\r\nx: ${'SECRET'.repeat(5000)}\r\n\r\n`, 431],
    ['more headers than are read', `GET /v1/models HTTP/1.1\r\nHost: x\r\n${'a:b\r\n'.repeat(999)}\r\n`, 431],
    ['no Host', 'GET /v1/models?SECRET HTTP/1.1\r\n\r\n', 400],
    ['two lengths', 'POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400],
    [
      'an unknown coding',
      'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n',
      400,
    ],
    [
      'a bad chunk',
      `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
    ],
    ['an expectation', 'POST /v1/x HTTP/1.1\r\nHost: x\r\nExpect: SECRET\r\nContent-Length: 1\r\n\r\n', 417],
  ])('%s', async (_name, text, status) => {
    const answer = await raw(text)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*connection: close`, 'i'))
    const { error } = bodyOf(answer)
    expect(error.code).toBe('request.invalid')
    expect(JSON.stringify(lines)).toContain(String(error.details['request_id']))
    expect(answer + JSON.stringify(lines)).not.toContain('SECRET')
  })

  it('does not write into an answer that has begun', async () => {
    const good = 'GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const answer = await raw(`${good}nonsense\r\n\r\n`)
    const heads = answer.match(/HTTP\/1\.1 \d+/g) ?? []
    // The first request is answered whole, if it is; what follows is an answer of its own or nothing.
    if (heads[0] === 'HTTP/1.1 200') expect(answer).toContain('{"object":"list","data":[]}')
    expect(heads.length).toBeLessThanOrEqual(2)
  })
})

describe('secrets of a refused request stay out of answer and log', () => {
  it.each([
    ['a query in the target', 'GET http://evil.test/v1/models?api_key=SECRET HTTP/1.1\r\nHost: localhost\r\n'],
    ['a query on a path', 'GET /v1/models?api_key=SECRET HTTP/1.1\r\nHost: evil.test\r\n'],
    ['user info in Host', 'GET /v1/models HTTP/1.1\r\nHost: user:SECRET@localhost\r\n'],
    ['user info in Origin', 'GET /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: http://user:SECRET@localhost\r\n'],
    ['a query in Origin', 'GET /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.test/?t=SECRET\r\n'],
  ])('%s', async (_name, head) => {
    const answer = await raw(`${head}Connection: close\r\n\r\n`)
    expect(answer + JSON.stringify(lines)).not.toContain('SECRET')
    if (head.startsWith('GET /'))
      expect(answer).toMatch(/^HTTP\/1.1 401 [^]*x-request-id[^]*access-control-allow-origin/i)
  })
})

it('sends /v1 and /upstream to the gateway and all else to the API', async () => {
  const get = (path: string) => raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  expect(await get('/v1/models')).toContain('"object":"list"')
  // The gateway's own word: this one has no slots.
  expect(await get('/upstream/a/x')).toContain('slot.not_found')
  for (const path of ['/api/health', '/', '/v1x', '//v1/models']) expect(await get(path)).toMatch(/api$/)
})

describe('clients leave hal0 the files that it needs itself', () => {
  it.each([
    [undefined, Number.POSITIVE_INFINITY],
    [64, 16],
    [256, 64],
    [1_024, 448],
    [20_000, 9_936],
  ])('%s open files: %s connections', (files, connections) => {
    expect(mostConnections(files)).toBe(connections)
  })

  it('one connection too many ends at once, and is said once; one that ends makes room', async () => {
    const log: Log = {
      debug() {},
      info() {},
      warn: (facts, message) => void lines.push({ ...facts, message }),
      error() {},
      child: () => log,
    }
    const server = createFrontDoor({
      gateway,
      api: (_request, response) => void response.end('api'),
      log,
      maxConnections: 2,
    })
    const first = Number(new URL((await listen(server, '127.0.0.1', 0)).url).port)
    const open = async () => {
      const socket = connect(first, '127.0.0.1').on('error', () => {})
      await once(socket, 'connect')
      return socket
    }
    const ended = (socket: Socket) => once(socket.resume(), 'close')
    try {
      const held = [await open(), await open()]
      for (const extra of [await open(), await open()]) await ended(extra)
      expect(lines.filter((line) => JSON.stringify(line).includes('refused'))).toHaveLength(1)
      const left = held.map((socket) => ended(socket))
      for (const socket of held) socket.destroy()
      await Promise.all(left)
      const gone = (): Promise<number> =>
        new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
      while ((await gone()) > 0);
      const next = await open()
      next.write('GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
      let seen = ''
      for await (const piece of next) seen += String(piece)
      expect(seen).toMatch(/api$/)
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })
})
