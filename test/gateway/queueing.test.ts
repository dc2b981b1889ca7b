import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { GatewaySettings } from '../../src/gateway/settings.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { open, send, start } from '../support/raw-http.ts'
import { type FakeEngine, type FakeKnobs, startFakeEngine } from '../support/start-fake.ts'
import { startGateway, type TestGateway } from '../support/start-gateway.ts'
import { agentEndpoint, createStubSlots, type StubSlots } from '../support/stub-slots.ts'

let engine: FakeEngine
let slots: StubSlots
let gateway: TestGateway

async function begin(
  knobs: FakeKnobs = {},
  options: { settings?: Partial<GatewaySettings>; parallel?: number } = {},
): Promise<void> {
  engine = await startFakeEngine({ argv: ['--alias', 'agent', '--parallel', '64'], knobs })
  const endpoint = agentEndpoint(engine)
  const { parallel } = options
  slots = createStubSlots({
    agent: { endpoint, ...(parallel === undefined ? {} : { parallel }) },
    other: { endpoint: { ...endpoint, alias: 'other' } },
  })
  gateway = await startGateway(slots, options.settings)
}

afterEach(async () => {
  await gateway.stop()
  await engine.stop()
  if (slots.leases().length > 0 || gateway.gateway.inFlight() > 0) throw new Error('a lease or a request is left over')
})

const messages = [{ role: 'user' as const, content: 'Hi' }]
const chat = (body: object = {}) => ({ path: '/v1/chat/completions', body: { model: 'agent', messages, ...body } })

describe('queueing', () => {
  it('CASES 2: A streams, B waits, B leaves: A is untouched and B never reaches the engine', async () => {
    await begin({ hold_after_tokens: 1 }, { parallel: 1 })
    const a = await open(gateway.origin, chat({ stream: true }))
    await a.until('\n\n')
    const b = start(gateway.origin, chat())
    await slots.logged('wait agent', 2)
    b.destroy()
    await slots.logged('left agent')
    await engine.setKnobs({ hold_after_tokens: null })
    expect(await a.rest()).toContain('[DONE]')
    await slots.logged('release agent')
    // The place is free for the next.
    expect((await send(gateway.origin, chat())).status).toBe(200)
    expect((await engine.state()).counters.inference).toBe(2)
    expect(slots.log).toEqual([
      'wait agent',
      'lease agent',
      'wait agent',
      'left agent',
      'release agent',
      'wait agent',
      'lease agent',
      'release agent',
    ])
  })

  it('CASES 4: a load longer than the wait limit is 503 with Retry-After, not a hang', async () => {
    await begin()
    slots.hold('agent')
    const answer = await send(gateway.origin, { ...chat(), headers: { 'x-hal0-wait': '0.2' } })
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '7'])
    expect(answer.json()).toMatchObject({ error: { code: 'slot.loading', details: { retry_after_s: 7 } } })
    expect((await engine.state()).counters.inference).toBe(0)
  })

  it('CASES 5: two streams wait for a load, one can start: the other still gets a real status', async () => {
    await begin({ hold_after_tokens: 1 }, { parallel: 1 })
    slots.hold('agent')
    const first = open(gateway.origin, chat({ stream: true }))
    await slots.logged('wait agent')
    const second = send(gateway.origin, chat({ stream: true, messages: 'broken' }))
    await slots.logged('wait agent', 2)
    slots.open('agent')
    const a = await first
    expect(a.res.statusCode).toBe(200)
    await a.until('\n\n')
    await engine.setKnobs({ hold_after_tokens: null })
    expect(await a.rest()).toContain('[DONE]')
    expect((await second).status).toBe(400)
    expect((await second).headers['content-type']).toContain('application/json')
  })

  it('a load that fails is told with its status, also to a stream', async () => {
    await begin()
    slots.failWith(Hal0Error.of('slot.model_missing', 'Slot "agent": no such file /m.gguf'))
    const answer = await send(gateway.origin, chat({ stream: true }))
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, undefined])
    expect(answer.json()).toMatchObject({ error: { code: 'slot.model_missing' } })
    expect(answer.text).not.toContain('/m.gguf')
    expect((await gateway.requestLine(1))['detail']).toContain('/m.gguf')
  })

  it('CASES 6: 20 parallel requests are all served, one at a time if it has to be', async () => {
    await begin({}, { parallel: 1 })
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => send(gateway.origin, chat({ stream: n % 2 === 0, messages: said(n) }))),
    )
    for (const [n, answer] of answers.entries()) {
      expect(answer.status).toBe(200)
      const text = answer.text.replace(/data: .*?"content":"([^"]*)".*\n\n/g, '$1')
      expect(text).toContain(`say ${n}`)
    }
    expect((await engine.state()).counters.max_active).toBe(1)
  })

  it('CASES 14: a request for a slot that hangs delays nobody else', async () => {
    await begin()
    slots.hold('agent')
    const hanging = start(gateway.origin, chat())
    await slots.logged('wait agent')
    expect((await send(gateway.origin, chat({ model: 'other' }))).status).toBe(200)
    hanging.destroy()
    await slots.logged('left agent')
  })

  it('a client that leaves at the moment of its lease costs nothing', async () => {
    await begin()
    slots.hold('agent')
    const client = start(gateway.origin, chat())
    await slots.logged('wait agent')
    client.destroy()
    slots.open('agent')
    await gateway.requestLine(1)
    await expect.poll(() => gateway.gateway.inFlight()).toBe(0)
    expect(slots.leases()).toEqual([])
  })
})

