import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { startGatewayAt } from '../support/gateway-world.ts'
import { open, send } from '../support/raw-http.ts'
import { chatAnswer, type SocketRequest, startSocketEngine } from '../support/raw-socket.ts'

// Connections to an engine of bare sockets: answers in any pieces, and everything that can cross a request.

const messages = [{ role: 'user', content: 'hi' }]
const chat = (id: string, more: object = {}) => ({
  path: '/v1/chat/completions',
  headers: { 'x-request-id': id },
  body: { model: 'agent', messages, ...more },
})
const idOf = ({ head }: SocketRequest) => /^x-request-id: (.*)$/im.exec(head)?.[1] ?? ''
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Each piece in a turn of its own, so that the kernel has no reason to join them. */
async function write({ socket }: SocketRequest, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b)
  let at = 0
  for (const place of [...places, bytes.length]) {
    if (place > at) socket.write(bytes.subarray(at, place))
    at = place
    await turn()
  }
}

/** Chunks of HTTP of these sizes, over and over. */
function chunked(text: string, sizes: readonly number[]): string {
  let out = ''
  for (let at = 0, n = 0; at < text.length; n++) {
    const part = text.slice(at, at + (sizes[n % sizes.length] ?? 1))
    out += `${part.length.toString(16)}\r\n${part}\r\n`
    at += part.length
  }
  return `${out}0\r\n\r\n`
}

const EARLY = [
  '',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n',
]
const FRAMINGS = ['length', 'chunked', 'close'] as const

/** Resolves when the engine has shown that it keeps them: two requests came on one. */
async function warm(origin: string, requests: readonly SocketRequest[]): Promise<void> {
  for (let n = 0; ; n++) {
    await send(origin, chat(`warm-${n}`))
    if (requests.at(-1)?.connection === requests.at(-2)?.connection) return
  }
}

describe('an answer in any pieces', () => {
  const cases = fc.record({
    early: fc.constantFrom(...EARLY),
    framing: fc.constantFrom(...FRAMINGS),
    sizes: fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 }),
    cuts: fc.array(fc.nat(2_000), { maxLength: 25 }),
    content: fc.string({ unit: fc.constantFrom('a', 'é', '世', '💡', '\\', '"', '\n'), maxLength: 60 }),
  })

  it('whole: the same answer, and the connection is used again where it can be', async () => {
    let answer: (request: SocketRequest) => void = () => {}
    const engine = await startSocketEngine((request) => answer(request))
    const world = await startGatewayAt(engine)
    await fc.assert(
      fc.asyncProperty(cases, async ({ early, framing, sizes, cuts, content }) => {
        const body = JSON.stringify({ model: '/m.gguf', choices: [{ message: { content } }] })
        const binary = Buffer.from(body).toString('latin1')
        const ends = {
          length: `Content-Length: ${binary.length}\r\n\r\n${binary}`,
          chunked: `Transfer-Encoding: chunked\r\n\r\n${chunked(binary, sizes)}`,
          close: `\r\n${binary}`,
        }
        answer = (request) => {
          const bytes = Buffer.from(
            `${early}HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${ends[framing]}`,
            'latin1',
          )
          void write(request, bytes, cuts).then(() => framing === 'close' && request.socket.end())
        }
        const got = await send(world.origin, chat('x'))
        expect([got.status, got.json()]).toEqual([200, { model: 'agent', choices: [{ message: { content } }] }])
      }),
      { numRuns: 120 },
    )
    expect(world.gateway.events).toEqual([])
  })

  it('streamed: the same events, each whole', async () => {
    let answer: (request: SocketRequest) => void = () => {}
    const engine = await startSocketEngine((request) => answer(request))
    const world = await startGatewayAt(engine)
    await fc.assert(
      fc.asyncProperty(cases, fc.boolean(), async ({ early, framing, sizes, cuts, content }, isNamed) => {
        const model = isNamed ? 'agent' : '/m.gguf'
        const event = (text: string) =>
          `data: ${JSON.stringify({ model, choices: [{ delta: { content: text } }] })}\n\n`
        const said = [content, '', content.slice(1), 'end']
        const binary = Buffer.from(`${said.map(event).join('')}data: [DONE]\n\n`).toString('latin1')
        const ends = {
          length: `Content-Length: ${binary.length}\r\n\r\n${binary}`,
          chunked: `Transfer-Encoding: chunked\r\n\r\n${chunked(binary, sizes)}`,
          close: `\r\n${binary}`,
        }
        answer = (request) => {
          const head = `${early}HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n`
          void write(request, Buffer.from(head + ends[framing], 'latin1'), cuts).then(
            () => framing === 'close' && request.socket.end(),
          )
        }
        const got = await send(world.origin, chat('x', { stream: true }))
        expect(got.text).toBe(`${said.map(event).join('').replaceAll('/m.gguf', 'agent')}data: [DONE]\n\n`)
      }),
      { numRuns: 120 },
    )
    expect(world.gateway.events).toEqual([])
  })
})

