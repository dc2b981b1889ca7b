import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import type { ProbeSpec } from '../../runners/runner.ts'
import { createProber, type ProbeVerdict } from './probe.ts'

const SPEC = { healthPath: '/health', modelsPath: '/v1/models', identityPath: '/props' }
const KEY = 'the-key'

interface Answers {
  readonly health?: readonly [number, unknown]
  readonly models?: readonly [number, unknown]
  /** By whether the key was sent. */
  readonly props?: (hasKey: boolean) => readonly [number, unknown]
}

let server: Server | undefined
afterEach(() => new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve))))

async function look(
  answers: Answers,
  runner: 'with keys' | 'without keys' = 'with keys',
  spec: ProbeSpec = SPEC,
): Promise<ProbeVerdict> {
  const {
    health = [200, { status: 'ok' }],
    models = [200, { data: [{ id: 'a' }] }],
    props = (hasKey) => (hasKey ? [200, { total_slots: 4 }] : [401, {}]),
  } = answers
  const answer = (request: IncomingMessage) => {
    if (request.url === '/health') return health
    if (request.url === '/v1/models') return models
    return props(request.headers.authorization === `Bearer ${KEY}`)
  }
  const listening = createServer((request, response) => {
    const [status, body] = answer(request)
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  server = listening
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  const address = listening.address()
  if (address === null || typeof address === 'string') throw new Error('no address')
  const prober = createProber(`http://127.0.0.1:${address.port}`, spec, runner === 'with keys' ? KEY : undefined)
  try {
    return await prober.look()
  } finally {
    await prober.close()
  }
}

describe('one look at an engine', () => {
  it.each<[string, Answers, ProbeVerdict['kind']]>([
    ['all well', {}, 'ready'],
    ['health says 503', { health: [503, {}] }, 'loading'],
    [
      'health says 503 although the model list is filled',
      { health: [503, {}], models: [200, { data: [1] }] },
      'loading',
    ],
    ['health is fine, but model_loaded is false', { health: [200, { model_loaded: false }] }, 'loading'],
    ['health is not JSON', { health: [200, 'OK'] }, 'ready'],
    ['health says 404', { health: [404, {}] }, 'silent'],
    ['no model is listed', { models: [200, { data: [] }] }, 'no_model'],
    ['the list is no list', { models: [200, 'oops'] }, 'silent'],
    ['the identity route still loads', { props: (hasKey) => (hasKey ? [503, {}] : [401, {}]) }, 'loading'],
    ['the key is refused', { props: () => [401, {}] }, 'stranger'],
    ['the key is forbidden', { props: () => [403, {}] }, 'stranger'],
    ['it answers without the key', { props: () => [200, { total_slots: 4 }] }, 'stranger'],
    ['it has no such route for anybody', { props: () => [404, {}] }, 'stranger'],
  ])('%s', async (_name, answers, kind) => {
    expect((await look(answers)).kind).toBe(kind)
  })

  it('learns how many sequences run at once, or that the engine does not say', async () => {
    expect(await look({})).toEqual({ kind: 'ready', parallel: 4 })
    await new Promise((resolve) => server?.close(resolve))
    expect(await look({ props: (hasKey) => (hasKey ? [200, {}] : [401, {}]) })).toEqual({
      kind: 'ready',
      parallel: null,
    })
  })

  it('does not ask for a proof from a runner without keys', async () => {
    expect((await look({ props: () => [200, {}] }, 'without keys')).kind).toBe('ready')
  })

  it.each(['with keys', 'without keys'] as const)(
    'asks nobody who he is where there is no path for it: %s',
    async (runner) => {
      const asked: Answers = { props: () => [404, {}] }
      expect(await look(asked, runner, { ...SPEC, identityPath: undefined })).toEqual({ kind: 'ready', parallel: null })
    },
  )

  it('takes the model list for the proof of an engine that guards no other path', async () => {
    const spec = { ...SPEC, modelsPath: '/list', identityPath: '/list' }
    const guarded = (hasKey: boolean) => (hasKey ? ([200, { data: [1] }] as const) : ([401, {}] as const))
    expect(await look({ props: guarded }, 'with keys', spec)).toEqual({ kind: 'ready', parallel: null })
    await new Promise((resolve) => server?.close(resolve))
    expect((await look({ props: () => [200, { data: [1] }] }, 'with keys', spec)).kind).toBe('stranger')
  })

  it('sees an engine that closes after each answer although it promised not to', async () => {
    const closing = createServer((request, response) => {
      const body = request.url === '/v1/models' ? { data: [1] } : {}
      const status = request.url === '/props' && request.headers.authorization === undefined ? 401 : 200
      response.writeHead(status).end(JSON.stringify(body), () => request.socket.end())
    })
    server = closing
    await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve))
    const address = closing.address()
    if (address === null || typeof address === 'string') throw new Error('no address')
    const prober = createProber(`http://127.0.0.1:${address.port}`, SPEC, KEY)
    expect((await prober.look()).kind).toBe('ready')
    expect((await prober.look()).kind).toBe('ready')
    await prober.close()
  })

  it('nobody there is silence, not an error', async () => {
    const prober = createProber('http://127.0.0.1:1', SPEC, KEY)
    expect((await prober.look()).kind).toBe('silent')
    await prober.close()
  })
})

describe('a look that hangs', () => {
  /** Takes requests and keeps them until the test answers. */
  async function holding() {
    const held: ServerResponse[] = []
    const listening = createServer((_request, response) => void held.push(response))
    server = listening
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
    const address = listening.address()
    if (address === null || typeof address === 'string') throw new Error('no address')
    const prober = createProber(
      `http://127.0.0.1:${address.port}`,
      { ...SPEC, modelsPath: undefined, identityPath: undefined },
      undefined,
    )
    return { prober, held }
  }

  it('keeps no other back: the next one asks anew', async () => {
    const { prober, held } = await holding()
    expect(await prober.look()).toEqual({ kind: 'silent' })
    const second = prober.look()
    while (held.length < 2) await new Promise((resolve) => setImmediate(resolve))
    held[1]?.end('{}')
    expect(await second).toEqual({ kind: 'ready', parallel: null })
    await prober.close()
  })

  it('is heard by the next look when it is answered after all', async () => {
    const { prober, held } = await holding()
    expect(await prober.look()).toEqual({ kind: 'silent' })
    const second = prober.look()
    held[0]?.end('{}')
    expect(await second).toEqual({ kind: 'ready', parallel: null })
    await prober.close()
  })
})
