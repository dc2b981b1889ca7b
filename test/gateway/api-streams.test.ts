import { appendFile, rm, truncate, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createSseParser, type SseMessage } from '../../src/client/sse-parser.ts'
import type { NewEvent } from '../../src/contract/events.ts'
import { ManualClock, settle } from '../support/manual-clock.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { stubRow } from '../support/stub-slots-api.ts'

let api: TestApi
const left: (() => unknown)[] = []
afterEach(async () => {
  for (const leave of left.splice(0)) leave()
  await api.stop()
})

const event = (message: string, source = 'daemon'): NewEvent => ({
  type: 'test',
  severity: 'info',
  source,
  message,
  data: {},
})

interface Reader {
  readonly response: Response
  /** The next event; undefined = the stream has ended. */
  next(): Promise<SseMessage | undefined>
  /** Raw text up to now. */
  text(): string
  leave(): void
}

async function open(path: string, headers: Record<string, string> = {}): Promise<Reader> {
  const leaving = new AbortController()
  left.push(() => leaving.abort())
  const response = await fetch(api.url + path, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: leaving.signal,
  })
  const parser = createSseParser()
  const decoder = new TextDecoder()
  const chunks = response.body?.getReader()
  const messages: SseMessage[] = []
  let text = ''
  return {
    response,
    text: () => text,
    leave: () => leaving.abort(),
    async next() {
      while (messages.length === 0) {
        const chunk = await chunks?.read()
        if (chunk === undefined || chunk.done) return undefined
        const piece = decoder.decode(chunk.value, { stream: true })
        text += piece
        messages.push(...parser.push(piece))
      }
      return messages.shift()
    },
  }
}

const bodyOf = (message: SseMessage | undefined): unknown => JSON.parse(message?.data ?? 'null')

describe('GET /api/events as a stream', () => {
  it('begins at once, unbuffered, and gives each event before the next exists', async () => {
    api = await startApi()
    const reader = await open('/api/events')
    expect(Object.fromEntries(reader.response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'transfer-encoding': 'chunked',
    })
    for (const text of ['one', 'two', 'three']) {
      api.bus.publish(event(text))
      expect(bodyOf(await reader.next())).toMatchObject({ message: text })
    }
  })

  it('backfills behind Last-Event-ID, more than a slow reader may owe, then follows', async () => {
    api = await startApi({ keep: 5_000 })
    for (let n = 1; n <= 3_000; n++) api.bus.publish(event(`n${n}`))
    const reader = await open('/api/events', { 'last-event-id': '10' })
    for (let n = 11; n <= 3_000; n++) {
      const message = await reader.next()
      expect([message?.event, message?.lastEventId]).toEqual(['message', String(n)])
    }
    api.bus.publish(event('live'))
    expect(bodyOf(await reader.next())).toMatchObject({ id: 3_001, message: 'live' })
  })

  it.each(['1', '99', 'abc', '-1'])('Last-Event-ID %s is a gap: resync, then live', async (id) => {
    api = await startApi({ keep: 3 })
    for (let n = 1; n <= 10; n++) api.bus.publish(event(`n${n}`))
    const reader = await open('/api/events', { 'last-event-id': id })
    const first = await reader.next()
    expect([first?.event, bodyOf(first)]).toEqual(['resync', { reason: 'gap' }])
    api.bus.publish(event('live'))
    expect(bodyOf(await reader.next())).toMatchObject({ message: 'live' })
  })

  it('sends a folded row again without moving Last-Event-ID back', async () => {
    api = await startApi()
    const reader = await open('/api/events')
    const failure: NewEvent = { ...event('broken'), severity: 'error' }
    for (const fresh of [failure, event('between'), failure]) api.bus.publish(fresh)
    const got = [await reader.next(), await reader.next(), await reader.next()]
    expect(got.map((m) => [(bodyOf(m) as { id: number }).id, m?.lastEventId])).toEqual([
      [1, '1'],
      [2, '2'],
      [1, '2'],
    ])
  })

  it('a reader that takes nothing is dropped to a resync; nobody else notices', async () => {
    api = await startApi({ keep: 100 })
    const slow = await openAndStall('/api/events')
    const quick = await open('/api/events')
    const big = 'x'.repeat(20_000)
    for (let n = 1; n <= 2_500; n++) {
      api.bus.publish(event(`${n} ${big}`))
      expect((await quick.next())?.lastEventId).toBe(String(n))
    }
    const seen: SseMessage[] = []
    const parser = createSseParser()
    const last = new Promise<void>((resolve) => {
      slow.on('data', (chunk) => {
        // The chunk sizes of the transfer coding stand between: they are lines without a known field.
        seen.push(...parser.push(String(chunk)))
        if (seen.some((m) => m.data.includes('"message":"after"'))) resolve()
        else if (seen.at(-1)?.event === 'resync') api.bus.publish(event('after'))
      })
    })
    slow.resume()
    await last
    expect(seen.filter((m) => m.event === 'resync').map(bodyOf)).toEqual([{ reason: 'slow_reader' }])
    expect(seen.length).toBeLessThan(2_500)
  })

  it('sends a comment every 15 s', async () => {
    const clock = new ManualClock()
    api = await startApi({ clock })
    const reader = await open('/api/events')
    const marker = reader.next()
    await expect.poll(() => clock.pendingTimers).toBe(1)
    for (const ms of [14_999, 1, 15_000]) {
      await clock.advance(ms)
      await settle()
    }
    api.bus.publish(event('marker'))
    await marker
    expect(reader.text().match(/^: keepalive$/gm)).toHaveLength(2)
  })

  it('lets go of a reader that leaves', async () => {
    const clock = new ManualClock()
    api = await startApi({ clock })
    const reader = await open('/api/events')
    expect(clock.pendingTimers).toBe(1)
    reader.leave()
    await expect.poll(() => clock.pendingTimers).toBe(0)
  })

  it('ends at shutdown, also for a reader that takes nothing', async () => {
    const clock = new ManualClock()
    api = await startApi({ clock })
    const readers = [await open('/api/events'), await open('/api/slots/agent/logs/stream')]
    await openAndStall('/api/events')
    await expect.poll(() => clock.pendingTimers).toBeGreaterThanOrEqual(3)
    api.close()
    for (const reader of readers) expect(await reader.next()).toBeUndefined()
    await expect.poll(() => clock.pendingTimers).toBe(0)
    const late = await open('/api/events')
    expect(await late.next()).toBeUndefined()
  })
})