describe('what stands behind an answer', () => {
  it.each([
    ['another answer', chatAnswer('stolen')],
    ['an empty line', '\r\n'],
    ['one byte', 'x'],
  ])('%s: that connection is not used again', async (_name, extra) => {
    let behind = ''
    const engine = await startSocketEngine((request) => void request.socket.write(chatAnswer(idOf(request)) + behind))
    const world = await startGatewayAt(engine)
    await warm(world.origin, engine.requests)
    behind = extra
    for (let n = 0; n < 5; n++) expect((await send(world.origin, chat(`id-${n}`))).text).toContain(`"id-${n}"`)
    const last = engine.requests.slice(-5).map(({ connection }) => connection)
    expect(new Set(last).size).toBe(5)
  })

  it('an answer that nobody asked for, while the connection rests: it is closed, and nobody gets it', async () => {
    let isOdd = false
    const engine = await startSocketEngine((request) => {
      request.socket.write(chatAnswer(idOf(request)))
      if (isOdd) setTimeout(() => request.socket.write(chatAnswer('stolen')), 20)
    })
    const world = await startGatewayAt(engine)
    await warm(world.origin, engine.requests)
    isOdd = true
    expect((await send(world.origin, chat('first'))).text).toContain('"first"')
    await expect.poll(() => engine.requests.at(-1)?.socket.destroyed).toBe(true)
    expect((await send(world.origin, chat('next'))).text).toContain('"next"')
  })
})

describe('an answer before the request', () => {
  const long = { messages: [{ role: 'user', content: 'x'.repeat(12_000_000) }] }

  it('is passed on; the connection, with the rest of the request in it, is not used again', async () => {
    const engine = await startSocketEngine(
      (request) => {
        // It has seen the head, and reads no more.
        request.socket.pause()
        request.socket.write(chatAnswer(idOf(request)))
      },
      { when: 'head' },
    )
    const world = await startGatewayAt(engine)
    for (let n = 0; n < 4; n++) {
      expect((await send(world.origin, chat(`id-${n}`, long))).text).toContain(`"id-${n}"`)
      await new Promise((resolve) => setTimeout(resolve, 40))
    }
    expect(engine.connections()).toBe(4)
    expect(world.slots.leases()).toEqual([])
  })

  it('an error, and the connection closed over the unread rest: the client has the words', async () => {
    const said = '{"error":{"message":"too much for me"}}'
    const engine = await startSocketEngine(
      ({ socket }) => {
        socket.pause()
        const lines = ['HTTP/1.1 400 Bad', 'Content-Type: application/json', `Content-Length: ${said.length}`]
        socket.write(`${lines.join('\r\n')}\r\n\r\n${said}`, () => setTimeout(() => socket.resetAndDestroy(), 50))
      },
      { when: 'head' },
    )
    const world = await startGatewayAt(engine)
    const got = await send(world.origin, chat('x', long))
    expect([got.status, got.json()]).toMatchObject([400, { error: { message: 'too much for me' } }])
  })
})

describe('an engine that closes a connection while the next request comes', () => {
  /** Takes `count` requests in ten lanes, each at about the moment at which its connection is closed. */
  async function race(close: (request: SocketRequest) => void, count: number) {
    const engine = await startSocketEngine((request) => {
      request.socket.write(chatAnswer(idOf(request)))
      const restMs = 100 + Math.random() * 20
      setTimeout(() => close(request), restMs)
    })
    const world = await startGatewayAt(engine)
    const bad: [id: string, status: number, text: string][] = []
    let asked = 0
    // A generation that was caught closing is not believed any more: each round has a new one.
    for (let round = 0; asked < count; round++) {
      world.slots.setAttempt(`attempt-${round}`)
      const lane = async (nth: number): Promise<void> => {
        for (let n = 0; n < 3; n++) {
          const id = `r${round}-${nth}-${n}`
          asked++
          const got = await send(world.origin, chat(id))
          if (got.status !== 200 || !got.text.includes(`"${id}"`)) bad.push([id, got.status, got.text])
          await new Promise((resolve) => setTimeout(resolve, 98 + Math.random() * 24))
        }
      }
      await Promise.all(Array.from({ length: 10 }, (_, nth) => lane(nth)))
      world.slots.engineGone(`attempt-${round}`)
    }
    return { engine, bad, asked }
  }

  it('as llama-server does, its side first and then all: 300 of 300, each once', async () => {
    const close = ({ socket }: SocketRequest) => void socket.pause().end(() => socket.destroy())
    const { engine, bad, asked } = await race(close, 300)
    expect([asked, bad]).toEqual([300, []])
    const ids = engine.requests.map(idOf)
    expect(ids.length).toBe(new Set(ids).size)
  })

  it.each([
    ['only its own side', ({ socket }: SocketRequest) => void socket.pause().end()],
    ['with a reset', ({ socket }: SocketRequest) => void socket.resetAndDestroy()],
  ])(
    '%s: it may have read the request, so nothing is asked twice; who is not answered is told',
    async (_name, close) => {
      const { engine, bad, asked } = await race(close, 90)
      expect(bad.filter(([, status, text]) => status !== 502 || !text.includes('upstream_unavailable'))).toEqual([])
      expect(bad.length).toBeLessThan(asked / 2)
      const ids = engine.requests.map(idOf)
      expect(ids.length).toBe(new Set(ids).size)
    },
  )

  it('right after each answer, though it promised to keep it: 300 of 300, back to back', async () => {
    const engine = await startSocketEngine((request) => {
      request.socket.write(chatAnswer(idOf(request), ['Connection: keep-alive', 'Keep-Alive: timeout=5, max=100']))
      setImmediate(() => request.socket.destroy())
    })
    const world = await startGatewayAt(engine)
    for (let n = 0; n < 300; n++) {
      const got = await send(world.origin, chat(`id-${n}`))
      expect([got.status, got.text.includes(`"id-${n}"`)]).toEqual([200, true])
    }
    expect(engine.requests).toHaveLength(300)
  })
})

