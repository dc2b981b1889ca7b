import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startFakeWorld, startGatewayAt } from '../support/gateway-world.ts'
import { dial, startSocketEngine } from '../support/raw-socket.ts'
import { startGateway } from '../support/start-gateway.ts'
import { agentEndpoint, createStubSlots } from '../support/stub-slots.ts'

// Nothing that has come is held back, and nothing waits for what will not come: no event, no lease, no place, no end of the daemon.

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'
const event = (text: string) => `data: {"model":"agent","choices":[{"delta":{"content":"${text}"}}]}\n\n`
const chunk = (data: string) => `${data.length.toString(16)}\r\n${data}\r\n`
const ask = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
const CHAT = '{"model":"agent","stream":true,"messages":[]}'

describe('what has come passes on', () => {
  it('an event whose chunk has come only in part', async () => {
    let goOn = () => {}
    const engine = await startSocketEngine(({ socket }) => {
      const two = event('second') + event('third')
      const cut = two.indexOf('third')
      const framed = chunk(two)
      const at = framed.indexOf(two) + cut
      socket.write(HEAD + chunk(event('first')) + framed.slice(0, at))
      goOn = () => void socket.end(`${framed.slice(at)}${chunk('data: [DONE]\n\n')}0\r\n\r\n`)
    })
    const world = await startGatewayAt(engine)
    const client = dial(world.gateway.port, ask('/v1/chat/completions', CHAT))
    await client.until('second')
    expect(client.text()).not.toContain('third')
    goOn()
    expect(await client.until('[DONE]')).toContain('third')
    client.socket.destroy()
  })

  it('half a chunk of an answer that passes as it is', async () => {
    const engine = await startSocketEngine(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nfirst half')
    })
    const world = await startGatewayAt(engine)
    const client = dial(world.gateway.port, ask('/upstream/agent/x', ''))
    expect(await client.until('first half')).toContain('200 OK')
    client.socket.destroy()
  })

  it('what fills a read to its last byte', async () => {
    // The connection reads 64 KiB at once: an event that ends there is followed by nothing.
    const engine = await startSocketEngine(({ socket }) => {
      const open = '20000\r\n'
      const first = chunk(event('first'))
      const pad = 65_536 - (HEAD.length + first.length + open.length + event('last').length)
      socket.write(`${HEAD}${first}${open}: ${'x'.repeat(pad - 3)}\n${event('last')}`)
    })
    const world = await startGatewayAt(engine)
    const client = dial(world.gateway.port, ask('/v1/chat/completions', CHAT))
    expect(await client.until('last')).toContain('first')
    client.socket.destroy()
  })
})

describe('what will not come is not waited for', () => {
  it('an engine that ends its side and never reads the rest of a request', async () => {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => {})
      socket.once('readable', () => socket.end())
    })
    server.listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const world = await startGatewayAt({ origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
    const body = JSON.stringify({ model: 'agent', messages: [{ role: 'user', content: 'x'.repeat(20_000_000) }] })
    const answer = await fetch(`${world.origin}/v1/chat/completions`, { method: 'POST', body })
    expect(answer.status).toBe(502)
    expect(world.slots.leases()).toEqual([])
  })

  it('an engine that is not to be cut off and says nothing after its client left', async () => {
    const world = await startFakeWorld(
      { stall_first_ms: -1 },
      { settings: { stallS: 0.3 }, endpoint: { onClientAbort: 'drain' } },
    )
    const client = dial(world.gateway.port, ask('/v1/chat/completions', CHAT))
    await world.engine.waitFor('active', 1)
    client.socket.destroy()
    await world.slots.logged('release agent')
    expect(world.slots.leases()).toEqual([])
  })

  it('the same when the gateway closes', async () => {
    const world = await startFakeWorld({ stall_first_ms: -1 }, { endpoint: { onClientAbort: 'drain' } })
    const client = dial(world.gateway.port, ask('/v1/chat/completions', CHAT))
    await world.engine.waitFor('active', 1)
    client.socket.destroy()
    await world.gateway.requestLine(1)
    await world.gateway.gateway.close()
    expect([world.slots.leases(), world.gateway.gateway.inFlight()]).toEqual([[], 0])
  })

  it('an answer that takes longer than any may take', async () => {
    const world = await startFakeWorld({ tokens_per_second: 20 }, { settings: { totalS: 0.4 } })
    const body = JSON.stringify({ ...JSON.parse(CHAT), max_tokens: 10_000, ignore_eos: true })
    const text = await (await fetch(`${world.origin}/v1/chat/completions`, { method: 'POST', body })).text()
    expect(text).toContain('"code":"dispatch.stalled"')
    expect(text).toContain('longer than 0.4 s in all')
  })

  it('a request that cannot even be sent gives its lease back', async () => {
    const slots = createStubSlots({ agent: { endpoint: { ...agentEndpoint({ origin: 'nowhere' }) } } })
    const gateway = await startGateway(slots)
    onTestFinished(() => gateway.stop())
    for (const isAtOnce of [true, false]) {
      slots.leasesAtOnce = isAtOnce
      const answer = await fetch(`${gateway.origin}/v1/chat/completions`, { method: 'POST', body: CHAT })
      expect(answer.status).toBe(500)
      expect(slots.leases()).toEqual([])
    }
  })
})

it("an engine that repeats what it was sent does not give away hal0's key", async () => {
  const engine = await startSocketEngine(({ socket, head }) => {
    const body = JSON.stringify({ error: { message: `bad request: ${head}` } })
    socket.end(`HTTP/1.1 400 Bad\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  })
  const world = await startGatewayAt({ ...engine, key: 'the-engine-key' })
  const answer = await fetch(`${world.origin}/v1/chat/completions`, { method: 'POST', body: CHAT })
  const text = await answer.text()
  expect([answer.status, text.includes('[secret]'), text.includes('the-engine-key')]).toEqual([400, true, false])
  expect(JSON.stringify(world.gateway.lines)).not.toContain('the-engine-key')
})
