import { describe, expect, it } from 'vitest'
import { startGatewayAt } from '../support/gateway-world.ts'
import { send } from '../support/raw-http.ts'
import { startSocketEngine } from '../support/raw-socket.ts'
import { parseEvents } from '../support/text-dialects.ts'

// A stream that ends at each of its bytes, in each way a connection can end. The client reads either the whole answer or one error, never both and never half an event.

const event = (data: object, name = '') => `${name === '' ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`
const typed = (data: { type: string; [more: string]: unknown }) => event(data, data.type)
const ask = [{ role: 'user', content: 'x' }]
const model = '/secret.gguf'

interface Told {
  readonly path: string
  readonly body: object
  readonly text: string
  /** The data of the event behind which nothing comes. */
  readonly last: string
}

const dialects: Readonly<Record<string, Told>> = {
  chat: {
    path: '/v1/chat/completions',
    body: { model: 'agent', messages: ask, stream: true },
    text: `${event({ model, choices: [{ index: 0, delta: { content: 'h\u00e9' } }] })}data: [DONE]\n\n`,
    last: '[DONE]',
  },
  messages: {
    path: '/v1/messages',
    body: { model: 'agent', max_tokens: 3, messages: ask, stream: true },
    text: typed({ type: 'message_start', message: { id: 'm', model } }) + typed({ type: 'message_stop' }),
    last: '{"type":"message_stop"}',
  },
  responses: {
    path: '/v1/responses',
    body: { model: 'agent', input: 'x', stream: true },
    text:
      typed({ type: 'response.created', response: { id: 'r', model } }) +
      typed({ type: 'response.completed', response: { id: 'r', model, status: 'completed' } }),
    last: '{"type":"response.completed","response":{"id":"r","model":"agent","status":"completed"}}',
  },
}
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n'
const ends: Readonly<Record<string, (part: Buffer, whole: Buffer) => (string | Buffer)[]>> = {
  'no last chunk': (part) => [`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, ...inChunk(part)],
  'a last chunk': (part) => [`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, ...inChunk(part), '0\r\n\r\n'],
  'the end of the connection': (part) => [`${HEAD}\r\n`, part],
  'less than its length': (part, whole) => [`${HEAD}Content-Length: ${whole.length + 1}\r\n\r\n`, part],
}

function inChunk(part: Buffer): (string | Buffer)[] {
  return part.length === 0 ? [] : [`${part.length.toString(16)}\r\n`, part, '\r\n']
}

const all = Object.keys(dialects).flatMap((dialect) =>
  Object.keys(ends).flatMap((end) => ['\n', '\r\n'].map((lineEnd) => ({ dialect, end, lineEnd }))),
)

describe('a stream that ends at any byte is whole, or an error', () => {
  it.each(all)('$dialect, $end, $lineEnd', async ({ dialect, end, lineEnd }) => {
    const told = dialects[dialect]
    const answer = ends[end]
    if (told === undefined || answer === undefined) throw new Error('no such case')
    const whole = Buffer.from(told.text.replaceAll('\n', lineEnd))
    let cut = 0
    const engine = await startSocketEngine(({ socket }) => {
      for (const piece of answer(whole.subarray(0, cut), whole)) socket.write(piece)
      socket.end()
    })
    const world = await startGatewayAt(engine)
    // Each byte of the last event, and some of those before.
    for (; cut <= whole.length; cut += cut < whole.length - told.last.length - 40 ? 9 : 1) {
      const got = await send(world.origin, told)
      expect(got.text).not.toContain('secret')
      if (got.status === 502) continue
      const { events } = parseEvents(got.text)
      const datas = events.map(({ data }) => data)
      for (const data of datas) if (data !== '[DONE]') JSON.parse(data)
      const errors = datas.filter((data) => data.includes('dispatch.upstream_unavailable')).length
      expect([cut, errors, datas.at(-1) === told.last]).toEqual([cut, errors, errors === 0])
      expect(errors).toBeLessThan(2)
      // Nothing can follow its last event: how the connection ends is no matter then.
      if (cut === whole.length) expect(errors).toBe(0)
    }
    expect(engine.requests.length).toBeGreaterThan(20)
  })
})