it('GET /api/events as a list: the newest, newest last', async () => {
  api = await startApi()
  for (let n = 1; n <= 150; n++) api.bus.publish(event(`n${n}`))
  const list = async (query: string) =>
    ((await (await fetch(`${api.url}/api/events${query}`)).json()) as { events: { id: number }[] }).events.map(
      (e) => e.id,
    )
  expect(await list('?limit=2')).toEqual([149, 150])
  expect(await list('')).toHaveLength(100)
})

describe('GET /api/slots/{name}/state/stream', () => {
  const change = (state: 'warming' | 'error', message = '') => {
    api.slots.set(stubRow('agent', { state, message }))
    api.bus.publish(event('changed', 'slot:agent'))
  }

  it('gives the state now and each change once', async () => {
    api = await startApi()
    const reader = await open('/api/slots/agent/state/stream')
    expect(bodyOf(await reader.next())).toMatchObject({ name: 'agent', state: 'ready' })
    api.bus.publish(event('of another slot', 'slot:coder'))
    api.bus.publish(event('nothing changed', 'slot:agent'))
    change('warming')
    change('error')
    const [first, second] = [await reader.next(), await reader.next()]
    expect([first, second].map((m) => [m?.event, (bodyOf(m) as { state: string }).state])).toEqual([
      ['state', 'warming'],
      ['state', 'error'],
    ])
  })

  it('sees a change that is made right after its event', async () => {
    api = await startApi()
    const reader = await open('/api/slots/agent/state/stream')
    await reader.next()
    api.bus.publish(event('about to change', 'slot:agent'))
    api.slots.set(stubRow('agent', { state: 'warming' }))
    expect(bodyOf(await reader.next())).toMatchObject({ state: 'warming' })
  })

  it('gives a slow reader the newest state after the resync', async () => {
    api = await startApi()
    const slow = await openAndStall('/api/slots/agent/state/stream')
    for (let n = 1; n <= 2_500; n++) change('warming', `${n} ${'x'.repeat(20_000)}`)
    const parser = createSseParser()
    const seen: SseMessage[] = []
    const last = new Promise<void>((resolve) => {
      slow.on('data', (chunk) => {
        seen.push(...parser.push(String(chunk)))
        if (seen.at(-1)?.data.includes('"message":"2500 ') === true) resolve()
      })
    })
    slow.resume()
    await last
    expect(seen.at(-2)?.event).toBe('resync')
    expect(seen.length).toBeLessThan(2_500)
  })

  it('ends when the slot is deleted', async () => {
    api = await startApi()
    const reader = await open('/api/slots/agent/state/stream')
    await reader.next()
    api.slots.delete('agent')
    api.bus.publish(event('deleted', 'slot:agent'))
    expect(await reader.next()).toBeUndefined()
  })

  it('is 404 for a slot that is not there', async () => {
    api = await startApi()
    expect((await open('/api/slots/nope/state/stream')).response.status).toBe(404)
  })
})

