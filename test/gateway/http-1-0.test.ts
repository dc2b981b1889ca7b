import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { open, send } from '../support/raw-http.ts'
import { type FakeEngine, type FakeKnobs, startFakeEngine } from '../support/start-fake.ts'
import { startGateway, type TestGateway } from '../support/start-gateway.ts'
import { agentEndpoint, createStubSlots, type StubSlots } from '../support/stub-slots.ts'

let engine: FakeEngine
let slots: StubSlots
let gateway: TestGateway
const lines: Line[] = []

async function begin(knobs: FakeKnobs = {}): Promise<void> {
  engine = await startFakeEngine({ argv: ['--alias', 'agent'], knobs })
  slots = createStubSlots({ agent: { endpoint: agentEndpoint(engine) } })
  gateway = await startGateway(slots)
}

afterEach(async () => {
  for (const line of lines.splice(0)) line.leave()
  await gateway.stop()
  await engine.stop()
  if (slots.leases().length > 0 || gateway.gateway.inFlight() > 0) throw new Error('a lease or a request is left over')
})

/** A connection that says exactly what the test says. */
interface Line {
  readonly socket: Socket
  say(text: string): void
  /** What has come so far, bytes as characters. */
  text(): string
  until(isEnough: (text: string) => boolean): Promise<string>
  /** All, once the gateway has closed its side. */
  end(): Promise<string>
  leave(): void
}

function dial(): Line {
  const socket = connect(gateway.port, '127.0.0.1')
  let text = ''
  let isOver = false
  const watchers = new Set<() => void>()
  const tell = (): void => {
    for (const watcher of [...watchers]) watcher()
  }
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
    tell()
  })
  socket.on('error', () => {})
  for (const name of ['end', 'close'])
    socket.on(name, () => {
      isOver = true
      tell()
    })
  const wait = (isDone: () => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!isDone() && !isOver) return
        watchers.delete(look)
        if (isDone()) resolve(text)
        else reject(new Error(`the gateway closed the connection: ${text}`))
      }
      watchers.add(look)
      look()
    })
  const line: Line = {
    socket,
    say: (words) => void socket.write(words, 'latin1'),
    text: () => text,
    until: (isEnough) => wait(() => isEnough(text)),
    end: () => wait(() => isOver),
    leave: () => socket.destroy(),
  }
  lines.push(line)
  return line
}

const messages = [{ role: 'user', content: 'Tell me a story' }]
const CHAT = '/v1/chat/completions'
const bodyOf = (more: object = {}) => JSON.stringify({ model: 'agent', messages, ...more })

function requestText(version: '1.0' | '1.1', body: string, headers: readonly string[] = [], target = CHAT): string {
  const length = headers.some((header) => /^(content-length|transfer-encoding)/i.test(header))
    ? []
    : [`Content-Length: ${Buffer.byteLength(body)}`]
  return [
    `POST ${target} HTTP/${version}`,
    'Host: hal0.test',
    'Content-Type: application/json',
    ...length,
    ...headers,
    '',
    body,
  ].join('\r\n')
}

interface Answer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** One answer that begins the text; its body is all that follows. */
function answerOf(text: string): Answer {
  const at = text.indexOf('\r\n\r\n')
  const [first = '', ...rows] = text.slice(0, at).split('\r\n')
  const headers = new Map(
    rows.map((row): [string, string] => {
      const colon = row.indexOf(':')
      return [row.slice(0, colon).toLowerCase(), row.slice(colon + 1).trim()]
    }),
  )
  return { status: Number(first.split(' ')[1]), headers, body: text.slice(at + 4) }
}

/** Answers with a length that stand one behind the other. */
function answersOf(text: string): Answer[] {
  const found: Answer[] = []
  for (let rest = text; rest !== ''; ) {
    const { status, headers, body } = answerOf(rest)
    const length = Number(headers.get('content-length'))
    if (!Number.isInteger(length)) throw new Error(`an answer without a length: ${rest}`)
    found.push({ status, headers, body: body.slice(0, length) })
    rest = body.slice(length)
  }
  return found
}

const hasEvents = (count: number) => (text: string) => text.split('data: ').length > count

