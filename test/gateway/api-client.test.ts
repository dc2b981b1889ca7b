import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { ClientError, UnreachableError } from '../../src/client/client-errors.ts'
import { findDaemon } from '../../src/client/find-daemon.ts'
import { daemonFilePath, homeAt } from '../../src/files/home.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { stubRow } from '../support/stub-slots-api.ts'

/** What a promise rejects with. */
const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.unreachable('expected a rejection'),
    (thrown: unknown) => thrown,
  )

describe('the client against the real API', () => {
  let api: TestApi
  beforeEach(async () => {
    api = await startApi()
  })
  afterEach(() => api.stop())
  const call = () =>
    expect
      .poll(() => api.slots.calls.length)
      .toBe(1)
      .then(() => api.slots.calls[0])

  it('reads', async () => {
    const client = createClient({ baseUrl: `${api.url}/` })
    expect(client.baseUrl).toBe(api.url)
    expect((await client.slots.list()).map((row) => row.name)).toEqual(['agent', 'coder'])
    expect(await client.slots.show('agent')).toEqual(api.slots.row('agent'))
    expect(await client.slots.state('agent')).toMatchObject({ state: 'ready', extra: {} })
    expect(await client.health()).toEqual({ status: 'ok', version: '1.2.3' })
    expect(await client.status()).toMatchObject({ slots: { total: 2 } })
    await writeFile(`${api.logFolder}/agent.log`, 'one\ntwo\n')
    expect(await client.slots.logs('agent', { lines: 1 })).toEqual(['two'])
    api.bus.publish({ type: 't', severity: 'info', source: 's', message: 'm', data: {} })
    expect(await client.events()).toMatchObject([{ message: 'm' }])
  })

  it('acts, waits, and says when it still runs', async () => {
    const client = createClient({ baseUrl: api.url })
    const unloading = client.slots.unload('agent', { drainS: 2 })
    const unload = await call()
    expect(unload).toMatchObject({ kind: 'unload', request: { drainMs: 2_000 } })
    unload?.resolve(stubRow('agent', { state: 'offline' }))
    expect(await unloading).toMatchObject({ done: true, slot: { state: 'offline' } })
    const begun = await client.slots.load('coder', { waitS: 0 })
    if (begun.done) return expect.unreachable('expected an operation')
    expect(await client.operation(begun.operation.id)).toMatchObject({ kind: 'load', state: 'running' })
  })

  it('gives the error as the daemon put it', async () => {
    const loading = createClient({ baseUrl: api.url }).slots.load('coder')
    const error = Hal0Error.of('slot.loading', 'it loads', { retryAfterS: 9, param: 'model' })
    ;(await call())?.reject(error)
    const thrown = await failureOf(loading)
    expect(thrown).toBeInstanceOf(ClientError)
    expect(thrown).toMatchObject({
      code: 'slot.loading',
      message: 'it loads',
      status: 503,
      param: 'model',
      retryAfterS: 9,
      remedy: error.entry.remedy,
    })
  })

  it('follows events, state and logs, and closes what it leaves', async () => {
    const client = createClient({ baseUrl: api.url })
    const leaving = new AbortController()
    const events = client.followEvents({ afterId: 5, signal: leaving.signal })
    expect(await events.next()).toEqual({ done: false, value: { kind: 'resync', reason: 'gap' } })
    api.bus.publish({ type: 't', severity: 'info', source: 's', message: 'live', data: {} })
    expect((await events.next()).value).toMatchObject({ kind: 'event', event: { message: 'live' } })
    for await (const record of client.slots.followState('agent')) {
      expect(record.state).toBe('ready')
      break
    }
    await writeFile(`${api.logFolder}/agent.log`, 'one\ntwo\n')
    for await (const line of client.slots.followLogs('agent', { lines: 1 })) {
      expect(line).toBe('two')
      break
    }
    const reason = new Error('enough')
    const next = events.next()
    leaving.abort(reason)
    expect(await failureOf(next)).toBe(reason)
  })

  it('ends when the daemon ends the stream', async () => {
    const events = createClient({ baseUrl: api.url }).followEvents({ afterId: 5 })
    await events.next()
    api.close()
    expect((await events.next()).done).toBe(true)
  })
})

