import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Guard } from '../../src/access/guard.ts'
import { type Clock, systemClock } from '../../src/kernel/clock.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { err, ok } from '../../src/kernel/result.ts'
import { SECOND_MS } from '../../src/kernel/units.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { open, send } from '../support/raw-http.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { startFakeEngine } from '../support/start-fake.ts'
import { startGateway } from '../support/start-gateway.ts'
import { agentEndpoint, createStubSlots } from '../support/stub-slots.ts'
import { stubRow } from '../support/stub-slots-api.ts'

// Keys are revoked, people are removed and the first user is made while bodies come, requests wait and streams are read.

/** Whoever comes is this, until it is changed; undefined = nobody is let in. */
function changingGuard() {
  let role: 'admin' | 'member' | undefined = 'admin'
  const guard: Guard = () =>
    role === undefined
      ? err(Hal0Error.of('auth.required', 'this key was revoked'))
      : ok({ kind: 'user', userId: 'u1', name: 'ada', role, keyId: 'k1' })
  return {
    guard,
    become(now: typeof role) {
      role = now
    },
  }
}

const left: (() => unknown)[] = []
afterEach(async () => {
  for (const leave of left.splice(0).toReversed()) await leave()
})

async function socketTo(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  left.push(() => socket.destroy())
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

function head(path: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
}

const statusOf = async (socket: Socket): Promise<number> => {
  const [answer] = (await once(socket, 'data')) as [Buffer]
  return Number(answer.toString().split(' ', 2)[1])
}

describe('the management API', () => {
  const body = JSON.stringify({ name: 'eve', role: 'admin' })
  let api: TestApi
  const begin = async (clock?: Clock) => {
    const who = changingGuard()
    api = await startApi({ guard: who.guard, ...(clock === undefined ? {} : { clock }) })
    left.push(() => api.stop())
    return who
  }

  it.each([
    ['goes on', 'admin', 201],
    ['has ended', undefined, 401],
    ['is a member by then', 'member', 403],
  ] as const)('a body that came slowly, of somebody who %s', async (_name, role, status) => {
    const who = await begin()
    const asked = api.ports.asked.length
    const socket = await socketTo(api.port, head('/api/users', body) + body.slice(0, 5))
    // Its head was read: another request that came later is answered.
    expect((await fetch(`${api.url}/api/session`)).status).toBe(200)
    who.become(role)
    socket.write(body.slice(5))
    expect(await statusOf(socket)).toBe(status)
    expect(api.ports.asked.slice(asked).some((call) => JSON.stringify(call).includes('createUser'))).toBe(
      status === 201,
    )
  })

  it('events are told no more to a key that has ended', async () => {
    const who = await begin()
    const response = await fetch(`${api.url}/api/events`, { headers: { accept: 'text/event-stream' } })
    const text = response.text()
    who.become(undefined)
    api.bus.publish({ type: 'test', severity: 'info', source: 'daemon', message: 'private', data: {} })
    expect(await text).not.toContain('private')
  })

  it('who is no admin any more is told the state of a slot as members are', async () => {
    const who = await begin()
    const response = await fetch(`${api.url}/api/slots/agent/state/stream`)
    const reader = response.body?.getReader()
    who.become('member')
    api.slots.set(stubRow('agent', { state: 'error', message: 'cannot read /srv/models/a.gguf' }))
    api.bus.publish({ type: 'test', severity: 'info', source: 'slot:agent', message: '', data: {} })
    let text = ''
    while (!text.includes('"error"')) text += Buffer.from((await reader?.read())?.value ?? []).toString()
    expect(text).not.toContain('/srv')
    await reader?.cancel()
  })

  it('a quiet stream ends at the next sign of life', async () => {
    const clock = new ManualClock()
    const who = await begin(clock)
    const response = await fetch(`${api.url}/api/slots/agent/state/stream`)
    const text = response.text()
    await expect.poll(() => clock.pendingTimers).toBe(1)
    who.become(undefined)
    await clock.advance(15 * SECOND_MS)
    expect(await text).not.toContain('keepalive')
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('the gateway', () => {
  const chat = { path: '/v1/chat/completions', body: { model: 'agent', messages: [{ role: 'user', content: 'Hi' }] } }
  const begin = async (clock?: Clock) => {
    const who = changingGuard()
    const engine = await startFakeEngine({ argv: ['--alias', 'agent'], knobs: { hold_after_tokens: 1 } })
    const slots = createStubSlots({ agent: { endpoint: agentEndpoint(engine), parallel: 1 } })
    const gateway = await startGateway(slots, {}, who.guard, clock === undefined ? {} : { clock })
    left.push(
      () => engine.stop(),
      () => gateway.stop(),
    )
    return { who, engine, slots, gateway }
  }

  it('a request whose key ends while it waits never reaches the engine; one that is served goes on', async () => {
    const { who, engine, slots, gateway } = await begin()
    const served = await open(gateway.origin, { ...chat, body: { ...chat.body, stream: true } })
    await served.until('\n\n')
    const waiting = send(gateway.origin, chat)
    await slots.logged('wait agent', 2)
    who.become(undefined)
    await engine.setKnobs({ hold_after_tokens: null })
    expect(await served.rest()).toContain('[DONE]')
    expect((await waiting).status).toBe(401)
    expect((await engine.state()).counters.inference).toBe(1)
    expect(slots.leases()).toEqual([])
  })

  it('who is no admin any more when their turn comes does not reach the engine itself', async () => {
    const { who, engine, slots, gateway } = await begin()
    const served = await open(gateway.origin, { ...chat, body: { ...chat.body, stream: true } })
    await served.until('\n\n')
    const waiting = send(gateway.origin, { ...chat, path: `/upstream/agent${chat.path}` })
    await slots.logged('wait agent', 2)
    who.become('member')
    await engine.setKnobs({ hold_after_tokens: null })
    await served.rest()
    expect((await waiting).status).toBe(403)
    expect((await engine.state()).counters.inference).toBe(1)
  })

  it.each([
    ['goes on', 'member', 200],
    ['has ended', undefined, 401],
  ] as const)('a body that took a second, of a key that %s', async (_name, role, status) => {
    let laterMs = 0
    const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs }
    const { who, engine, gateway } = await begin(clock)
    await engine.setKnobs({ hold_after_tokens: null })
    const body = JSON.stringify(chat.body)
    const socket = await socketTo(gateway.port, head(chat.path, body) + body.slice(0, 5))
    await expect.poll(() => gateway.gateway.inFlight()).toBe(1)
    who.become(role)
    laterMs = SECOND_MS
    socket.write(body.slice(5))
    expect(await statusOf(socket)).toBe(status)
    expect((await engine.state()).counters.inference).toBe(status === 200 ? 1 : 0)
  })
})
