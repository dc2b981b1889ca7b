import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { errorBodySchema } from '../../src/contract/error-body.ts'
import { operationSchema } from '../../src/contract/operation.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { stubRow } from '../support/stub-slots-api.ts'

let api: TestApi
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.stop())

const get = (path: string, init?: RequestInit) => fetch(api.url + path, init)
const post = (path: string, init?: RequestInit) => fetch(api.url + path, { method: 'POST', ...init })

/** The one operation the API asked the slots for, once it has. */
async function nextCall() {
  return await expect
    .poll(() => api.slots.calls.length)
    .toBeGreaterThan(0)
    .then(() => api.slots.calls.shift())
}

describe('reading', () => {
  it('lists slots in name order and shows one', async () => {
    expect(await (await get('/api/slots')).json()).toEqual({ slots: [api.slots.row('agent'), api.slots.row('coder')] })
    const one = await get('/api/slots/agent')
    expect(await one.json()).toEqual(api.slots.row('agent'))
    expect(one.headers.get('cache-control')).toBe('no-store')
    expect(one.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{16}_[0-9a-z]+$/)
  })

  it('shows the state record with the failure', async () => {
    const failure = {
      code: 'slot.spawn_failed',
      message: 'no',
      cause: null,
      line: 'oh',
      remedy: 'do',
      at: '2026-01-01T00:00:00.000Z',
    }
    api.slots.set(stubRow('agent', { state: 'error', failure, message: 'broken' }))
    expect(await (await get('/api/slots/agent/state')).json()).toEqual({
      name: 'agent',
      state: 'error',
      model_id: 'hello',
      port: 8081,
      updated_at: '2026-01-01T00:00:00.000Z',
      message: 'broken',
      extra: { failure },
    })
  })

  it('answers health and status', async () => {
    expect(await (await get('/api/health')).json()).toEqual({ status: 'ok', version: '1.2.3' })
    expect(await (await get('/api/status')).json()).toMatchObject({
      version: '1.2.3',
      url: api.url,
      home: '/tmp/home',
      pid: process.pid,
      uptime_s: expect.any(Number),
      slots: { total: 2, by_state: { ready: 1, offline: 1 } },
      in_flight: 2,
      queued: 1,
      settings_problem: null,
      history_problem: null,
      notify_problem: null,
    })
  })

  it('answers HEAD without a body, on event streams too', async () => {
    for (const path of ['/api/slots', '/api/slots/agent/state/stream', '/api/slots/agent/logs/stream']) {
      const response = await get(path, { method: 'HEAD' })
      expect([response.status, await response.text()]).toEqual([200, ''])
    }
  })
})

