import { describe, expect, it } from 'vitest'
import { startGatewayAt } from '../support/gateway-world.ts'
import { open, send } from '../support/raw-http.ts'
import { startSocketEngine } from '../support/raw-socket.ts'
import { parseEvents } from '../support/text-dialects.ts'

// An engine of bare sockets whose answers are unusual or wrong, byte by byte. What is right however odd is answered; what could be read in two
// ways, or is no whole answer, is an error in words. After each the next request is served.

const messages = [{ role: 'user', content: 'hi' }]
const chat = (more: object = {}) => ({ path: '/v1/chat/completions', body: { model: 'agent', messages, ...more } })
const BODY = '{"id":"x","object":"chat.completion","model":"/secret.gguf","choices":[]}'
const RENAMED = BODY.replace('/secret.gguf', 'agent')
const JSON_TYPE = 'Content-Type: application/json'
const LENGTH = `Content-Length: ${BODY.length}`
const head = (...lines: string[]) => ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n')
const GOOD = head(JSON_TYPE, LENGTH) + BODY
const CHUNKED = 'Transfer-Encoding: chunked'
const inChunks = (text: string, size: number) =>
  `${(text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []).map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`

/** `bytes` answers the first request; all later ones get a good answer. `ends`: the engine closes after it. */
async function begin(bytes: string | Buffer, ends = false) {
  const engine = await startSocketEngine(({ n, socket }) => {
    if (n > 1) return void socket.write(GOOD)
    socket.write(bytes)
    if (ends) socket.end()
  })
  return { engine, world: await startGatewayAt(engine) }
}

