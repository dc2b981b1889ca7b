import { type ClientRequest, request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { startClientWorld } from '../support/client-world.ts'
import { eventually } from '../support/daemon-harness.ts'

// A real daemon in front of a fake engine with one place: who is served when, by the key that a request carries.

type Headers = Readonly<Record<string, string>>
const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` })
const apiKey = (key: string): Headers => ({ 'x-api-key': key })

interface Told {
  readonly status: number
  readonly text: string
  readonly retryAfter: string | undefined
}

interface Asked {
  readonly req: ClientRequest
  /** Undefined = the connection ended. */
  readonly told: Promise<Told | undefined>
}

async function begin(queueLimit = 1024) {
  const knobs = JSON.stringify({ total_slots: 1, hold_first: true })
  const agent = {
    ...{ type: 'llm', device: 'cpu', binary: 'cpu', model: { default: 'hello' } },
    server: { env: { FAKE_KNOBS: knobs } },
  }
  const world = await startClientWorld({ agent }, { slots: { queue_limit: queueLimit } })
  const engine = await world.engine('agent')
  const row = () => world.daemon.slots.row('agent')
  const body = JSON.stringify({ model: 'agent', max_tokens: 2, messages: [{ role: 'user', content: 'hi' }] })

  /** Asks under a name; the answer says what became of it. */
  const ask = (id: string, headers: Headers, path = '/v1/chat/completions'): Asked => {
    const req = request(world.origin + path, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', 'content-length': body.length, 'x-request-id': id, ...headers },
    })
    const told = new Promise<Told | undefined>((resolve) => {
      req.on('error', () => resolve(undefined))
      req.on('response', (res) => {
        let text = ''
        res.on('data', (piece: Buffer) => void (text += piece.toString()))
        res.on('end', () => resolve({ status: res.statusCode ?? 0, text, retryAfter: res.headers['retry-after'] }))
      })
    })
    req.end(body)
    return { req, told }
  }
  /** Resolves when so many wait. */
  const queued = (count: number) => eventually(() => row()?.queued === count)
  /** The first has the engine, the others wait in this order. */
  const askInOrder = async (all: readonly (readonly [string, Headers])[]): Promise<Asked[]> => {
    const asked: Asked[] = []
    for (const [id, headers] of all) {
      asked.push(ask(id, headers))
      await eventually(() => row()?.in_flight === 1)
      await queued(asked.length - 1)
    }
    await engine.waitFor('active', 1)
    return asked
  }
  /** Lets the engine go, and tells in which order it got them all. */
  const served = async (): Promise<readonly string[]> => {
    await engine.setKnobs({ hold_first: false })
    await world.atRest()
    const { requests } = await engine.state()
    return requests.flatMap(({ method, headers }) => (method === 'POST' ? [headers['x-request-id'] ?? 'hal0'] : []))
  }
  return { world, engine, ask, askInOrder, queued, served }
}

describe('one key floods the queue', () => {
  it.each([
    ['Authorization', bearer('a'), bearer('b')],
    ['x-api-key', apiKey('a'), apiKey('b')],
    ['one of each', bearer('a'), apiKey('a')],
    ['nobody and somebody', {}, bearer('b')],
  ])('another is served next (%s)', async (_name, a, b) => {
    const { askInOrder, served } = await begin()
    const asked = await askInOrder([
      ['a0', a],
      ['a1', a],
      ['a2', a],
      ['a3', a],
      ['b0', b],
      ['b1', b],
    ])
    expect(await served()).toEqual(['a0', 'a1', 'b0', 'a2', 'b1', 'a3'])
    for (const { told } of asked) expect((await told)?.status).toBe(200)
  })

  it('three keys take turns, and each is served in its own order', async () => {
    const { askInOrder, served } = await begin()
    const [a, b, c] = [bearer('a'), bearer('b'), bearer('c')]
    await askInOrder([
      ['a0', a],
      ['a1', a],
      ['a2', a],
      ['b0', b],
      ['b1', b],
      ['c0', c],
      ['a3', a],
      ['c1', c],
    ])
    expect(await served()).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'c1', 'a3'])
  })

  it('without keys: by where a request comes from, first come first served', async () => {
    const { askInOrder, served } = await begin()
    await askInOrder(['0', '1', '2', '3'].map((id) => [id, {}] as const))
    expect(await served()).toEqual(['0', '1', '2', '3'])
  })

  it('dialects and routes share one queue and one turn', async () => {
    const { ask, askInOrder, queued, served } = await begin()
    await askInOrder([
      ['a0', bearer('a')],
      ['a1', bearer('a')],
      ['a2', bearer('a')],
    ])
    ask('b0', apiKey('b'), '/v1/messages')
    await queued(3)
    ask('a3', bearer('a'), '/upstream/agent/v1/chat/completions')
    await queued(4)
    expect(await served()).toEqual(['a0', 'a1', 'b0', 'a2', 'a3'])
  })
})

describe('a queue that is full', () => {
  it('refuses the one who floods it, also when another comes later', async () => {
    const { ask, askInOrder, queued, served } = await begin(3)
    const [a, b] = [bearer('a'), bearer('b')]
    const [, , , newest] = await askInOrder([
      ['a0', a],
      ['a1', a],
      ['a2', a],
      ['a3', a],
    ])
    const refused = await ask('a4', a).told
    expect([refused?.status, Number(refused?.retryAfter) >= 1]).toEqual([429, true])
    expect(refused?.text).toContain('dispatch.queue_full')
    const other = ask('b0', b)
    // The newest of the key that has most makes room.
    const pushed = await newest?.told
    expect([pushed?.status, pushed?.text.includes('most of them are yours')]).toEqual([429, true])
    expect(Number(pushed?.retryAfter)).toBeGreaterThanOrEqual(1)
    await queued(3)
    expect(await served()).toEqual(['a0', 'a1', 'b0', 'a2'])
    expect((await other.told)?.status).toBe(200)
  })

  it('refuses a newcomer only when nobody has more than one', async () => {
    const { ask, askInOrder, served } = await begin(2)
    await askInOrder([
      ['a0', bearer('a')],
      ['b0', bearer('b')],
      ['c0', bearer('c')],
    ])
    expect((await ask('d0', bearer('d')).told)?.status).toBe(429)
    const [anthropic, openai] = [await ask('e0', apiKey('e'), '/v1/messages').told, await ask('e1', apiKey('e')).told]
    expect(JSON.parse(anthropic?.text ?? '')).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } })
    expect(JSON.parse(openai?.text ?? '')).toMatchObject({ error: { code: 'dispatch.queue_full' } })
    expect(await served()).toEqual(['a0', 'b0', 'c0'])
  })
})

describe('a waiter that leaves', () => {
  it('takes no turn of its key with it, and its place is free', async () => {
    const { ask, askInOrder, queued, served, world } = await begin(4)
    const [a, b] = [bearer('a'), bearer('b')]
    const [, a1, , b0] = await askInOrder([
      ['a0', a],
      ['a1', a],
      ['a2', a],
      ['b0', b],
      ['b1', b],
    ])
    a1?.req.destroy()
    await queued(3)
    b0?.req.destroy()
    await queued(2)
    ask('c0', bearer('c'))
    await queued(3)
    ask('c1', bearer('c'))
    await queued(4)
    expect(await served()).toEqual(['a0', 'a2', 'b1', 'c0', 'c1'])
    expect(world.daemon.slots.row('agent')).toMatchObject({ in_flight: 0, queued: 0 })
  })

  it('the last of its key: the others go on', async () => {
    const { askInOrder, queued, served } = await begin()
    const [, b0] = await askInOrder([
      ['a0', bearer('a')],
      ['b0', bearer('b')],
      ['a1', bearer('a')],
      ['c0', bearer('c')],
    ])
    b0?.req.destroy()
    await queued(2)
    expect(await served()).toEqual(['a0', 'a1', 'c0'])
  })
})

it('a key is never seen by the engine, in whichever header it came', async () => {
  const { ask, engine } = await begin()
  await engine.setKnobs({ hold_first: false, echo: true })
  for (const headers of [bearer('sk-secret'), apiKey('sk-secret')]) {
    const told = await ask('x', headers).told
    expect(told?.status).toBe(200)
    expect(told?.text).not.toContain('sk-secret')
  }
})