describe('load, unload, restart', () => {
  it('answers with the end state', async () => {
    const answer = post('/api/slots/coder/load')
    ;(await nextCall())?.resolve(stubRow('coder'))
    const response = await answer
    expect([response.status, await response.json()]).toEqual([200, stubRow('coder')])
  })

  it.each([
    ['unload', '', 30_000],
    ['unload', '?drain_s=0', 0],
    ['restart', '?drain_s=1.5', 1_500],
    ['restart', '?drain_s=3600', 3_600_000],
  ])('%s%s drains %i ms', async (kind, query, drainMs) => {
    const answer = post(`/api/slots/agent/${kind}${query}`)
    const call = await nextCall()
    expect(call).toMatchObject({ kind, name: 'agent', request: { drainMs } })
    call?.resolve(stubRow('agent', { state: 'offline' }))
    expect(await (await answer).json()).toMatchObject({ state: 'offline' })
  })

  it('wait=0 answers 202 at once; the operation can be followed to its end', async () => {
    const response = await post('/api/slots/coder/load?wait=0')
    const operation = operationSchema.parse(await response.json())
    expect(response.status).toBe(202)
    expect(operation).toMatchObject({ kind: 'load', slot: 'coder', state: 'running', finished_at: null, result: null })
    const location = response.headers.get('location') ?? ''
    expect(location).toBe(`/api/operations/${operation.id}`)
    ;(await nextCall())?.resolve(stubRow('coder'))
    await expect
      .poll(async () => (await get(location)).json())
      .toMatchObject({ state: 'done', result: stubRow('coder') })
  })

  it('wait that elapses answers 202 and cancels nothing', async () => {
    const response = await post('/api/slots/coder/load?wait=0.05')
    expect(response.status).toBe(202)
    const { id } = operationSchema.parse(await response.json())
    const error = Hal0Error.of('slot.spawn_failed', 'no such program')
    ;(await nextCall())?.reject(error)
    await expect
      .poll(async () => (await get(`/api/operations/${id}`)).json())
      .toMatchObject({ state: 'failed', error: { code: 'slot.spawn_failed', message: 'no such program' } })
  })

  it('a wait that is long enough gives the end state', async () => {
    const answer = post('/api/slots/coder/load?wait=60')
    ;(await nextCall())?.resolve(stubRow('coder'))
    expect((await answer).status).toBe(200)
  })

  it('a caller that leaves cancels nothing', async () => {
    const leaving = new AbortController()
    const answer = post('/api/slots/coder/load', { signal: leaving.signal })
    const call = await nextCall()
    leaving.abort()
    await expect(answer).rejects.toThrow()
    call?.resolve(stubRow('coder'))
    expect((await get('/api/health')).status).toBe(200)
    expect(api.errors).toEqual([])
  })

  it('passes the error of the slot on, with Retry-After where it cures itself', async () => {
    const answer = post('/api/slots/coder/load')
    ;(await nextCall())?.reject(Hal0Error.of('slot.unloading', 'it stops', { retryAfterS: 7 }))
    const response = await answer
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('7')
    expect(await response.json()).toMatchObject({ error: { code: 'slot.unloading', details: { retry_after_s: 7 } } })
  })

  it.each(['/api/slots/nope', '/api/nowhere', '/api/slots/agent/logs?lines=x'])(
    'the request id of an error leads to a line of the log: %s',
    async (path) => {
      const response = await get(path)
      const { error } = (await response.json()) as { error: { details: { request_id: string } } }
      expect(error.details.request_id).toMatch(/^req_/)
      const facts = { request_id: error.details.request_id, status: response.status }
      expect(api.infos.map(([line]) => line)).toContainEqual(expect.objectContaining(facts))
    },
  )

  it('answers what is not ours as internal: without its text, logged under the same request id', async () => {
    const answer = post('/api/slots/coder/load')
    ;(await nextCall())?.reject(new Error('secret path /home/x'))
    const response = await answer
    const text = await response.text()
    expect(response.status).toBe(500)
    expect(text).not.toContain('secret')
    const requestId = JSON.parse(text).error.details.request_id
    expect(requestId).toBe(response.headers.get('x-request-id'))
    expect(api.errors.map(([facts]) => facts)).toContainEqual(expect.objectContaining({ request_id: requestId }))
  })
})

