import { describe, expect, it } from 'vitest'
import type { Guard } from '../../src/access/guard.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { err, ok } from '../../src/kernel/result.ts'
import { startFakeWorld } from '../support/gateway-world.ts'
import { send } from '../support/raw-http.ts'

const KEY = `hal0_${'aB3-_'.repeat(9)}`
const messages = [{ role: 'user' as const, content: 'Hi' }]
const chat = { path: '/v1/chat/completions', body: { model: 'agent', messages } }
const refuses: Guard = () => err(Hal0Error.of('auth.required', 'A key is needed'))

describe('CASES 8: a preflight where users are defined', () => {
  const ask = { origin: 'https://app.test', 'access-control-request-method': 'POST' }
  it.each<[string, string, Readonly<Record<string, string>>, number]>([
    ['/v1', '/v1/chat/completions', ask, 204],
    ['/upstream', '/upstream/agent/props', ask, 204],
    ['with what it will send', '/v1/messages', { ...ask, 'access-control-request-headers': 'x-api-key' }, 204],
    ['OPTIONS of no browser', '/v1/models', {}, 401],
    ['OPTIONS without a method', '/v1/models', { origin: 'https://app.test' }, 401],
    ['OPTIONS without an origin', '/v1/models', { 'access-control-request-method': 'POST' }, 401],
  ])('%s', async (_name, path, headers, status) => {
    const world = await startFakeWorld({}, { guard: refuses, more: { isOpenMode: () => false } })
    const got = await send(world.origin, { path, method: 'OPTIONS', headers })
    expect([got.status, got.headers['access-control-allow-origin']]).toEqual([status, '*'])
    if (status === 204) {
      expect(got.headers['access-control-allow-headers']).toBe(headers['access-control-request-headers'] ?? '*')
    }
    const line = await world.gateway.requestLine(1)
    expect([line['key_id'], line['user']]).toEqual([undefined, undefined])
  })

  it('what follows it needs a key', async () => {
    const world = await startFakeWorld({}, { guard: refuses, more: { isOpenMode: () => false } })
    expect((await send(world.origin, { ...chat, headers: { ...ask } })).status).toBe(401)
  })

  it.each([true, undefined])('in open mode (%s) the guard judges it like anything else', async (isOpen) => {
    const more = isOpen === undefined ? {} : { isOpenMode: () => isOpen }
    const world = await startFakeWorld({}, { guard: refuses, more })
    const got = await send(world.origin, { path: '/v1/models', method: 'OPTIONS', headers: ask })
    expect(got.status).toBe(401)
  })
})

describe('CASES 9: what proves who somebody is reaches neither the engine nor the log', () => {
  const headers = {
    authorization: `Bearer ${KEY}`,
    'x-api-key': KEY,
    cookie: `a=1; hal0_session=${KEY}; b=2`,
    'x-trace': `made with ${KEY}`,
    'user-agent': KEY,
    'accept-encoding': `gzip, ${KEY}`,
    'x-request-id': KEY,
  }
  it.each([
    ['/v1', chat],
    ['/upstream', { ...chat, path: '/upstream/agent/v1/chat/completions' }],
    ['a query', { ...chat, path: `/v1/chat/completions?a=1&trace=${KEY}&api_key=${KEY}` }],
    ['a query of /upstream', { ...chat, path: `/upstream/agent/v1/chat/completions?a=1&trace=x${KEY}` }],
  ])('%s', async (_name, request) => {
    const world = await startFakeWorld()
    const got = await send(world.origin, { ...request, headers: { ...headers, 'x-fine': 'hal0_short' } })
    expect(got.status).toBe(200)
    const seen = (await world.engine.state()).last_request
    expect(JSON.stringify(seen)).not.toContain(KEY)
    expect(JSON.stringify(seen)).not.toContain('hal0_session')
    expect(seen?.headers['x-fine']).toBe('hal0_short')
    if (request.path.includes('?')) expect(seen?.url).toMatch(/\?a=1$/)
    await world.gateway.requestLine(1)
    expect(JSON.stringify(world.gateway.lines)).not.toContain(KEY)
  })
})

describe('an engine with all that it has is for administrators', () => {
  const as =
    (role: 'admin' | 'member'): Guard =>
    () =>
      ok({ kind: 'user', userId: `u-${role}`, name: role, role, keyId: 'k-1' })

  it.each([
    ['member', '/upstream/agent/props', 403],
    ['member', '/upstream/agent/v1/chat/completions', 403],
    ['member', '/upstream/nobody/props', 403],
    ['admin', '/upstream/agent/props', 200],
  ] as const)('%s: %s %i', async (role, path, status) => {
    const world = await startFakeWorld({}, { guard: as(role) })
    const got = await send(world.origin, { path })
    expect(got.status).toBe(status)
    if (status === 403) {
      expect(got.json()).toMatchObject({ error: { code: 'auth.forbidden' } })
      expect((await world.engine.state()).last_request?.url ?? '').not.toContain(path.slice('/upstream/agent'.length))
    }
  })
})
