import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { send } from '../support/raw-http.ts'
import { type FakeEngine, startFakeEngine } from '../support/start-fake.ts'
import { startGateway, type TestGateway } from '../support/start-gateway.ts'
import { agentEndpoint, createStubSlots, type StubSlots } from '../support/stub-slots.ts'

let engine: FakeEngine
let slots: StubSlots
let gateway: TestGateway
/** What happened to the on-demand slot, and what happens when it is made. */
let ensured: number
let ensure: () => Promise<void>
let registered: Set<string>

beforeEach(async () => {
  engine = await startFakeEngine({ argv: ['--alias', 'agent'] })
  const endpoint = agentEndpoint(engine)
  slots = createStubSlots({
    agent: { endpoint, row: { model_id: 'hello', aliases: ['gpt-4o', 'helper'] } },
    bare: { endpoint, row: { model_id: null, aliases: ['naked'] } },
    rerank: { endpoint, row: { model_id: 'judge', type: 'reranking' } },
    scratch: { endpoint, row: { model_id: null, state: 'offline' } },
  })
  ensured = 0
  ensure = () => Promise.resolve()
  registered = new Set(['zeta', 'hello', 'alpha'])
  const models = {
    registeredModels: () => registered,
    onDemand: {
      ensure() {
        ensured++
        return ensure()
      },
    },
  }
  gateway = await startGateway(slots, { onDemandSlot: 'scratch' }, undefined, models)
})

afterEach(async () => {
  await gateway.stop()
  await engine.stop()
})

const chat = (model: string, more: object = {}) => ({
  path: '/v1/chat/completions',
  body: { model, messages: [{ role: 'user', content: 'Hello there' }], ...more },
})
const listed = async () => {
  const answer = await send(gateway.origin, { path: '/v1/models' })
  return (answer.json() as { data: { id: string; hal0: object }[] }).data
}

describe('/v1/models', () => {
  it('lists active slots, their aliases, then registered models that can be served; wakes nothing', async () => {
    const data = await listed()
    expect(data.map(({ id }) => id)).toEqual(['agent', 'rerank', 'gpt-4o', 'helper', 'alpha', 'hello', 'zeta'])
    const agent = { model: 'hello', state: 'ready', type: 'llm' }
    expect(data.find(({ id }) => id === 'helper')?.hal0).toEqual(agent)
    expect(data.find(({ id }) => id === 'hello')?.hal0).toEqual(agent)
    expect(data.find(({ id }) => id === 'alpha')?.hal0).toEqual({ model: 'alpha', state: 'offline', type: 'llm' })
    expect([slots.log, ensured]).toEqual([[], 0])
  })

  it('lists no model that nothing serves, and no name twice', async () => {
    registered = new Set(['alpha', 'hello', 'rerank', 'helper'])
    const without = await startGateway(slots, { onDemandSlot: '' }, undefined, { registeredModels: () => registered })
    try {
      const { data } = (await send(without.origin, { path: '/v1/models' })).json() as { data: { id: string }[] }
      expect(data.map(({ id }) => id)).toEqual(['agent', 'rerank', 'gpt-4o', 'helper', 'hello'])
    } finally {
      await without.stop()
    }
  })

  it('lists an engine that brings its model while it could be started, and asks none', async () => {
    const endpoint = agentEndpoint(engine)
    const tts = { type: 'tts', runner: 'kokoro', model_id: null } as const
    const house = createStubSlots({
      off: { endpoint, row: { ...tts, state: 'offline' } },
      missing: { endpoint, row: { ...tts, state: 'offline', config_problem: 'no kokoro-server' } },
      on: { endpoint, row: { ...tts, aliases: ['voice'] } },
      hello: { endpoint, row: { model_id: null } },
    })
    const world = await startGateway(house)
    try {
      const { data } = (await send(world.origin, { path: '/v1/models' })).json() as { data: { id: string }[] }
      expect(data.map(({ id }) => id)).toEqual(['off', 'on', 'voice'])
      const one = await send(world.origin, { path: '/v1/models/voice' })
      expect(one.json()).toMatchObject({ hal0: { model: null, state: 'ready', type: 'tts' } })
      expect((await send(world.origin, { path: '/v1/models/missing' })).status).toBe(404)
      expect([house.log, (await engine.state()).counters.requests]).toEqual([[], 0])
    } finally {
      await world.stop()
    }
  })

  it.each(['gpt-4o', 'hal0/helper', 'alpha', 'embed-rerank'])('shows one: %s', async (id) => {
    const answer = await send(gateway.origin, { path: `/v1/models/${id}` })
    expect([answer.status, answer.json()]).toMatchObject([200, { id }])
  })

  it.each(['naked', 'scratch', 'nobody'])('404 for %s', async (id) => {
    expect((await send(gateway.origin, { path: `/v1/models/${id}` })).status).toBe(404)
  })
})

describe('aliases', () => {
  it.each(['gpt-4o', 'helper', 'hal0/helper'])(
    '%s reaches its slot, and the answer carries that name',
    async (name) => {
      for (const stream of [false, true]) {
        const answer = await send(gateway.origin, chat(name, { stream }))
        expect(answer.status).toBe(200)
        expect(answer.headers['x-hal0-route']).toBeUndefined()
        expect(answer.text).toContain(`"model":"${name}"`)
      }
      expect(slots.log).toContain('lease agent')
      expect(slots.modelIds).toEqual([undefined, undefined])
    },
  )
})

describe('a registered model that no slot binds', () => {
  // The slot is off: nobody gets a lease of it at once.
  beforeEach(() => {
    slots.leasesAtOnce = false
  })

  it('loads into the on-demand slot, which is made first', async () => {
    const order: string[] = []
    ensure = async () => void order.push(`made before ${slots.log.length} waits`)
    const answer = await send(gateway.origin, chat('alpha'))
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('"model":"alpha"')
    expect(order).toEqual(['made before 0 waits'])
    expect([slots.log[0], slots.modelIds]).toEqual(['wait scratch', ['alpha']])
    expect(await gateway.requestLine(1)).toMatchObject({ slot: 'scratch', reason: '3 registered, loaded on demand' })
  })

  it('a model that a slot binds never does', async () => {
    await send(gateway.origin, chat('hello'))
    expect([slots.log[0], slots.modelIds, ensured]).toEqual(['wait agent', [undefined], 0])
  })

  it('the slot cannot be made: told as a slot that cannot be had, without paths', async () => {
    ensure = () => Promise.reject(Hal0Error.of('config.invalid', '/secret/slots/scratch.toml: cannot be written'))
    const answer = await send(gateway.origin, chat('alpha'))
    expect([answer.status, answer.json()]).toMatchObject([503, { error: { code: 'config.invalid' } }])
    expect(answer.text).not.toContain('/secret')
    expect(slots.log).toEqual([])
  })

  it('without such a slot: 404 with the command that binds it', async () => {
    const off = await startGateway(slots, { onDemandSlot: '' }, undefined, { registeredModels: () => registered })
    try {
      const answer = await send(off.origin, chat('alpha'))
      expect([answer.status, answer.json()]).toMatchObject([
        404,
        {
          error: {
            code: 'model_not_found',
            param: 'model',
            message: expect.stringContaining('hal0 slot edit SLOT --model alpha') as string,
            details: { remedy: expect.stringContaining('hal0 slot edit SLOT --model alpha') as string },
          },
        },
      ])
      expect(slots.log).toEqual([])
    } finally {
      await off.stop()
    }
  })
})