describe('errors', () => {
  it.each([
    ['POST', '/api/slots/agent/unload?drain_s=abc', 422, 'validation.invalid', 'drain_s'],
    ['POST', '/api/slots/agent/unload?drain_s=', 422, 'validation.invalid', 'drain_s'],
    ['POST', '/api/slots/agent/unload?drain_s=3600.001', 422, 'validation.invalid', 'drain_s'],
    ['POST', '/api/slots/agent/unload?drain_s=-1', 422, 'validation.invalid', 'drain_s'],
    ['POST', '/api/slots/agent/unload?drain_s=1&drain_s=2', 422, 'validation.invalid', 'drain_s'],
    ['POST', '/api/slots/agent/unload?drain=0', 422, 'validation.invalid', 'drain'],
    ['POST', '/api/slots/agent/load?drain_s=0', 422, 'validation.invalid', 'drain_s'],
    ['POST', '/api/slots/agent/load?wait=0x10', 422, 'validation.invalid', 'wait'],
    ['POST', '/api/slots/agent/restart?force=true', 422, 'validation.invalid', 'force'],
    ['GET', '/api/slots/agent/logs?lines=0', 422, 'validation.invalid', 'lines'],
    ['GET', '/api/slots/agent/logs?lines=1.5', 422, 'validation.invalid', 'lines'],
    ['GET', '/api/events?limit=1001', 422, 'validation.invalid', 'limit'],
    ['GET', '/api/slots/nope', 404, 'slot.not_found', null],
    ['GET', '/api/slots/Bad%20Name%2F..', 404, 'slot.not_found', null],
    ['GET', '/api/slots/%E0%A4%A', 404, 'slot.not_found', null],
    ['POST', '/api/slots/nope/load', 404, 'slot.not_found', null],
    ['POST', '/api/slots/nope/load?wait=0', 404, 'slot.not_found', null],
    ['GET', '/api/operations/nope', 404, 'request.invalid', null],
    ['GET', '/api', 404, 'request.invalid', null],
    ['GET', '/api/slots/agent/nothing', 404, 'request.invalid', null],
    ['GET', '/api/slots/', 404, 'request.invalid', null],
  ])('%s %s: %i %s %s', async (method, path, status, code, param) => {
    const response = await fetch(api.url + path, { method })
    expect(await response.json()).toMatchObject({ error: { code, param } })
    expect(response.status).toBe(status)
    expect(api.slots.calls).toEqual([])
  })

  it('names every wrong field at once', async () => {
    const response = await post('/api/slots/agent/unload?wait=x&drain_s=y')
    const { error } = errorBodySchema.parse(await response.json())
    expect(error.details['fields']).toEqual([
      { param: 'wait', message: 'expected a number from 0 to 86400' },
      { param: 'drain_s', message: 'expected a number from 0 to 3600' },
    ])
  })

  it.each([
    ['DELETE', '/api/health', 'GET, HEAD'],
    ['GET', '/api/slots/agent/load', 'POST'],
    ['PUT', '/api/slots/agent', 'DELETE, GET, HEAD'],
    ['OPTIONS', '/api/slots', 'GET, HEAD, POST'],
    ['POST', '/api/models/org%2Fname', 'DELETE, GET, HEAD, PUT'],
  ])('%s %s: 405, Allow: %s, no CORS', async (method, path, allow) => {
    const response = await fetch(api.url + path, { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
    expect(errorBodySchema.safeParse(await response.json()).success).toBe(true)
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
  })
})

describe('the guard stands before every route', () => {
  const refused = (headers: Record<string, string>, path = '/api/slots') =>
    new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const request = httpRequest({ port: api.port, host: '127.0.0.1', path, headers }, (response) => {
        let body = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          body += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode, body }))
      })
      request.on('error', reject).end()
    })

  it.each([
    [{ host: 'evil.com' }, 'host'],
    [{ origin: 'http://evil.com' }, 'origin'],
    [{ 'x-forwarded-for': '1.2.3.4' }, 'x-forwarded-for'],
    [{ 'sec-fetch-site': 'cross-site' }, 'sec-fetch-site'],
  ])('%j', async (headers, param) => {
    const { status, body } = await refused(headers)
    expect(status).toBe(401)
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'auth.required', param } })
  })

  it('also before what does not exist', async () => {
    expect((await refused({ host: 'evil.com' }, '/api/nothing')).status).toBe(401)
  })

  it('sees a repeated Host', async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(api.port, '127.0.0.1', () => {
        socket.write('GET /api/slots HTTP/1.1\r\nHost: localhost\r\nHost: evil.com\r\nConnection: close\r\n\r\n')
      })
      let text = ''
      socket.on('data', (chunk) => {
        text += String(chunk)
      })
      socket.on('end', () => resolve(text)).on('error', reject)
    })
    expect(answer).toMatch(/^HTTP\/1\.1 40[01] /)
  })
})

