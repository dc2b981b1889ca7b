import { appendFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { slotLogPath } from '../../src/files/home.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon-harness.ts'
import { type OpenAnswer, open, send } from '../support/raw-http.ts'
import { hasNginx, startNginx } from '../support/start-nginx.ts'

// No clock in here: each piece is only made when the client has seen the one before. A proxy that collects would wait for ever, and the
// test would end by its time limit.
const LIMIT_MS = 15_000

if (!hasNginx()) console.warn('skipped: there is no /usr/sbin/nginx (Debian: nginx-light)')

interface World {
  readonly at: TestDaemon
  readonly nginx: string
}

async function start(knobs: Readonly<Record<string, unknown>> = {}): Promise<World> {
  const at = await startTestDaemon({ a: { knobs } })
  const nginx = await startNginx(at.daemon.url)
  onTestFinished(() => nginx.stop())
  return { at, nginx: nginx.origin }
}

const messages = [{ role: 'user', content: 'Tell me a story' }]
const STREAMS = [
  { path: '/v1/chat/completions', body: { messages }, piece: /"content":"(?!")/g, last: '[DONE]' },
  { path: '/v1/completions', body: { prompt: 'Tell me a story' }, piece: /"text":"(?!")/g, last: '[DONE]' },
  {
    path: '/v1/responses',
    body: { input: 'Tell me a story' },
    piece: /^data: .*"type":"response.output_text.delta"/gm,
    last: 'response.completed',
  },
  {
    path: '/v1/messages',
    body: { messages, max_tokens: 100 },
    piece: /^data: .*"type":"content_block_delta"/gm,
    last: 'message_stop',
  },
] as const

/** Reads on until the text so far satisfies; the test's limit bounds it. */
function readerOf({ res }: OpenAnswer) {
  let text = ''
  let check = (): void => {}
  res.on('data', (chunk: string) => {
    text += chunk
    check()
  })
  return {
    text: () => text,
    until: (isEnough: (text: string) => boolean) =>
      new Promise<void>((resolve, reject) => {
        res.once('end', () => reject(new Error(`the answer ended early: ${text}`)))
        check = () => {
          if (isEnough(text)) resolve()
        }
        check()
      }),
    ended: () => new Promise<void>((resolve) => (res.readableEnded ? resolve() : res.once('end', () => resolve()))),
  }
}

describe.runIf(hasNginx())('behind an nginx with default settings', { timeout: LIMIT_MS }, () => {
  it.each(STREAMS)('CASES 1: the pieces of $path arrive one by one', async ({ path, body, piece, last }) => {
    const { at, nginx } = await start({ hold_after_tokens: 1, answer: 'Once upon a time there was a proxy.' })
    const engine = await at.load('a')
    const stream = await open(nginx, { path, body: { model: 'a', stream: true, ...body } })
    const reader = readerOf(stream)
    expect(stream.res.statusCode).toBe(200)
    expect(stream.res.headers['content-type']).toContain('text/event-stream')
    for (let pieces = 1; pieces <= 4; pieces++) {
      await engine.setKnobs({ hold_after_tokens: pieces })
      await reader.until((text) => (text.match(piece)?.length ?? 0) >= pieces)
      expect(reader.text().match(piece)).toHaveLength(pieces)
    }
    const isOver = reader.ended()
    await engine.setKnobs({ hold_after_tokens: null })
    await isOver
    expect(reader.text()).toContain(last)
  })

  it('a client that leaves nginx leaves the engine', async () => {
    const { at, nginx } = await start({ hold_after_tokens: 2 })
    const engine = await at.load('a')
    const stream = await open(nginx, { path: '/v1/chat/completions', body: { model: 'a', stream: true, messages } })
    await stream.until('data: ')
    stream.leave()
    expect((await engine.waitFor('aborts_mid_stream', 1)).counters.aborts).toBe(1)
  })

  it('events arrive while the next one does not exist yet', async () => {
    const { at, nginx } = await start()
    const stream = await open(nginx, { path: '/api/events', headers: { accept: 'text/event-stream' } })
    const reader = readerOf(stream)
    for (const message of ['the first', 'the second', 'the third']) {
      at.daemon.bus.publish({ type: 'test', severity: 'info', source: 'daemon', message, data: {} })
      await reader.until((text) => text.includes(message))
    }
    expect(stream.res.statusCode).toBe(200)
    stream.leave()
  })

  it('so do the states of a slot', async () => {
    const { at, nginx } = await start({ hold_load: true })
    const stream = await open(nginx, { path: '/api/slots/a/state/stream' })
    const reader = readerOf(stream)
    await reader.until((text) => text.includes('"offline"'))
    const loading = at.daemon.slots.load('a').then(
      () => undefined,
      (cause: unknown) => cause,
    )
    await reader.until((text) => text.includes('"warming"'))
    await at.daemon.slots.unload('a', { drainMs: 0 })
    expect(await loading).toMatchObject({ code: 'slot.unloading' })
    stream.leave()
  })

  it('and the lines of its log', async () => {
    const { at, nginx } = await start()
    await at.load('a')
    const stream = await open(nginx, { path: '/api/slots/a/logs/stream' })
    const reader = readerOf(stream)
    for (const line of ['words of the engine', 'more words', 'last words']) {
      await appendFile(slotLogPath(at.home, 'a'), `${line}\n`)
      await reader.until((text) => text.includes(line))
    }
    expect(stream.res.statusCode).toBe(200)
    stream.leave()
  })

  it('plain answers are whole: JSON, a list, an error, a large body; what is too large for nginx is its own matter', async () => {
    const { nginx } = await start()
    const chat = await send(nginx, { path: '/v1/chat/completions', body: { model: 'a', messages } })
    expect([chat.status, chat.json()['model']]).toEqual([200, 'a'])
    expect((await send(nginx, { path: '/v1/models' })).json()['object']).toBe('list')
    const unknown = await send(nginx, { path: '/v1/models/nobody' })
    expect([unknown.status, unknown.json()['error']]).toEqual([
      404,
      expect.objectContaining({ code: 'model_not_found' }),
    ])
    const large = (count: number) => ({
      path: '/v1/chat/completions',
      body: { metadata: { note: 'x'.repeat(count) }, messages, model: 'a' },
    })
    expect((await send(nginx, large(900_000))).status).toBe(200)
    const tooLarge = await send(nginx, large(1_100_000))
    expect([tooLarge.status, tooLarge.headers['server']]).toEqual([413, expect.stringContaining('nginx')])
  })
})
