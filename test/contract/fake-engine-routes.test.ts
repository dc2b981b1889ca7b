import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/daemon-harness.ts'
import type { FakeEngine } from '../support/start-fake.ts'
import { start } from './fake-engine-start.ts'

// The routes of the fake engine beyond chat, against the shapes that a llama-server of 2026 was seen to answer with.

const call = (engine: FakeEngine, path: string, body: object) =>
  fetch(engine.origin + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${engine.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** Name and parsed data of each event. */
function namedEvents(text: string): { name: string | undefined; data: Record<string, unknown> }[] {
  return text
    .split(/\r?\n\r?\n/)
    .filter((event) => event !== '')
    .map((event) => {
      const [, name] = /^event: (.*?)\r?$/m.exec(event) ?? []
      const [, data = ''] = /^data: (.*?)\r?$/m.exec(event) ?? []
      return { name, data: JSON.parse(data) as Record<string, unknown> }
    })
}

const user = [{ role: 'user', content: 'Hi' }]

describe('event streams of other dialects', () => {
  it.each([{}, { write_bytes: 3 }, { sse_crlf: true }])(
    'messages in the sequence of llama-server: %o',
    async (fake) => {
      const engine = await start()
      const answer = await call(engine, '/v1/messages', { max_tokens: 9, messages: user, stream: true, fake })
      const events = namedEvents(await answer.text())
      expect([...new Set(events.map(({ name }) => name))]).toEqual([
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ])
      expect(events[0]?.data).toMatchObject({ message: { model: 'fake', usage: { output_tokens: 0 } } })
      for (const { name, data } of events) expect(data['type']).toBe(name)
    },
  )

  it.each([{}, { write_bytes: 3 }, { sse_crlf: true }])(
    'responses in the sequence of llama-server: %o',
    async (fake) => {
      const engine = await start()
      const answer = await call(engine, '/v1/responses', { input: 'Hi', stream: true, fake })
      const events = namedEvents(await answer.text())
      expect([...new Set(events.map(({ name }) => name))]).toEqual([
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ])
      expect(events.at(-1)?.data).toMatchObject({ response: { model: 'fake', usage: { input_tokens: 2 } } })
      // Only the last event names the model, as llama-server writes it.
      expect(events.filter(({ data }) => JSON.stringify(data).includes('"model"'))).toHaveLength(1)
    },
  )

  it.each(['/v1/messages', '/v1/responses', '/v1/audio/speech'])('%s dies where the knob says', async (path) => {
    const engine = await start({ knobs: { die_after_tokens: 2, tokens_per_second: 50 } })
    const body = { input: 'one two three', messages: user, max_tokens: 9, stream: true }
    const answer = await call(engine, path, body)
    await expect(answer.arrayBuffer()).rejects.toThrow()
    expect((await engine.state()).counters).toMatchObject({ tokens: 2, answered: 0, active: 0 })
  })

  it('usage_on_request: a stream tells its usage only to those who ask, in a chunk of its own', async () => {
    const engine = await start({ knobs: { usage_on_request: true, timings: false } })
    for (const path of ['/v1/completions', '/v1/chat/completions']) {
      const body = { prompt: 'x', messages: user, stream: true }
      expect(await (await call(engine, path, body)).text()).not.toContain('usage')
      const asked = await (await call(engine, path, { ...body, stream_options: { include_usage: true } })).text()
      expect(asked).toMatch(/data: \{"choices":\[\],.*"usage":\{.*\}\n\ndata: \[DONE\]\n\n$/)
    }
  })
})

describe('answers without a stream', () => {
  it('embeds in floats and in base64 alike, and refuses what its micro-batch does not hold', async () => {
    const engine = await start({ knobs: { pooled_limit_tokens: 4 } })
    const of = async (more: object) =>
      (await (await call(engine, '/v1/embeddings', { model: 'm', input: 'a cat', ...more })).json()) as {
        model: string
        data: [{ embedding: unknown }]
      }
    const floats = await of({})
    const packed = Buffer.from(String((await of({ encoding_format: 'base64' })).data[0].embedding), 'base64')
    expect(floats.model).toBe('m')
    const unpacked = Array.from({ length: 8 }, (_, i) => packed.readFloatLE(i * 4))
    expect(floats.data[0].embedding).toEqual(unpacked.map((x) => expect.closeTo(x, 6) as number))
    expect((await call(engine, '/v1/embeddings', { input: 'one two three four five' })).status).toBe(500)
  })

  it('ranks the question itself first, keeps top_n, and is 501 when told so', async () => {
    const engine = await start()
    const ask = { model: 'm', query: 'cat', documents: ['dog', 'cat', 'cow'], top_n: 2 }
    const { results } = (await (await call(engine, '/v1/rerank', ask)).json()) as {
      results: { index: number; relevance_score: number }[]
    }
    expect(results).toHaveLength(2)
    expect(results.toSorted((a, b) => b.relevance_score - a.relevance_score)[0]?.index).toBe(1)
    await engine.setKnobs({ reranking: false, embeddings: false })
    for (const path of ['/v1/rerank', '/v1/embeddings']) expect((await call(engine, path, ask)).status).toBe(501)
  })

  it('obeys errors, stalls and the queue on every route', async () => {
    const engine = await start({ knobs: { error_status: 429, error_headers: { 'Retry-After': '2' } } })
    for (const path of ['/v1/embeddings', '/v1/rerank', '/v1/images/generations', '/v1/audio/speech']) {
      const answer = await call(engine, path, { input: 'x', query: 'x', documents: ['x'], prompt: 'x' })
      expect([path, answer.status, answer.headers.get('retry-after')]).toEqual([path, 429, '2'])
    }
    await engine.setKnobs({ error_status: 0, hold_first: true, total_slots: 1 })
    const two = [1, 2].map(() => call(engine, '/v1/rerank', { query: 'x', documents: ['x'] }))
    await engine.waitFor('waiting', 1)
    await engine.setKnobs({ hold_first: false })
    for (const answer of await Promise.all(two)) expect(answer.status).toBe(200)
  })

  it('speaks a WAV whose pieces add up', async () => {
    const engine = await start()
    const of = async (more: object) => {
      const answer = await call(engine, '/v1/audio/speech', { input: 'Hello out there', ...more })
      expect(answer.headers.get('content-type')).toBe('audio/wav')
      return { bytes: Buffer.from(await answer.arrayBuffer()), length: answer.headers.get('content-length') }
    }
    const streamed = await of({})
    const whole = await of({ stream: false })
    expect(streamed.length).toBeNull()
    expect(whole.length).toBe(String(whole.bytes.length))
    expect(streamed.bytes.length).toBe(whole.bytes.length)
    expect(whole.bytes.readUInt32LE(40)).toBe(whole.bytes.length - 44)
  })
})

describe('transcriptions', () => {
  const form = (file: Buffer, fields: Record<string, string> = {}): FormData => {
    const made = new FormData()
    made.set('file', new Blob([new Uint8Array(file)]), 'talk.wav')
    for (const [name, value] of Object.entries(fields)) made.set(name, value)
    return made
  }
  const upload = (engine: FakeEngine, body: FormData) =>
    fetch(`${engine.origin}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${engine.key}` },
      body,
    })

  it('tells what it was sent, in each format', async () => {
    const engine = await start()
    // Line ends and dashes, which a careless reader takes for the end of the part.
    const file = Buffer.from(`--\r\n--x\r\n${'\u0000\u00ff\r\n--'.repeat(1000)}`)
    const heard = `Heard talk.wav: ${file.length} bytes, sha256 ${createHash('sha256').update(file).digest('hex')}, model m, parts file model`
    expect(await (await upload(engine, form(file, { model: 'm' }))).json()).toEqual({ text: heard })
    const srt = await upload(engine, form(file, { model: 'm', response_format: 'srt' }))
    expect(srt.headers.get('content-type')).toContain('text/plain')
    expect(await srt.text()).toContain(heard)
    const stream = await upload(engine, form(file, { model: 'm', stream: 'true', fake: '{"write_bytes":5}' }))
    const events = namedEvents(await stream.text())
    expect(events.at(-1)?.data).toMatchObject({ type: 'transcript.text.done' })
    expect(String(events.at(-1)?.data['text'])).toContain('model m, parts file model stream fake')
  })

  it.each([
    [
      'no file',
      'multipart/form-data; boundary=b',
      '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--b--',
    ],
    [
      'a part without an end',
      'multipart/form-data; boundary=b',
      '--b\r\ncontent-disposition: form-data; name="file"\r\n\r\nm',
    ],
    ['another boundary', 'multipart/form-data; boundary=c', '--b\r\n\r\n--b--'],
    ['JSON', 'application/json', '{}'],
  ])('refuses a damaged form: %s', async (_name, type, body) => {
    const engine = await start()
    const headers = { authorization: `Bearer ${engine.key}`, 'content-type': type }
    const answer = await fetch(`${engine.origin}/v1/audio/transcriptions`, { method: 'POST', headers, body })
    expect(answer.status).toBe(400)
  })
})

describe('bodies and bytes', () => {
  const head = (engine: FakeEngine, length: number) =>
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${engine.key}\r\nContent-Length: ${length}\r\n\r\n`

  it('early_answer: the answer comes although the body never does', async () => {
    const engine = await start({ knobs: { early_answer: 413 } })
    const socket = connect((await engine.state()).port, '127.0.0.1', () => void socket.write(head(engine, 1_000_000)))
    let text = ''
    for await (const part of socket.setEncoding('utf8')) text += String(part)
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    expect(text).toContain('planned early answer')
  })

  it('read_body_slowly: takes no more than the kernel buffers until it is let go', async () => {
    const engine = await start({ knobs: { read_body_slowly: -1 } })
    const body = Buffer.from(JSON.stringify({ messages: user, padding: 'x'.repeat(16_000_000) }))
    const socket = connect((await engine.state()).port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    socket.write(head(engine, body.length))
    socket.write(body)
    await engine.waitFor('requests', 1)
    expect((await engine.state()).bytes_read).toBeLessThan(1_000_000)
    expect(text).toBe('')
    await engine.setKnobs({ read_body_slowly: 0 })
    await eventually(() => text.includes('200 OK'))
    socket.destroy()
    expect((await engine.state()).bytes_read).toBeGreaterThan(body.length)
  })

  it('bytes_written stands still while nobody reads', async () => {
    const engine = await start()
    const wish = JSON.stringify({
      messages: user,
      stream: true,
      ignore_eos: true,
      max_tokens: 4000,
      fake: { chunk_bytes: 20_000 },
    })
    const socket = connect((await engine.state()).port, '127.0.0.1')
    socket.write(head(engine, Buffer.byteLength(wish)) + wish)
    await engine.waitFor('tokens', 1)
    let before = -1
    await eventually(async () => {
      const { bytes_written } = await engine.state()
      const stands = bytes_written === before
      before = bytes_written
      return stands
    })
    expect(before).toBeLessThan(40_000_000)
    socket.destroy()
    await engine.waitFor('aborts_mid_stream', 1)
  })
})