describe('OpenAPI', () => {
  interface Document {
    openapi: string
    paths: Record<
      string,
      Record<string, { responses: Record<string, unknown>; parameters?: { in: string; name: string }[] }>
    >
  }

  it('lists every route, each with the error body, and every route answers bad input in that shape', async () => {
    const document = (await (await get('/api/openapi.json')).json()) as Document
    expect(document.openapi).toBe('3.1.0')
    const routes = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, route]) => ({ method, path, route })),
    )
    expect(routes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
      'delete /api/keys/{key}',
      'delete /api/lanes/{name}',
      'delete /api/lanes/{name}/manual',
      'delete /api/models/{id}',
      'delete /api/models/{id}/pull',
      'delete /api/profiles/{name}',
      'delete /api/reservations/{id}',
      'delete /api/session',
      'delete /api/slots/{name}',
      'delete /api/users/{user}',
      'get /api/audit',
      'get /api/capacity',
      'get /api/comfyui/status',
      'get /api/config/validate',
      'get /api/dispatch/explain',
      'get /api/events',
      'get /api/hardware',
      'get /api/health',
      'get /api/keys',
      'get /api/lanes',
      'get /api/lanes/{name}',
      'get /api/lanes/{name}/calendar.ics',
      'get /api/lanes/{name}/config',
      'get /api/lanes/{name}/explain',
      'get /api/lanes/{name}/timeline',
      'get /api/models',
      'get /api/models/{id}',
      'get /api/models/{id}/pull',
      'get /api/models/{id}/pull/stream',
      'get /api/notifications',
      'get /api/openapi.json',
      'get /api/operations/{id}',
      'get /api/profiles',
      'get /api/profiles/export',
      'get /api/profiles/{name}',
      'get /api/pulls',
      'get /api/reservations',
      'get /api/reservations/{id}',
      'get /api/runners',
      'get /api/session',
      'get /api/settings',
      'get /api/slots',
      'get /api/slots/{name}',
      'get /api/slots/{name}/config',
      'get /api/slots/{name}/loads',
      'get /api/slots/{name}/logs',
      'get /api/slots/{name}/logs/stream',
      'get /api/slots/{name}/resolved',
      'get /api/slots/{name}/state',
      'get /api/slots/{name}/state/stream',
      'get /api/status',
      'get /api/usage',
      'get /api/users',
      'get /api/users/{user}',
      'get /metrics',
      'patch /api/reservations/{id}',
      'patch /api/slots/{name}/defaults',
      'patch /api/users/{user}',
      'post /api/calendar-token',
      'post /api/comfyui/pin',
      'post /api/comfyui/switchover',
      'post /api/keys',
      'post /api/lanes',
      'post /api/lanes/{name}/manual',
      'post /api/lanes/{name}/reload',
      'post /api/models',
      'post /api/models/inspect',
      'post /api/models/scan',
      'post /api/models/{id}/pull',
      'post /api/notifications/read',
      'post /api/profiles',
      'post /api/profiles/import',
      'post /api/reservations',
      'post /api/reservations/check',
      'post /api/reservations/{id}/approve',
      'post /api/reservations/{id}/end',
      'post /api/reservations/{id}/extend',
      'post /api/reservations/{id}/reject',
      'post /api/session',
      'post /api/session/set-up',
      'post /api/slots',
      'post /api/slots/reseed',
      'post /api/slots/{name}/load',
      'post /api/slots/{name}/rename',
      'post /api/slots/{name}/restart',
      'post /api/slots/{name}/swap',
      'post /api/slots/{name}/unload',
      'post /api/users',
      'put /api/lanes/{name}/config',
      'put /api/models/{id}',
      'put /api/profiles/{name}',
      'put /api/slots/{name}/config',
    ])
    for (const { method, path, route } of routes) {
      expect(Object.keys(route.responses)).toContain('default')
      const bad = [
        ...(path.includes('{') ? [{ method, path: path.replace(/\{\w+\}/, 'nope') }] : []),
        ...(route.parameters?.some((p) => p.in === 'query')
          ? [{ method, path: `${path.replace(/\{\w+\}/, 'agent')}?zz=1` }]
          : []),
        { method: 'patch', path: path.replace(/\{\w+\}/, 'agent') },
      ]
      for (const { method: verb, path: target } of bad) {
        const response = await fetch(api.url + target, { method: verb.toUpperCase() })
        const body = errorBodySchema.safeParse(await response.json())
        expect([target, response.status >= 400 && response.status < 500, body.success]).toEqual([target, true, true])
      }
    }
  })

  it('gives parameters their types and bounds', async () => {
    const document = (await (await get('/api/openapi.json')).json()) as Document
    expect(document.paths['/api/slots/{name}/unload']?.['post']?.parameters).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          name: 'drain_s',
          in: 'query',
          schema: { type: 'number', minimum: 0, maximum: 3600 },
        }),
        expect.objectContaining({ name: 'name', in: 'path', required: true }),
      ]),
    )
  })
})