describe('clients of HTTP/1.0', () => {
  it.each([
    ['without a word about the connection', []],
    ['who would keep it', ['Connection: keep-alive']],
    ['who close it', ['Connection: close']],
  ])('get a stream that ends with the connection, never chunks: %s', async (_name, headers) => {
    await begin({ hold_after_tokens: 2 })
    const line = dial()
    line.say(requestText('1.0', bodyOf({ stream: true }), headers))
    // The head and the first pieces are there while the engine has not said the rest.
    const early = answerOf(await line.until(hasEvents(2)))
    expect(early.status).toBe(200)
    expect(early.headers.get('content-type')).toContain('text/event-stream')
    expect(early.headers.has('transfer-encoding')).toBe(false)
    expect(early.headers.has('content-length')).toBe(false)
    expect(early.headers.get('connection')).not.toBe('keep-alive')
    await engine.setKnobs({ hold_after_tokens: null })
    const { body } = answerOf(await line.end())
    expect(body.startsWith('data: {')).toBe(true)
    expect(body.endsWith('data: [DONE]\n\n')).toBe(true)
  })

  it.each(['length', 'chunked', 'close'])(
    'get a plain answer whole when the engine sends it by %s',
    async (transfer) => {
      await begin({ transfer })
      const line = dial()
      line.say(requestText('1.0', bodyOf()))
      const { status, headers, body } = answerOf(await line.end())
      expect([status, headers.has('transfer-encoding')]).toEqual([200, false])
      expect(JSON.parse(body)).toMatchObject({ model: 'agent', object: 'chat.completion' })
      expect(headers.get('content-length') ?? String(body.length)).toBe(String(body.length))
    },
  )

  it('get errors as JSON, of the gateway and of the engine', async () => {
    await begin({ error_status: 418, error_body: { error: { message: 'short and stout' } } })
    const ours = dial()
    ours.say(requestText('1.0', '{"model": "agent", oops}'))
    const refused = answerOf(await ours.end())
    expect([refused.status, refused.headers.has('transfer-encoding')]).toEqual([400, false])
    expect(JSON.parse(refused.body)).toHaveProperty('error.code')
    const theirs = dial()
    theirs.say(requestText('1.0', bodyOf({ stream: true })))
    const passed = answerOf(await theirs.end())
    expect([passed.status, passed.headers.has('transfer-encoding')]).toEqual([418, false])
    expect(JSON.parse(passed.body)).toHaveProperty('error.message', 'short and stout')
  })

  it('leave in the middle, and the engine sees it', async () => {
    await begin({ hold_after_tokens: 1 })
    const line = dial()
    line.say(requestText('1.0', bodyOf({ stream: true })))
    await line.until(hasEvents(1))
    line.leave()
    expect((await engine.waitFor('aborts_mid_stream', 1)).counters.aborts).toBe(1)
    await slots.logged('release agent')
  })

  it('an engine that dies in the middle: the stream ends with the reason, not as if it were whole', async () => {
    await begin({ die_after_tokens: 2 })
    const line = dial()
    line.say(requestText('1.0', bodyOf({ stream: true })))
    const { body } = answerOf(await line.end())
    expect(body).toContain('"error"')
    expect(body).not.toContain('[DONE]')
  })
})

describe('clients that keep their connection', () => {
  it('pipelined requests are answered in their order, although a later one could be answered first', async () => {
    await begin({ hold_first: true })
    const line = dial()
    const asked = (content: string, more = {}) => bodyOf({ messages: [{ role: 'user', content }], ...more })
    line.say(requestText('1.1', asked('first')))
    line.say('GET /v1/models/nobody HTTP/1.1\r\nHost: hal0.test\r\n\r\n')
    line.say(requestText('1.1', asked('third'), ['Connection: close']))
    await engine.waitFor('active', 1)
    expect(line.text()).toBe('')
    await engine.setKnobs({ hold_first: false })
    const [first, second, third, ...more] = answersOf(await line.end())
    expect([first?.status, second?.status, third?.status, more.length]).toEqual([200, 404, 200, 0])
    expect(first?.body).toContain('first')
    expect(third?.body).toContain('third')
  })

  it('a stream and then another request on the same connection', async () => {
    await begin()
    const line = dial()
    line.say(requestText('1.1', bodyOf({ stream: true })))
    const stream = await line.until((text) => text.endsWith('0\r\n\r\n'))
    expect(answerOf(stream).headers.get('transfer-encoding')).toBe('chunked')
    expect(stream).toContain('[DONE]')
    line.say(requestText('1.1', bodyOf(), ['Connection: close']))
    const all = await line.end()
    expect(answerOf(all.slice(stream.length)).status).toBe(200)
  })

  it('HTTP/1.0 with keep-alive: an answer with a length leaves the connection for the next', async () => {
    await begin({ transfer: 'length' })
    const line = dial()
    line.say(requestText('1.0', bodyOf(), ['Connection: keep-alive']))
    const isWhole = (text: string) => text.includes('\r\n\r\n') && answerOf(text).body.endsWith('}')
    const first = await line.until(isWhole)
    const { headers } = answerOf(first)
    // It may also close: what must not be is a promise that is not kept.
    if (headers.get('connection') !== 'keep-alive') return void (await line.end())
    expect(headers.get('content-length')).toBe(String(answerOf(first).body.length))
    line.say(requestText('1.0', bodyOf(), ['Connection: close']))
    expect(answerOf((await line.end()).slice(first.length)).status).toBe(200)
  })
})