describe('connections are used again', () => {
  it('200 requests one after the other, and 200 at once with 16 places: few of them; all gone when nobody asks', async () => {
    const engine = await startSocketEngine((request) => void request.socket.write(chatAnswer(idOf(request))))
    const world = await startGatewayAt(engine, { parallel: 16 })
    await warm(world.origin, engine.requests)
    const before = engine.connections()
    for (let n = 0; n < 200; n++) await send(world.origin, chat(`id-${n}`))
    // One, but for a pause of this machine in which it grew old.
    expect(engine.connections() - before).toBeLessThanOrEqual(2)

    const between = engine.connections()
    const all = await Promise.all(Array.from({ length: 200 }, (_, n) => send(world.origin, chat(`id-${n}`))))
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 200))
    for (const [n, { text }] of all.entries()) expect(text).toContain(`"id-${n}"`)
    expect(engine.connections() - between).toBeLessThanOrEqual(20)
    expect(engine.open()).toBeLessThanOrEqual(18)
    await expect.poll(() => engine.open(), { timeout: 20_000 }).toBe(0)
  })

  it('streams too, where the engine keeps them', async () => {
    const event = 'data: {"model":"agent","choices":[]}\n\ndata: [DONE]\n\n'
    const engine = await startSocketEngine(({ socket }) => {
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${chunked(event, [30])}`,
      )
    })
    const world = await startGatewayAt(engine)
    const streams = { stream: true }
    await expect
      .poll(async () => {
        await send(world.origin, chat('x', streams))
        await send(world.origin, chat('y', streams))
        return engine.requests.at(-1)?.connection === engine.requests.at(-2)?.connection
      })
      .toBe(true)
    const before = engine.connections()
    for (let n = 0; n < 100; n++) await send(world.origin, chat(`id-${n}`, streams))
    expect(engine.connections() - before).toBeLessThanOrEqual(2)
  })

  it('never by another generation', async () => {
    const engine = await startSocketEngine((request) => void request.socket.write(chatAnswer(idOf(request))))
    const world = await startGatewayAt(engine)
    await warm(world.origin, engine.requests)
    const last = engine.requests.at(-1)
    world.slots.engineGone('attempt-1')
    world.slots.setAttempt('attempt-2')
    await expect.poll(() => last?.socket.destroyed).toBe(true)
    await send(world.origin, chat('next'))
    expect(engine.requests.at(-1)?.connection).not.toBe(last?.connection)
  })

  it('not after a client left in the middle, nor after an error that was not read to its end', async () => {
    const engine = await startSocketEngine((request) => {
      const { n, socket } = request
      if (n === 1)
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 999\r\n\r\ndata: {}\n\n')
      else if (n === 2) socket.write(`HTTP/1.1 500 Odd\r\nContent-Length: 900000\r\n\r\n${'x'.repeat(100_000)}`)
      else socket.write(chatAnswer(idOf(request)))
    })
    const world = await startGatewayAt(engine)
    const stream = await open(world.origin, chat('a', { stream: true }))
    await stream.until('data')
    stream.leave()
    await world.slots.logged('release agent')
    expect((await send(world.origin, chat('b'))).status).toBe(500)
    expect((await send(world.origin, chat('c'))).text).toContain('"c"')
    expect(engine.requests.map(({ connection }) => connection)).toEqual([1, 2, 3])
    await expect.poll(() => engine.requests.slice(0, 2).map(({ socket }) => socket.destroyed)).toEqual([true, true])
  })
})