describe('the client against anything else', () => {
  let server: Server
  const listen = async (listener: RequestListener) => {
    server = createServer(listener)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return createClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  }
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  it('nobody listens: names the address and the reason', async () => {
    const client = await listen(() => {})
    await new Promise((resolve) => server.close(resolve))
    const thrown = await failureOf(client.health())
    expect(thrown).toBeInstanceOf(UnreachableError)
    expect(thrown).toMatchObject({ url: client.baseUrl })
    expect(String(thrown)).toContain(`${client.baseUrl} (connection refused)`)
  })

  it('the connection breaks in the answer', async () => {
    const client = await listen((_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{')
      setImmediate(() => response.destroy())
    })
    expect(await failureOf(client.health())).toBeInstanceOf(UnreachableError)
  })

  it.each([
    ['not JSON', 200, '<html>'],
    ['another shape', 200, '{"status":"fine"}'],
    ['an error that is not ours', 404, 'Not Found'],
  ])('%s', async (_, status, body) => {
    const client = await listen((_request, response) => response.writeHead(status).end(body))
    expect(await failureOf(client.health())).toMatchObject({ name: 'ClientError', code: 'unexpected_answer', status })
  })

  const chat = (...events: string[]) =>
    listen((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(events.map((data) => `data: ${data}\n\n`).join(''))
    })
  const delta = (content: string | null) => JSON.stringify({ choices: [{ delta: { content } }] })
  const answer = async (client: ReturnType<typeof createClient>) => {
    const pieces: string[] = []
    const messages = [{ role: 'user', content: 'hi' }] as const
    for await (const piece of client.chat({ model: 'agent', messages })) pieces.push(piece)
    return pieces
  }

  it('chat yields the text and skips what has none', async () => {
    const client = await chat(delta(null), delta('Hel'), '{"choices":[],"usage":{}}', delta('lo'), '[DONE]')
    expect(await answer(client)).toEqual(['Hel', 'lo'])
  })

  it('chat turns an error event into the error', async () => {
    const error = {
      message: 'gone',
      type: 'server_error',
      param: null,
      code: 'slot.unloading',
      details: { remedy: 'wait' },
    }
    const client = await chat(delta('Hel'), JSON.stringify({ error }))
    expect(await failureOf(answer(client))).toMatchObject({ code: 'slot.unloading', status: 0, remedy: 'wait' })
  })

  it('chat does not take a cut answer for a whole one', async () => {
    expect(await failureOf(answer(await chat(delta('Hel'))))).toMatchObject({ code: 'unexpected_answer' })
  })
})

describe('finding the daemon', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hal0-find-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const find = (env: Record<string, string> = {}) => findDaemon({ env, home: homeAt(folder) })
  const write = async (text: string) => {
    const path = daemonFilePath(homeAt(folder))
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }
  const file = (more: object = {}) =>
    JSON.stringify({
      url: 'http://127.0.0.1:8080',
      pid: process.pid,
      started_at: '2026-01-01T00:00:00Z',
      ...more,
    })

  it('HAL0_API_URL wins over the file', async () => {
    await write(file())
    expect(await find({ HAL0_API_URL: 'http://box:1234/' })).toEqual({
      kind: 'found',
      url: 'http://box:1234',
      from: 'HAL0_API_URL',
    })
    expect(await find({ HAL0_API_URL: '' })).toMatchObject({ kind: 'found', from: 'daemon.json', pid: process.pid })
  })

  it.each(['box:1234', 'ftp://box', 'http://user:pw@box', 'nonsense'])('HAL0_API_URL %s is refused', async (url) => {
    const found = await find({ HAL0_API_URL: url })
    expect(found).toMatchObject({ kind: 'none', reason: 'bad_url', message: expect.stringContaining(url) })
  })

  it.each([
    ['no file', undefined, 'no_file'],
    ['half a file', '{"url": "http://127', 'bad_file'],
    ['another shape', '{"url": "http://127.0.0.1:1"}', 'bad_file'],
    ['a bad url', file({ url: 'nonsense' }), 'bad_file'],
    // Above the kernel's largest pid.
    ['a process that is gone', file({ pid: 2 ** 22 + 1 }), 'not_running'],
  ])('%s', async (_, text, reason) => {
    if (text !== undefined) await write(text)
    expect(await find()).toMatchObject({ kind: 'none', reason, message: expect.stringContaining(folder) })
  })
})
