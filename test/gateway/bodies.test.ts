import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { heldBytes } from '../support/held-memory.ts'
import { send } from '../support/raw-http.ts'
import { type FakeEngine, startFakeEngine } from '../support/start-fake.ts'
import { startGateway, type TestGateway } from '../support/start-gateway.ts'
import { agentEndpoint, createStubSlots, type StubSlots } from '../support/stub-slots.ts'

let engine: FakeEngine
let slots: StubSlots
let gateway: TestGateway

beforeEach(async () => {
  engine = await startFakeEngine({ argv: ['--alias', 'agent'] })
  const endpoint = agentEndpoint(engine)
  slots = createStubSlots({
    agent: { endpoint },
  })
  gateway = await startGateway(slots, { jsonLimitBytes: 1_000_000 })
})

afterEach(async () => {
  await gateway.stop()
  await engine.stop()
})

const messages = [{ role: 'user' as const, content: 'Hello there' }]
const chat = (body: object = {}, path = '/v1/chat/completions') => ({
  path,
  body: { model: 'agent', messages, ...body },
})

describe('bodies', () => {
  it.each([
    ['empty', '', /empty/],
    ['broken JSON, with its place', '{"model":"agent",\n "messages" []}', /line 2, column 13: expected ':'/],
    ['an array', '[]', /JSON object/],
    ['a form', 'model=agent', /JSON object/],
  ])('%s is 400', async (_name, body, text) => {
    const answer = await send(gateway.origin, { path: '/v1/chat/completions', body })
    expect(answer.status).toBe(400)
    expect(answer.json()).toMatchObject({
      error: { code: 'request.invalid', message: expect.stringMatching(text) as string },
    })
    expect(slots.log).toEqual([])
  })

  it('a compressed body is refused clearly', async () => {
    const answer = await send(gateway.origin, { ...chat(), headers: { 'content-encoding': 'gzip' } })
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('uncompressed')
  })

  it.each(['', 'identity', ' IDENTITY '])('content-encoding "%s" is none', async (encoding) => {
    const answer = await send(gateway.origin, { ...chat(), headers: { 'content-encoding': encoding } })
    expect(answer.text).not.toContain('uncompressed')
  })

  it('a transfer coding that is not chunked alone is refused', async () => {
    const socket = connect(gateway.port, '127.0.0.1')
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'
    socket.end(`${head}2\r\n{}\r\n0\r\n\r\n`)
    let text = ''
    for await (const piece of socket) text += String(piece)
    expect(text).toMatch(/^HTTP\/1.1 400 [^]*use chunked alone[^]*request\.invalid/)
  })

  it('a mistake ends a long body early', async () => {
    const large = await startGateway(slots)
    const socket = connect(large.port, '127.0.0.1')
    socket.on('error', () => {})
    try {
      socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n{"a":1,,')
      let text = ''
      for await (const piece of socket) {
        text += String(piece)
        if (text.includes('}}')) break
      }
      expect(text).toMatch(/^HTTP\/1.1 400 [^]*line 1, column 8/)
    } finally {
      socket.destroy()
      await large.stop()
    }
  })

  it('a body of many tiny chunks holds little more than its bytes', async () => {
    let incoming: IncomingMessage | undefined
    const server = createServer((req, res) => {
      incoming = req
      gateway.gateway.handle(req, res)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const body = JSON.stringify({ model: 'agent', messages, pad: 'x'.repeat(300_000) })
    const before = await heldBytes()
    socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    // One chunk for each byte; the last one is held back, so that the request waits with all of them.
    socket.write(body.slice(0, -1).replace(/[^]/g, '1\r\n$&\r\n'))
    const unread = () => socket.bytesWritten - (incoming?.socket.bytesRead ?? 0) + (incoming?.readableLength ?? 1)
    await expect.poll(unread, { timeout: 30_000 }).toBe(0)
    expect(gateway.gateway.inFlight()).toBe(1)
    // A list of the chunks holds 60 MB.
    expect((await heldBytes()) - before).toBeLessThan(15_000_000)
    socket.write('1\r\n}\r\n0\r\n\r\n')
    await gateway.requestLine(1)
    socket.destroy()
    expect((await engine.state()).last_request?.body_bytes).toBe(body.length)
  })

  it('others are served while a large body is read', async () => {
    const large = await startGateway(slots)
    try {
      const body = `{${'"a":0,'.repeat(3_000_000)}"model":1}`
      const slow = send(large.origin, { path: '/v1/chat/completions', body })
      let longestMs = 0
      const begunMs = performance.now()
      let lastMs = begunMs
      const timer = setInterval(() => {
        longestMs = Math.max(longestMs, performance.now() - lastMs)
        lastMs = performance.now()
      }, 5)
      expect((await slow).status).toBe(400)
      clearInterval(timer)
      // In one go the work would be one pause of about half the whole time.
      const wholeMs = performance.now() - begunMs
      expect(longestMs).toBeLessThan(wholeMs / 4)
    } finally {
      await large.stop()
    }
  })

  it('X-Hal0-Wait must be seconds', async () => {
    slots.leasesAtOnce = false
    const answer = await send(gateway.origin, { ...chat(), headers: { 'x-hal0-wait': 'soon' } })
    expect(answer.status).toBe(400)
    await send(gateway.origin, { ...chat(), headers: { 'x-hal0-wait': '1.5' } })
    await send(gateway.origin, chat())
    expect(slots.waits).toEqual([1500, 60_000])
  })

  it.each([
    ['announced by Content-Length', true],
    ['chunked', false],
  ])('a body over the limit is 413, and its sender sees the answer (%s)', async (_name, announced) => {
    const body = JSON.stringify({ model: 'agent', pad: 'x'.repeat(20_000_000) })
    // A client that sends everything before it reads anything.
    const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: announced ? body : new Blob([body]).stream(),
      duplex: 'half',
    })
    expect(answer.status).toBe(413)
    expect(await answer.json()).toMatchObject({ error: { code: 'request.too_large' } })
  })

  it('takes a body at the limit, a byte order mark, and Expect: 100-continue', async () => {
    const shell = JSON.stringify({ model: 'agent', messages, pad: '' })
    const body = JSON.stringify({ model: 'agent', messages, pad: 'x'.repeat(1_000_000 - shell.length) })
    expect((await send(gateway.origin, { path: '/v1/chat/completions', body })).status).toBe(200)
    const marked = await send(gateway.origin, {
      path: '/v1/chat/completions',
      body: `\ufeff${JSON.stringify(chat().body)}`,
    })
    expect(marked.status).toBe(200)
    expect((await engine.state()).last_request?.body_bytes).toBe(JSON.stringify(chat().body).length)
    expect((await send(gateway.origin, { ...chat(), headers: { expect: '100-continue' } })).status).toBe(200)
  })

  it('a client that leaves while sending leaves nothing behind', async () => {
    const socket = connect(gateway.port, '127.0.0.1')
    socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"model":')
    await expect.poll(() => gateway.gateway.inFlight()).toBe(1)
    socket.destroy()
    expect(await gateway.requestLine(1)).toMatchObject({ status: 499, failure: 'client_gone' })
    expect(slots.log).toEqual([])
    await expect.poll(() => gateway.gateway.inFlight()).toBe(0)
  })

  it('a client that stops in the middle of its body is told 408', async () => {
    const hasty = await startGateway(slots, { clientStallS: 0.2 })
    const socket = connect(hasty.port, '127.0.0.1')
    socket.on('error', () => {})
    try {
      socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"model":')
      let text = ''
      for await (const piece of socket) {
        text += String(piece)
        if (text.includes('}}')) break
      }
      expect(text).toMatch(/^HTTP\/1.1 408 [^]*request\.invalid/)
      expect(slots.log).toEqual([])
    } finally {
      socket.destroy()
      await hasty.stop()
    }
  })

  it('bodies beyond the memory for all of them are 429, before they are read; the others are served', async () => {
    const body = JSON.stringify(chat().body)
    const small = await startGateway(slots, { bodyMemoryBytes: body.length * 1.5 })
    const socket = connect(small.port, '127.0.0.1')
    try {
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
      )
      await expect.poll(() => small.gateway.inFlight()).toBe(1)
      const refused = await send(small.origin, { path: '/v1/chat/completions', body })
      expect(refused.status).toBe(429)
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
      expect(refused.json()).toMatchObject({ error: { code: 'dispatch.queue_full' } })
      socket.write('}')
      expect(await small.requestLine(2)).toMatchObject({ status: 200 })
      // What the first one held is there again.
      expect((await send(small.origin, { path: '/v1/chat/completions', body })).status).toBe(200)
    } finally {
      socket.destroy()
      await small.stop()
    }
  })

  it('bodies that are announced and do not come lock nobody out', async () => {
    const body = JSON.stringify(chat().body)
    const small = await startGateway(slots, { bodyMemoryBytes: 200_000 })
    const sockets = Array.from({ length: 16 }, () => connect(small.port, '127.0.0.1'))
    try {
      for (const socket of sockets) {
        socket.on('error', () => {})
        socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 190000\r\n\r\n')
      }
      await expect.poll(() => small.gateway.inFlight()).toBe(16)
      expect((await send(small.origin, { path: '/v1/chat/completions', body })).status).toBe(200)
      const large = JSON.stringify({ ...chat().body, pad: 'x'.repeat(150_000) })
      expect((await send(small.origin, { path: '/v1/chat/completions', body: large })).status).toBe(200)
    } finally {
      for (const socket of sockets) socket.destroy()
      await small.stop()
    }
  })

  it('CASES 7: a model rewritten to a longer multi-byte name keeps the byte count right', async () => {
    const alias = 'größer-模型-😀'
    const endpoint = { ...agentEndpoint(engine), alias }
    const renaming = await startGateway(createStubSlots({ agent: { endpoint } }))
    try {
      await engine.setKnobs({ model_name: alias })
      for (const stream of [false, true]) {
        const answer = await send(renaming.origin, chat({ stream, tail: 'ü' }))
        expect(answer.status).toBe(200)
        const seen = (await engine.state()).last_request
        const expected = JSON.stringify({ model: alias, messages, stream, tail: 'ü' })
        expect(seen?.body_bytes).toBe(Buffer.byteLength(expected))
        expect(seen?.headers['content-length']).toBe(String(Buffer.byteLength(expected)))
        expect(answer.headers['content-length'] === undefined).toBe(answer.headers['transfer-encoding'] === 'chunked')
        expect(answer.text).toContain('"model":"agent"')
        expect(answer.text).not.toContain('模型')
      }
    } finally {
      await renaming.stop()
    }
  })

  it.each(['length', 'chunked', 'close'])(
    'CASES 10: the engine names its file; every chunk carries the asked name (%s)',
    async (transfer) => {
      await engine.setKnobs({ model_name: 'path', transfer, write_bytes: 7 })
      for (const stream of [false, true]) {
        const answer = await send(gateway.origin, chat({ stream }))
        expect(answer.text).not.toContain('/nowhere')
        expect(answer.text).toContain('"model":"agent"')
      }
    },
  )
})