function said(n: number) {
  return [{ role: 'user', content: `say ${n}` }]
}

describe('connections to the engine', () => {
  it.each([
    ['plain', false],
    ['stream', true],
  ])(
    'CASES 44: an engine that closes although it promised keep-alive: 300 of 300 (%s)',
    async (_name, stream) => {
      await begin({ close_after_sse: true, close_after_answer: true })
      for (let n = 0; n < 300; n++) {
        const answer = await send(gateway.origin, chat({ stream }))
        expect(answer.status).toBe(200)
        if (stream) expect(answer.text).toContain('[DONE]')
      }
      expect((await engine.state()).counters.answered).toBe(300)
    },
    60_000,
  )

  it('CASES 44: the same under load', async () => {
    await begin({ close_after_sse: true, close_after_answer: true })
    let failed = 0
    await Promise.all(
      Array.from({ length: 10 }, async (_, worker) => {
        for (let n = 0; n < 30; n++) {
          const answer = await send(gateway.origin, chat({ stream: (n + worker) % 2 === 0 }))
          if (answer.status !== 200) failed++
        }
      }),
    )
    expect(failed).toBe(0)
    expect((await engine.state()).counters.answered).toBe(300)
  }, 60_000)

  it('CASES 45: eight clients leave before their request is written; the ninth notices nothing', async () => {
    await begin({}, { parallel: 8 })
    slots.hold('agent')
    const clients = Array.from({ length: 8 }, () => start(gateway.origin, chat({ stream: true })))
    await slots.logged('wait agent', 8)
    // Leases and departures in one tick: the requests are on their way into connections that do not exist yet.
    slots.open('agent')
    for (const client of clients) client.destroy()
    await slots.logged('release agent', 8)
    for (let n = 0; n < 9; n++) expect((await send(gateway.origin, chat())).status).toBe(200)
    expect((await engine.state()).counters.active).toBe(0)
  })

  const endpointAt = (origin: string) => agentEndpoint({ origin })

  /** Answers the first request of a connection, and closes on the second without a word; else on every one. */
  async function rudeEngine(answersFirst: boolean) {
    let closedOnReuse = 0
    let requests = 0
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      let seen = 0
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('data', () => {
        requests++
        if (++seen === 1 && answersFirst) {
          socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}')
          return
        }
        if (seen > 1) closedOnReuse++
        socket.destroy()
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    return {
      origin: `http://127.0.0.1:${port}`,
      closedOnReuse: () => closedOnReuse,
      requests: () => requests,
      stop() {
        for (const socket of sockets) socket.destroy()
        server.close()
      },
    }
  }

  /** Answers the first request of a connection, and resets it after a while, as the kernel does for a process that goes with bytes unread. */
  async function deafEngine(closesAfterMs: number) {
    let resets = 0
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.pause()
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}')
        setTimeout(() => {
          resets++
          socket.resetAndDestroy()
        }, closesAfterMs)
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    return {
      origin: `http://127.0.0.1:${port}`,
      resets: () => resets,
      stop() {
        for (const socket of sockets) socket.destroy()
        server.close()
      },
    }
  }

  /** Longer than any connection has to rest before it is used again, shorter than it is kept. */
  const rest = () => new Promise((resolve) => setTimeout(resolve, 200))

  it('a written request that comes to nothing is not sent again, however soon its connection ended', async () => {
    const rude = await rudeEngine(true)
    await begin()
    const failing = await startGateway(createStubSlots({ agent: { endpoint: endpointAt(rude.origin) } }))
    try {
      expect((await send(failing.origin, chat())).status).toBe(200)
      await rest()
      const answer = await send(failing.origin, chat())
      expect([rude.closedOnReuse(), answer.status]).toEqual([1, 502])
      expect(rude.requests()).toBe(2)
    } finally {
      await failing.stop()
      rude.stop()
    }
  })

  it('an engine that resets after an answer is found out before its connection is used again', async () => {
    const deaf = await deafEngine(20)
    await begin()
    const patient = await startGateway(createStubSlots({ agent: { endpoint: endpointAt(deaf.origin) } }))
    try {
      for (let n = 0; n < 20; n++) expect((await send(patient.origin, chat())).status).toBe(200)
      await expect.poll(() => deaf.resets()).toBeGreaterThan(0)
    } finally {
      await patient.stop()
      deaf.stop()
    }
  })

  it('a lease that is revoked before its request was written costs a second one, and nobody notices', async () => {
    await begin()
    slots.hold('agent')
    const answer = send(gateway.origin, chat())
    await slots.logged('wait agent')
    slots.open('agent')
    // In the same turn: the connection is only about to be made.
    slots.revoke(Hal0Error.of('slot.unloading', 'gone', { retryAfterS: 1 }))
    expect((await answer).status).toBe(200)
    expect(slots.log.filter((entry) => entry === 'lease agent')).toHaveLength(2)
  })

  it('an engine that refuses connections is tried with five leases, and no more', async () => {
    await begin()
    slots.leasesAtOnce = false
    await engine.stop()
    const answer = await send(gateway.origin, chat())
    expect(answer.status).toBe(502)
    expect(answer.text).toContain('cannot be reached')
    expect(slots.log.filter((entry) => entry === 'lease agent')).toHaveLength(5)
    expect(slots.waits[4]).toBeLessThan(slots.waits[0] ?? 0)
  })

  it('a request that a new connection closes over is not repeated', async () => {
    const rude = await rudeEngine(false)
    await begin()
    const failing = await startGateway(createStubSlots({ agent: { endpoint: endpointAt(rude.origin) } }))
    try {
      expect((await send(failing.origin, chat())).status).toBe(502)
      expect(rude.requests()).toBe(1)
    } finally {
      await failing.stop()
      rude.stop()
    }
  })

  it('plain answers share a connection, streams do not', async () => {
    await begin()
    const connection = async () => (await engine.state()).last_request?.connection
    await send(gateway.origin, chat())
    const first = await connection()
    await rest()
    await send(gateway.origin, chat())
    expect(await connection()).toBe(first)
    await rest()
    await send(gateway.origin, chat({ stream: true }))
    expect(await connection()).toBe(first)
    await send(gateway.origin, chat())
    expect(await connection()).not.toBe(first)
  })

  it('a generation that ended takes its connections with it', async () => {
    await begin()
    await send(gateway.origin, chat())
    const first = (await engine.state()).last_request?.connection
    await rest()
    slots.engineGone('attempt-1')
    slots.setAttempt('attempt-2')
    await send(gateway.origin, chat())
    expect((await engine.state()).last_request?.connection).not.toBe(first)
  })
})