describe('odd, and right', () => {
  it.each<[string, string, boolean?]>([
    ['chunks of one byte', head(JSON_TYPE, CHUNKED) + inChunks(BODY, 1)],
    [
      'chunks with extensions and trailers',
      `${head(JSON_TYPE, CHUNKED)}5;a=b;c="d"\r\n${BODY.slice(0, 5)}\r\n${(BODY.length - 5).toString(16).toUpperCase()}\r\n${BODY.slice(5)}\r\n000\r\nX-Sum: 1\r\n\r\n`,
    ],
    ['no reason in the status line', `HTTP/1.1 200\r\n${JSON_TYPE}\r\n${LENGTH}\r\n\r\n${BODY}`],
    ['an empty reason', `HTTP/1.1 200 \r\n${JSON_TYPE}\r\n${LENGTH}\r\n\r\n${BODY}`],
    ['HTTP/1.0, to the end of the connection', `HTTP/1.0 200 OK\r\n${JSON_TYPE}\r\n\r\n${BODY}`, true],
    ['HTTP/1.1, to the end of the connection', head(JSON_TYPE) + BODY, true],
    [
      'words before the answer',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${GOOD}`,
    ],
    ['the same length twice', head(JSON_TYPE, LENGTH, LENGTH) + BODY],
    ['chunks and a length', head(JSON_TYPE, CHUNKED, 'Content-Length: 3') + inChunks(BODY, 10)],
    [
      'headers in odd spelling',
      `HTTP/1.1 200 OK\r\nCONTENT-TYPE:application/JSON;charset=UTF-8\r\ncontent-LENGTH:   ${BODY.length}  \r\n\r\n${BODY}`,
    ],
    ['an empty header and odd names', head(JSON_TYPE, LENGTH, 'X-Empty:', "!#$%&'*+.^_`|~: odd") + BODY],
    ['a value beyond ASCII', head(JSON_TYPE, LENGTH, 'X-Name: caf\u00e9') + BODY],
    ['a head of 60 KB', head(JSON_TYPE, LENGTH, `Keep-Alive: ${'x'.repeat(60_000)}`) + BODY],
    [
      'a thousand headers',
      head(JSON_TYPE, LENGTH, ...Array.from({ length: 1_000 }, (_, n) => `Access-Control-X-${n}: ${n}`)) + BODY,
    ],
    ['bytes behind the answer', `${GOOD}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`],
    ['a whole second answer', GOOD + GOOD.replaceAll('/secret.gguf', '/other.ggufff')],
    ['a connection that closes after it', head(JSON_TYPE, LENGTH, 'Connection: close') + BODY, true],
  ])('%s', async (_name, bytes, ends = false) => {
    const { engine, world } = await begin(Buffer.from(bytes, 'latin1'), ends)
    const got = await send(world.origin, chat())
    expect([got.status, got.text]).toEqual([200, RENAMED])
    expect([got.headers['transfer-encoding'], got.headers['content-length']]).toEqual([
      undefined,
      String(RENAMED.length),
    ])
    // Whatever stood behind it is not taken for the next answer.
    expect((await send(world.origin, chat())).text).toBe(RENAMED)
    expect(engine.requests).toHaveLength(2)
    expect(world.gateway.events).toEqual([])
  })

  it.each<[string, string, string]>([
    [
      'indented, the name last',
      '{\n  "choices": [],\n  "model" : "/secret.gguf"\n}\n',
      '{\n  "choices": [],\n  "model" : "agent"\n}\n',
    ],
    ['a byte order mark', `\u00ef\u00bb\u00bf${BODY}`, `\u00ef\u00bb\u00bf${RENAMED}`],
    [
      'other names in other places',
      '{"a":{"model":"m"},"s":"\\"model\\":\\"m\\"","model":"x"}',
      '{"a":{"model":"m"},"s":"\\"model\\":\\"m\\"","model":"agent"}',
    ],
    ['an escaped key', '{"mod\\u0065l":"x"}', '{"mod\\u0065l":"agent"}'],
    ['no name', '{"choices":[]}', '{"choices":[]}'],
    ['a name that is none', '{"model":null}', '{"model":null}'],
    ['a list', '[{"model":"x"}]', '[{"model":"x"}]'],
  ])('JSON: %s', async (_name, body, told) => {
    const { world } = await begin(Buffer.from(head(JSON_TYPE, `Content-Length: ${body.length}`) + body, 'latin1'))
    const got = await send(world.origin, chat())
    expect([got.status, Buffer.from(got.text).equals(Buffer.from(told, 'latin1'))]).toEqual([200, true])
  })
})

describe('no proper answer: 502 in words', () => {
  it.each<[string, string, boolean?]>([
    ['another protocol', 'SSH-2.0-OpenSSH\r\n'],
    ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
    ['a status that is none', `HTTP/1.1 20 OK\r\n${LENGTH}\r\n\r\n${BODY}`],
    ['line feeds alone', `HTTP/1.1 200 OK\n${JSON_TYPE}\n${LENGTH}\n\n${BODY}`, true],
    ['line feeds alone, and the connection left open', `HTTP/1.1 200 OK\n${JSON_TYPE}\n${LENGTH}\n\n${BODY}`],
    ['a line feed in a header', head(JSON_TYPE, LENGTH, 'X-Odd: a\nX-Evil: b') + BODY],
    ['a carriage return in a header', head(JSON_TYPE, LENGTH, 'X-Odd: a\rX-Evil: b') + BODY],
    ['folded headers', head(JSON_TYPE, LENGTH, 'X-Odd: a', ' b') + BODY],
    ['a space before the colon', head(JSON_TYPE, `Content-Length : ${BODY.length}`) + BODY],
    ['a header without a colon', head(JSON_TYPE, LENGTH, 'nothing') + BODY],
    ['a header without a name', head(JSON_TYPE, LENGTH, ': x') + BODY],
    ['two lengths', head(JSON_TYPE, LENGTH, 'Content-Length: 3') + BODY],
    ['a list of lengths', head(JSON_TYPE, `Content-Length: ${BODY.length}, ${BODY.length}`) + BODY],
    ['a negative length', head(JSON_TYPE, 'Content-Length: -1') + BODY],
    ['a length in hex', head(JSON_TYPE, 'Content-Length: 0x10') + BODY],
    ['a length beyond all measure', head(JSON_TYPE, 'Content-Length: 99999999999999999999') + BODY],
    ['an unknown coding', head(JSON_TYPE, 'Transfer-Encoding: gzip, chunked') + inChunks(BODY, 9)],
    ['chunked twice', head(JSON_TYPE, CHUNKED, CHUNKED) + inChunks(BODY, 9)],
    ['a change of protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
    ['a head of 70 KB', head(JSON_TYPE, LENGTH, `X-Long: ${'x'.repeat(70_000)}`) + BODY],
    ['a head without an end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(200_000)}`],
    ['nothing at all', '', true],
    ['half a head', `HTTP/1.1 200 OK\r\n${JSON_TYPE}\r\n`, true],
    ['only words before the answer', 'HTTP/1.1 100 Continue\r\n\r\n', true],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['an empty body', head(JSON_TYPE, 'Content-Length: 0')],
    ['no chunk but the last', `${head(JSON_TYPE, CHUNKED)}0\r\n\r\n`],
    ['a length that is too long', head(JSON_TYPE, `Content-Length: ${BODY.length + 1}`) + BODY, true],
    ['a length that is too short', head(JSON_TYPE, `Content-Length: ${BODY.length - 1}`) + BODY],
    ['chunks without an end', head(JSON_TYPE, CHUNKED) + inChunks(BODY, 9).slice(0, -5), true],
    ['a chunk size that is none', `${head(JSON_TYPE, CHUNKED)}xyz\r\n${BODY}\r\n0\r\n\r\n`],
    ['a chunk size beyond all measure', `${head(JSON_TYPE, CHUNKED)}ffffffffffffffffff\r\n${BODY}`],
    ['a chunk longer than it says', `${head(JSON_TYPE, CHUNKED)}3\r\n${BODY}\r\n0\r\n\r\n`],
    ['chunks that end in line feeds', `${head(JSON_TYPE, CHUNKED)}${BODY.length.toString(16)}\n${BODY}\n0\n\n`],
    ['a page', `${head('Content-Type: text/html', 'Content-Length: 4')}<p>x`],
    ['broken JSON', `${head(JSON_TYPE, 'Content-Length: 9')}{"model":`],
    ['two JSON texts', `${head(JSON_TYPE, `Content-Length: ${BODY.length * 2}`)}${BODY}${BODY}`],
  ])('%s', async (_name, bytes, ends = false) => {
    const { world } = await begin(Buffer.from(bytes, 'latin1'), ends)
    const got = await send(world.origin, chat())
    expect([got.status, got.json()]).toMatchObject([502, { error: { code: 'dispatch.upstream_unavailable' } }])
    expect((await send(world.origin, chat())).text).toBe(RENAMED)
    expect(world.gateway.events).toHaveLength(1)
  })

  it.each([600, 999])('status %i is an error of the engine', async (status) => {
    const { world } = await begin(`HTTP/1.1 ${status} Odd\r\nContent-Length: 3\r\n\r\nodd`)
    const got = await send(world.origin, chat())
    expect(got.status).toBeGreaterThanOrEqual(500)
    expect(got.status).toBeLessThan(600)
    expect(got.json()).toMatchObject({ error: { message: expect.stringContaining(`status ${status}`) as string } })
  })
})

const EVENTS = 'Content-Type: text/event-stream'
const event = (content: string) => `data: {"model":"/secret.gguf","choices":[{"delta":{"content":"${content}"}}]}\n\n`
const DONE = 'data: [DONE]\n\n'

describe('streams: odd, and right', () => {
  it.each<[string, string, boolean?]>([
    ['a charset', `${head(`${EVENTS}; charset=utf-8`, CHUNKED)}${inChunks(event('a') + DONE, 7)}`],
    ['another spelling', `${head('content-TYPE: TEXT/Event-Stream', CHUNKED)}${inChunks(event('a') + DONE, 1)}`],
    ['a length', head(EVENTS, `Content-Length: ${(event('a') + DONE).length}`) + event('a') + DONE],
    ['the end of the connection', head(EVENTS) + event('a') + DONE, true],
    [
      'no space behind data:',
      `${head(EVENTS, CHUNKED)}${inChunks((event('a') + DONE).replaceAll('data: ', 'data:'), 9)}`,
    ],
    [
      'comments, ids and times',
      `${head(EVENTS, CHUNKED)}${inChunks(`: hello\n\nid: 1\nretry: 9\n${event('a')}: ping\n\n${DONE}`, 5)}`,
    ],
    ['carriage returns', `${head(EVENTS, CHUNKED)}${inChunks((event('a') + DONE).replaceAll('\n', '\r\n'), 3)}`],
    ['blank lines in plenty', `${head(EVENTS, CHUNKED)}${inChunks(`\n\n\n${event('a')}\n\n\n${DONE}\n`, 4)}`],
  ])('%s', async (_name, bytes, ends = false) => {
    const { world } = await begin(bytes, ends)
    const got = await send(world.origin, chat({ stream: true }))
    expect(got.status).toBe(200)
    const { events } = parseEvents(got.text)
    expect(events.map(({ data }) => data)).toEqual([event('a').slice(6, -2).replace('/secret.gguf', 'agent'), '[DONE]'])
    expect((await send(world.origin, chat())).text).toBe(RENAMED)
  })
})

describe('streams that are broken: one last error event', () => {
  it.each<[string, string, boolean?]>([
    ['nothing in it', `${head(EVENTS, CHUNKED)}0\r\n\r\n`],
    ['nothing in it, to the end of the connection', head(EVENTS), true],
    ['no end in it', `${head(EVENTS, CHUNKED)}${inChunks(event('a'), 9)}`],
    ['half an event', `${head(EVENTS, CHUNKED)}${inChunks(event('a') + event('b').slice(0, 30), 9)}`],
    ['half a character', `${head(EVENTS, CHUNKED)}${inChunks(`${event('a')}data: {"x":"\u00e4`, 9)}`],
    ['a length that is too long', head(EVENTS, 'Content-Length: 9999') + event('a'), true],
    ['bad chunks', `${head(EVENTS, CHUNKED)}${inChunks(event('a'), 500).slice(0, -5)}zz\r\n`],
    ['a chunk longer than it says', `${head(EVENTS, CHUNKED)}3\r\n${event('a')}\r\n`],
    ['no last chunk', `${head(EVENTS, CHUNKED)}${inChunks(event('a'), 9).slice(0, -5)}`, true],
    ['another answer in it', `${head(EVENTS, CHUNKED)}${inChunks(event('a'), 500).slice(0, -5)}${GOOD}`],
  ])('%s', async (_name, bytes, ends = false) => {
    const { world } = await begin(Buffer.from(bytes, 'latin1'), ends)
    const got = await send(world.origin, chat({ stream: true }))
    if (got.status === 200) {
      const { events } = parseEvents(got.text)
      const errors = events.filter(({ data }) => data.includes('"error"'))
      expect(errors).toHaveLength(1)
      expect(events.at(-1)).toBe(errors[0])
      for (const { data } of events) JSON.parse(data)
    }
    expect([200, 502]).toContain(got.status)
    expect(got.text).toContain('dispatch.upstream_unavailable')
    expect(got.text).not.toContain('secret')
    expect((await send(world.origin, chat())).text).toBe(RENAMED)
  })

  it('an engine that says nothing behind the head of a stream: the head leaves at once', async () => {
    const { world } = await begin(head(EVENTS, CHUNKED))
    const stream = await open(world.origin, chat({ stream: true }))
    expect([stream.res.statusCode, stream.res.headers['content-type']]).toEqual([200, 'text/event-stream'])
    stream.leave()
    await world.slots.logged('release agent')
  })
})