describe('logs', () => {
  const logOf = (name: string) => `${api.logFolder}/${name}.log`
  const lineOf = async (reader: Reader) => (bodyOf(await reader.next()) as { line?: string } | null)?.line

  it('tail: JSON by default, text on request, empty without a log', async () => {
    api = await startApi()
    const tail = (query: string, accept = '*/*') =>
      fetch(`${api.url}/api/slots/agent/logs${query}`, { headers: { accept } })
    expect(await (await tail('')).json()).toEqual({ name: 'agent', lines: [] })
    await writeFile(logOf('agent'), Array.from({ length: 300 }, (_, n) => `line ${n} ü\n`).join(''))
    expect(await (await tail('?lines=2')).json()).toEqual({ name: 'agent', lines: ['line 298 ü', 'line 299 ü'] })
    expect(((await (await tail('')).json()) as { lines: string[] }).lines).toHaveLength(200)
    const text = await tail('?lines=2', 'text/plain')
    expect(text.headers.get('content-type')).toMatch(/^text\/plain/)
    expect(await text.text()).toBe('line 298 ü\nline 299 ü\n')
  })

  it('stream: the last lines, then what is appended, characters and lines never cut', async () => {
    api = await startApi()
    await writeFile(logOf('agent'), 'one\ntwo\nthree\r\n')
    const reader = await open('/api/slots/agent/logs/stream?lines=2')
    expect([await lineOf(reader), await lineOf(reader)]).toEqual(['two', 'three'])
    const bytes = Buffer.from('vier ü\nhalf')
    await appendFile(logOf('agent'), bytes.subarray(0, 6))
    await appendFile(logOf('agent'), bytes.subarray(6))
    expect(await lineOf(reader)).toBe('vier ü')
    await appendFile(logOf('agent'), ' and half\n')
    expect(await lineOf(reader)).toBe('half and half')
  })

  it('stream: a large backlog arrives whole', async () => {
    api = await startApi()
    await writeFile(logOf('agent'), Array.from({ length: 20_000 }, (_, n) => `line ${n}\n`).join(''))
    const reader = await open('/api/slots/agent/logs/stream?lines=10000')
    const lines: (string | undefined)[] = []
    while (lines.length < 10_000) lines.push(await lineOf(reader))
    expect(lines).toEqual(Array.from({ length: 10_000 }, (_, n) => `line ${n + 10_000}`))
  })

  it('stream: waits for a file that is not there yet, goes on after a rotation and a replacement', async () => {
    api = await startApi()
    const reader = await open('/api/slots/agent/logs/stream')
    await writeFile(logOf('agent'), 'a first line\n')
    expect(await lineOf(reader)).toBe('a first line')
    await truncate(logOf('agent'), 0)
    await appendFile(logOf('agent'), 'cut\n')
    expect((await reader.next())?.event).toBe('resync')
    expect(await lineOf(reader)).toBe('cut')
    await rm(logOf('agent'))
    await writeFile(logOf('agent'), 'another\n')
    expect((await reader.next())?.event).toBe('resync')
    expect(await lineOf(reader)).toBe('another')
  })

  it('stream: last words without a line end are shown after a while, a line without end is cut', async () => {
    api = await startApi()
    await writeFile(logOf('agent'), '')
    const reader = await open('/api/slots/agent/logs/stream')
    await appendFile(logOf('agent'), 'x'.repeat(70_000))
    expect((await lineOf(reader))?.length).toBe(65_536)
    expect((await lineOf(reader))?.length).toBe(70_000 - 65_536)
  })
})

/** A client that sends its request, sees the answer begin, and then reads no more. */
async function openAndStall(path: string): Promise<Socket> {
  const socket = connect(api.port, '127.0.0.1')
  left.push(() => socket.destroy())
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n`)
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  return socket
}