describe('requests in unusual words', () => {
  it('Expect: 100-continue is told to go on before the body is there', async () => {
    await begin()
    const line = dial()
    const body = bodyOf()
    line.say(requestText('1.1', '', [`Content-Length: ${body.length}`, 'Expect: 100-continue', 'Connection: close']))
    const go = await line.until((text) => text.endsWith('\r\n\r\n'))
    expect(go).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    line.say(body)
    expect(answerOf((await line.end()).slice(go.length)).status).toBe(200)
  })

  it('a target in absolute form is the same as its path', async () => {
    await begin()
    const line = dial()
    line.say(requestText('1.1', bodyOf(), ['Connection: close'], `http://hal0.test${CHAT}`))
    const { status } = answerOf(await line.end())
    // Whoever speaks to a proxy sends it; hal0 may not know it, but must not take it for something else.
    expect([200, 400, 404]).toContain(status)
    if (status !== 200) expect((await engine.state()).counters.inference).toBe(0)
  })

  it('HEAD has a head and no body, and the connection goes on', async () => {
    await begin()
    const line = dial()
    line.say('HEAD /v1/models HTTP/1.1\r\nHost: hal0.test\r\n\r\n')
    const head = await line.until((text) => text.endsWith('\r\n\r\n'))
    line.say('GET /v1/models HTTP/1.1\r\nHost: hal0.test\r\nConnection: close\r\n\r\n')
    const next = answerOf((await line.end()).slice(head.length))
    expect(next.status).toBe(200)
    expect(answerOf(head).status).toBe(200)
  })

  it('a body in chunks, with extensions and trailers, is the same body', async () => {
    await begin({ echo: true })
    const line = dial()
    const body = bodyOf({ max_tokens: 5_000 })
    const cut = 17
    const chunks = [body.slice(0, cut), body.slice(cut)]
    const text = chunks.map((chunk) => `${chunk.length.toString(16)};note=x;other="y;z"\r\n${chunk}\r\n`).join('')
    line.say(
      requestText('1.1', `${text}0\r\nX-Trailer: of no use\r\n\r\n`, [
        'Transfer-Encoding: chunked',
        'Connection: close',
      ]),
    )
    expect(answerOf(await line.end()).status).toBe(200)
    const { last_request: seen } = await engine.state()
    expect([seen?.body_bytes, seen?.headers['x-trailer']]).toEqual([body.length, undefined])
    expect(JSON.stringify(seen?.headers)).not.toContain('of no use')
  })
})

describe('two opinions about where a request ends', () => {
  const inner = `POST ${CHAT} HTTP/1.1\r\nHost: hal0.test\r\nContent-Length: 0\r\n\r\n`

  it.each([
    ['two lengths', ['Content-Length: 4', 'Content-Length: 5']],
    ['a list of lengths', ['Content-Length: 4, 5']],
    ['a length and chunks', ['Content-Length: 4', 'Transfer-Encoding: chunked']],
    ['chunks and a length', ['Transfer-Encoding: chunked', 'Content-Length: 4']],
    ['chunks that are not the last coding', ['Transfer-Encoding: chunked, identity']],
    ['a length with a sign', ['Content-Length: +4']],
    ['a length that is no number', ['Content-Length: 0x10']],
    ['a length in a folded line', ['Content-Length:\r\n 4']],
    ['a space before the colon', ['Transfer-Encoding : chunked']],
    ['a line feed in a name', ['X: y\nContent-Length: 4']],
  ])('%s: refused, and nothing behind it is taken for a request', async (_name, headers) => {
    await begin()
    const line = dial()
    line.say(requestText('1.1', `0\r\n\r\n${inner}`, headers))
    const text = await line.end()
    expect(answerOf(text).status).toBe(400)
    expect(text.split('HTTP/1.1 ')).toHaveLength(2)
    expect((await engine.state()).counters.inference).toBe(0)
  })

  it('a chunk that lies about its size', async () => {
    await begin()
    const line = dial()
    line.say(requestText('1.1', `3\r\n{"model"\r\n0\r\n\r\n`, ['Transfer-Encoding: chunked']))
    expect(answerOf(await line.end()).status).toBe(400)
    expect((await engine.state()).counters.inference).toBe(0)
  })

  it('is no matter for others: they are served afterwards', async () => {
    await begin()
    const line = dial()
    line.say(requestText('1.1', inner, ['Content-Length: 4', 'Content-Length: 5']))
    await line.end()
    expect((await send(gateway.origin, { path: CHAT, body: { model: 'agent', messages } })).status).toBe(200)
    const stream = await open(gateway.origin, { path: CHAT, body: { model: 'agent', messages, stream: true } })
    expect(await stream.rest()).toContain('[DONE]')
  })
})
