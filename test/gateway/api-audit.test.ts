import type { IncomingMessage } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Caller } from '../../src/access/caller.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { err, ok } from '../../src/kernel/result.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { AUDIT_ROW } from '../support/stub-lane-ports.ts'

const callers: Readonly<Record<string, Caller>> = {
  bob: { kind: 'user', userId: 'u2', name: 'bob', role: 'member', keyId: 'k2' },
  ada: { kind: 'user', userId: 'u1', name: 'ada', role: 'admin', keyId: 'k1' },
  eve: { kind: 'user', userId: 'u3', name: 'eve', role: 'admin', keyId: 'k3' },
}

let api: TestApi
beforeEach(async () => {
  api = await startApi({
    guard: ({ headers }: IncomingMessage) => {
      const caller = callers[headers.authorization ?? '']
      return caller === undefined ? err(Hal0Error.of('auth.required', 'a key is needed')) : ok(caller)
    },
  })
})
afterEach(() => api.stop())

function ask(who: string, line: string, body?: unknown): Promise<Response> {
  const [method = '', path = ''] = line.split(' ')
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  return fetch(api.url + path, {
    method,
    headers: { authorization: who, ...json },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

describe('GET /api/audit', () => {
  it('answers admins only', async () => {
    const answer = await ask('ada', 'GET /api/audit')
    expect([answer.status, await answer.json()]).toEqual([200, { audit: [AUDIT_ROW], next: null }])
    expect((await ask('bob', 'GET /api/audit')).status).toBe(403)
    expect((await ask('nobody', 'GET /api/audit')).status).toBe(401)
  })

  it.each([
    ['', { limit: 100 }],
    ['?actor=ann&type=access&limit=5&before=17', { actor: 'ann', type: 'access', before: 17, limit: 5 }],
    [
      '?since=2026-01-01&until=2026-01-02T01:00:00Z',
      { sinceMs: Date.parse('2026-01-01'), untilMs: Date.parse('2026-01-02T01:00:00Z'), limit: 100 },
    ],
  ])('asks for %s', async (query, asked) => {
    await ask('ada', `GET /api/audit${query}`)
    const [line = ''] = api.ports.asked
    expect(JSON.parse(line.replace('audit.list ', ''))).toEqual(asked)
  })

  it.each([
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['before=0', 'before'],
    ['before=x', 'before'],
    ['since=yesterday', 'since'],
    ['since=2026-01-02&until=2026-01-02', 'since'],
    ['actor=', 'actor'],
    [`type=${'x'.repeat(65)}`, 'type'],
    ['who=ada', 'who'],
  ])('refuses ?%s', async (query, param) => {
    const answer = await ask('ada', `GET /api/audit?${query}`)
    expect([answer.status, await answer.json()]).toMatchObject([422, { error: { code: 'validation.invalid', param } }])
    expect(api.ports.asked).toEqual([])
  })
})

describe('what the API writes into the audit', () => {
  it.each<[string, string, unknown, string | undefined]>([
    [
      'ada',
      'PUT /api/lanes/gpu0/config',
      { approval: 'required' },
      'lanes ada did PUT /api/lanes/gpu0/config: approval',
    ],
    ['ada', 'POST /api/lanes', { name: 'gpu1' }, 'lanes ada did POST /api/lanes (made /api/lanes/gpu1): name'],
    ['ada', 'DELETE /api/lanes/gpu0', undefined, 'lanes ada did DELETE /api/lanes/gpu0'],
    ['ada', 'POST /api/lanes/gpu0/manual', { model: null }, 'lanes ada did POST /api/lanes/gpu0/manual: model'],
    ['ada', 'DELETE /api/lanes/gpu0/manual', undefined, 'lanes ada did DELETE /api/lanes/gpu0/manual'],
    ['ada', 'PUT /api/slots/agent/config', { env: { K: 'v' } }, 'slots ada did PUT /api/slots/agent/config: env'],
    [
      'eve',
      'POST /api/reservations/r1/approve',
      undefined,
      'reservations eve did POST /api/reservations/r1/approve, a booking of ada',
    ],
    [
      'eve',
      'POST /api/reservations/r1/reject',
      { reason: 'no' },
      'reservations eve did POST /api/reservations/r1/reject: reason, a booking of ada',
    ],
    [
      'eve',
      'DELETE /api/reservations/r1',
      undefined,
      'reservations eve did DELETE /api/reservations/r1, a booking of ada',
    ],
    // Her own.
    ['ada', 'DELETE /api/reservations/r1', undefined, undefined],
    // A member may, and it is nobody else's.
    ['bob', 'DELETE /api/reservations/r1', undefined, undefined],
    ['ada', 'GET /api/lanes', undefined, undefined],
    ['ada', 'POST /api/users', { name: 'cat' }, undefined],
    ['ada', 'DELETE /api/lanes/nope', undefined, undefined],
    ['ada', 'POST /api/lanes/gpu0/manual', { wrong: 1 }, undefined],
    ['bob', 'GET /api/events', undefined, 'refused GET /api/events'],
    ['bob', 'DELETE /api/lanes/gpu0', undefined, 'refused DELETE /api/lanes/{name}'],
    ['nobody', 'DELETE /api/lanes/gpu0', undefined, undefined],
  ])('%s %s %j: %s', async (who, line, body, row) => {
    await (await ask(who, line, body)).arrayBuffer()
    expect(api.ports.audited).toEqual(row === undefined ? [] : [row])
  })

  it('neither what a body says nor a key in an address', async () => {
    await ask('ada', 'PUT /api/slots/agent/config', { env: { TOKEN: 'hunter2' } })
    await ask('ada', 'DELETE /api/profiles/hal0_abcdefghijklmnopqrstuvwxyz')
    expect(api.ports.audited).toHaveLength(2)
    expect(api.ports.audited.join()).not.toMatch(/hunter2|abcdefghijk/)
  })
})
