import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { errorBodySchema } from '../../src/contract/error-body.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import {
  CALENDAR_TOKEN,
  CALENDAR_TOKEN_GONE,
  CHECK,
  KEY,
  LANE,
  LANE_EXPLANATION,
  LANE_MANUAL,
  LANE_TIMELINE,
  NOTIFICATION,
  RESERVATION,
  SESSION,
  USER,
} from '../support/stub-lane-ports.ts'
import { stubRow } from '../support/stub-slots-api.ts'

let api: TestApi
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.stop())

function call(method: string, path: string, body?: unknown): Promise<Response> {
  const init = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  return fetch(api.url + path, { method, ...init })
}

async function errorOf(response: Response) {
  return { status: response.status, ...errorBodySchema.parse(await response.json()).error }
}

const BY = '{"kind":"local_admin"}'
const DAY_MS = 86_400_000
const CALENDAR_ADDRESS = { token: CALENDAR_TOKEN, base_url: 'https://hal0.example.org' }
const T0 = Date.UTC(2026, 0, 1)
const WISH = { lane: 'gpu0', start: '2026-01-01T00:00:00Z', minutes: 30 }
const WISHED = '{"lane":"gpu0","start":"2026-01-01T00:00:00Z","minutes":30,"exclusive":false,"title":"","members":[]}'
const CONFIG = { name: 'gpu0', config: { device: 'cpu' } }
const ROW = { ...RESERVATION, id: 'r9' }
const NOTICES = { unread: 1, notifications: [NOTIFICATION] }

describe('each route asks its port once, and answers with what it says', () => {
  it.each<[string, string, unknown, string, number, unknown, string?]>([
    ['GET', '/api/lanes', undefined, `lanes.rows ${BY}`, 200, { lanes: [LANE] }],
    ['GET', '/api/lanes/gpu0', undefined, `lanes.row "gpu0" ${BY}`, 200, LANE],
    ['DELETE', '/api/lanes/gpu0', undefined, 'laneFiles.remove "gpu0"', 204, undefined],
    ['GET', '/api/lanes/gpu0/config', undefined, 'laneFiles.config "gpu0"', 200, CONFIG],
    [
      'POST',
      '/api/lanes/gpu0/manual',
      { model: null },
      `lanes.setManual "gpu0" {"model":null} ${BY}`,
      200,
      LANE_MANUAL,
    ],
    ['DELETE', '/api/lanes/gpu0/manual', undefined, `lanes.clearManual "gpu0" ${BY}`, 200, LANE],
    [
      'POST',
      '/api/lanes/agent/reload',
      undefined,
      `lanes.reload "agent" ${BY}`,
      200,
      stubRow('agent', { in_flight: 2 }),
    ],
    ['GET', '/api/lanes/gpu0/explain', undefined, 'lanes.explain "gpu0"', 200, LANE_EXPLANATION],
    ['GET', '/api/lanes/gpu0/explain?at=2026-01-01', undefined, `lanes.explain "gpu0" ${T0}`, 200, LANE_EXPLANATION],
    [
      'GET',
      '/api/lanes/gpu0/timeline?from=2026-01-01&to=2026-01-02T00:00:00%2B01:00',
      undefined,
      `lanes.timeline "gpu0" {"fromMs":${T0},"toMs":${T0 + DAY_MS - 3_600_000}} ${BY}`,
      200,
      LANE_TIMELINE,
    ],
    [
      'GET',
      '/api/lanes/gpu0/timeline?to=2026-01-09',
      undefined,
      `lanes.timeline "gpu0" {"fromMs":${T0},"toMs":${T0 + 8 * DAY_MS}} ${BY}`,
      200,
      LANE_TIMELINE,
    ],
    ['GET', '/api/reservations', undefined, `bookings.list {"limit":500} ${BY}`, 200, { reservations: [RESERVATION] }],
    [
      'GET',
      '/api/reservations?lane=gpu0&mine=true&status=approved,active&from=2026-01-01&to=2026-01-02&limit=3',
      undefined,
      `bookings.list {"lane":"gpu0","mine":true,"status":["approved","active"],"fromMs":${T0},"toMs":${T0 + DAY_MS},"limit":3} ${BY}`,
      200,
      { reservations: [RESERVATION] },
    ],
    [
      'POST',
      '/api/reservations',
      WISH,
      `bookings.create ${WISHED} ${BY}`,
      201,
      { reservations: [RESERVATION], warnings: [] },
      '/api/reservations/r1',
    ],
    ['POST', '/api/reservations/check', WISH, `bookings.check ${WISHED} ${BY}`, 200, CHECK],
    ['GET', '/api/reservations/r9', undefined, `bookings.show "r9" ${BY}`, 200, ROW],
    ['PATCH', '/api/reservations/r9', { title: 'x' }, `bookings.change "r9" {"title":"x"} ${BY}`, 200, ROW],
    ['DELETE', '/api/reservations/r9', undefined, `bookings.cancel "r9" {"series":false} ${BY}`, 200, ROW],
    ['DELETE', '/api/reservations/r9?series=true', undefined, `bookings.cancel "r9" {"series":true} ${BY}`, 200, ROW],
    ['POST', '/api/reservations/r9/approve', undefined, `bookings.approve "r9" {"series":false} ${BY}`, 200, ROW],
    [
      'POST',
      '/api/reservations/r9/reject',
      undefined,
      `bookings.reject "r9" {"series":false,"reason":""} ${BY}`,
      200,
      ROW,
    ],
    [
      'POST',
      '/api/reservations/r9/reject?series=true',
      { reason: 'no' },
      `bookings.reject "r9" {"series":true,"reason":"no"} ${BY}`,
      200,
      ROW,
    ],
    ['POST', '/api/reservations/r9/end', undefined, `bookings.end "r9" ${BY}`, 200, ROW],
    ['POST', '/api/reservations/r9/extend', { minutes: 30 }, `bookings.extend "r9" 30 ${BY}`, 200, ROW],
    ['GET', '/api/users', undefined, 'accounts.users', 200, { users: [USER] }],
    [
      'POST',
      '/api/users',
      { name: 'bob' },
      `accounts.createUser {"name":"bob","role":"member"} ${BY}`,
      201,
      { user: { ...USER, name: 'bob' }, key: null },
      '/api/users/bob',
    ],
    ['GET', '/api/users/Ada', undefined, 'accounts.users', 200, USER],
    ['GET', '/api/users/u1', undefined, 'accounts.users', 200, USER],
    ['PATCH', '/api/users/ada', { email: null }, `accounts.changeUser "ada" {"email":null} ${BY}`, 200, USER],
    ['DELETE', '/api/users/ada', undefined, `accounts.removeUser "ada" ${BY}`, 204, undefined],
    ['GET', '/api/keys', undefined, `accounts.keys ${BY}`, 200, { keys: [KEY] }],
    ['GET', '/api/keys?user=ada', undefined, `accounts.keys ${BY} "ada"`, 200, { keys: [KEY] }],
    [
      'POST',
      '/api/keys',
      { name: 'ci' },
      `accounts.createKey {"name":"ci"} ${BY}`,
      201,
      { key: KEY, secret: 'hal0_whole' },
      '/api/keys/k1',
    ],
    [
      'DELETE',
      '/api/keys/hal0_abcdefg',
      undefined,
      `accounts.revokeKey "hal0_abcdefg" ${BY}`,
      200,
      { ...KEY, revoked_at: KEY.created_at },
    ],
    ['GET', '/api/session', undefined, `sessions.info ${BY}`, 200, SESSION],
    ['GET', '/api/notifications', undefined, 'notices.list "local" {"unreadOnly":false,"limit":100}', 200, NOTICES],
    [
      'GET',
      '/api/notifications?unread=true&limit=1',
      undefined,
      'notices.list "local" {"unreadOnly":true,"limit":1}',
      200,
      NOTICES,
    ],
    ['POST', '/api/calendar-token', undefined, `accounts.createCalendarToken ${BY}`, 200, CALENDAR_ADDRESS],
  ])('%s %s %j', async (method, path, body, asks, status, answer, location) => {
    const response = await call(method, path, body)
    const text = await response.text()
    expect([response.status, text === '' ? undefined : JSON.parse(text)]).toEqual([status, answer])
    expect(api.ports.asked).toEqual([asks])
    expect(response.headers.get('location')).toBe(location ?? null)
  })

  it.each<[string, string, unknown, string, string, number, string | null]>([
    [
      'POST',
      '/api/lanes',
      { name: 'gpu1', device: 'cpu' },
      'gpu1',
      'laneFiles.create "gpu1" {"device":"cpu"}',
      201,
      '/api/lanes/gpu1',
    ],
    ['PUT', '/api/lanes/gpu0/config', { runner: null }, 'gpu0', 'laneFiles.update "gpu0" {"runner":null}', 200, null],
  ])(
    '%s %s writes, then asks what the lane has against it',
    async (method, path, body, name, asks, status, location) => {
      const response = await call(method, path, body)
      const answer = { name, config: { device: 'cpu' }, warnings: LANE.warnings }
      expect([response.status, await response.json()]).toEqual([status, answer])
      expect(api.ports.asked).toEqual([asks, `lanes.row "${name}" ${BY}`])
      expect(response.headers.get('location')).toBe(location)
    },
  )

  it('a timeline nobody bounds shows the last day and the week to come', async () => {
    const before = Date.now()
    await call('GET', '/api/lanes/gpu0/timeline')
    const window = /\{"fromMs":(\d+),"toMs":(\d+)\}/.exec(api.ports.asked[0] ?? '')
    const [fromMs = 0, toMs = 0] = (window ?? []).slice(1).map(Number)
    expect([toMs - fromMs, fromMs >= before - DAY_MS]).toEqual([8 * DAY_MS, true])
  })

  it('marks notifications as read, all or up to one, and shows what is not', async () => {
    expect(await (await call('POST', '/api/notifications/read')).json()).toEqual(NOTICES)
    await call('POST', '/api/notifications/read', { up_to: 7 })
    const marked = api.ports.asked.filter((line) => line.startsWith('notices.markRead'))
    expect(marked).toEqual(['notices.markRead "local"', 'notices.markRead "local" 7'])
  })
})

describe('sessions', () => {
  it.each([
    ['POST', '/api/session', { name: 'ada', password: 'correct horse' }, 'sessions.signIn "ada" "POST"'],
    [
      'POST',
      '/api/session/set-up',
      { token: 'once', name: 'ada', password: 'correct horse' },
      'sessions.setUp "ada" "POST"',
    ],
  ])('%s %s gives the cookie', async (method, path, body, asks) => {
    const response = await call(method, path, body)
    expect([response.status, await response.json()]).toEqual([200, SESSION])
    expect(response.headers.get('set-cookie')).toBe('hal0_session=secret; HttpOnly; SameSite=Strict; Path=/')
    expect(api.ports.asked).toEqual([asks])
  })

  it('signing out takes it away', async () => {
    const response = await call('DELETE', '/api/session')
    expect([response.status, response.headers.get('set-cookie')]).toEqual([204, 'hal0_session=; Max-Age=0; Path=/'])
  })

  it('too many tries are told with Retry-After', async () => {
    api.ports.failWith(Hal0Error.of('auth.rate_limited', 'too many', { retryAfterS: 30 }))
    const response = await call('POST', '/api/session', { name: 'ada', password: 'wrong' })
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '30'])
  })
})

describe('the calendar feed', () => {
  const feed = (token: string, lane = 'gpu0') => call('GET', `/api/lanes/${lane}/calendar.ics?token=${token}`)

  it('answers whose token it is, as them', async () => {
    const response = await feed(CALENDAR_TOKEN)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/calendar; charset=utf-8'])
    expect(await response.text()).toMatch(/^BEGIN:VCALENDAR\r\n/)
    expect(api.ports.asked[1]).toMatch(/^bookings\.list \{"lane":"gpu0","fromMs":\d+,"limit":5000\} .*"userId":"u1"/)
  })

  it.each(['', 'nobodys-token', CALENDAR_TOKEN_GONE])('%s: 401, and the token is told to nobody', async (token) => {
    const response = await feed(token)
    const text = await response.text()
    expect([response.status, JSON.parse(text).error.code]).toEqual([401, 'auth.required'])
    const lines = JSON.stringify([text, api.infos, api.warnings, api.errors])
    if (token !== '') expect(lines).not.toContain(token)
    expect(api.ports.asked).toEqual([])
  })

  it('a token with something else in the query is told to nobody either', async () => {
    const response = await call('GET', `/api/lanes/gpu0/calendar.ics?token=${CALENDAR_TOKEN}&token=x&z=1`)
    expect(response.status).toBe(422)
    expect(JSON.stringify([await response.text(), api.infos, api.warnings])).not.toContain(CALENDAR_TOKEN)
  })

  it('of a lane that nobody knows is 404, to those who may know', async () => {
    expect((await feed(CALENDAR_TOKEN, 'nope')).status).toBe(404)
    expect((await feed('nobodys-token', 'nope')).status).toBe(401)
  })
})

describe('a slot that a lane runs', () => {
  const JSON_BODY = { model_id: 'hello' }
  it.each<[string, string, unknown?]>([
    ['POST', '/load'],
    ['POST', '/load?wait=0'],
    ['POST', '/unload?force=true'],
    ['POST', '/restart'],
    ['POST', '/swap', JSON_BODY],
    ['POST', '/rename', { to: 'other' }],
    ['DELETE', '?force=true'],
    ['PUT', '/config', { profile: 'chat' }],
    ['PATCH', '/defaults', { default: true }],
  ])('%s %s is 409 and says what to do', async (method, rest, body) => {
    api.slots.set(stubRow('gpu0', { managed_by: 'lane' }))
    const error = await errorOf(await call(method, `/api/slots/gpu0${rest}`, body))
    expect(error).toMatchObject({ status: 409, code: 'lane.slot_managed' })
    for (const verb of ['load', 'unload', 'reload']) expect(error.details['remedy']).toContain(`hal0 lane ${verb} gpu0`)
    expect([api.ports.asked, api.slots.calls]).toEqual([[], []])
  })

  it('is read as any other, and one that the arbiter unloaded is nobody’s', async () => {
    api.slots.set(stubRow('gpu0', { managed_by: 'lane' }))
    expect(await (await call('GET', '/api/slots/gpu0')).json()).toMatchObject({ managed_by: 'lane' })
    api.slots.set(stubRow('agent', { managed_by: 'arbiter' }))
    expect((await call('POST', '/api/slots/agent/load?wait=0')).status).toBe(202)
  })
})

describe('what is wrong with a request', () => {
  it.each<[string, string, unknown, string]>([
    ['GET', '/api/reservations?status=done', undefined, 'status'],
    ['GET', '/api/reservations?status=', undefined, 'status'],
    ['GET', '/api/reservations?from=2026-01-02&to=2026-01-02', undefined, 'from'],
    ['GET', '/api/reservations?limit=5001', undefined, 'limit'],
    ['GET', '/api/lanes/gpu0/timeline?from=2026-01-01&to=2027-01-03', undefined, 'to'],
    ['GET', '/api/lanes/gpu0/explain?at=noon', undefined, 'at'],
    ['POST', '/api/lanes', { name: 'A B' }, 'name'],
    ['POST', '/api/lanes/gpu0/manual', { modl: 'x' }, 'model'],
    ['POST', '/api/reservations', { ...WISH, end: '2026-01-01T01:00:00Z' }, 'end'],
    ['POST', '/api/reservations/r1/extend', { minutes: 0 }, 'minutes'],
    ['POST', '/api/users', { name: 'ada', password: 'short' }, 'password'],
    ['POST', '/api/session', { name: 'ada' }, 'password'],
    ['DELETE', `/api/keys/hal0_${'k'.repeat(43)}`, undefined, 'key'],
  ])('%s %s %j names %s', async (method, path, body, param) => {
    const error = await errorOf(await call(method, path, body))
    expect(error).toMatchObject({ status: 422, code: 'validation.invalid', param })
    expect(api.ports.asked).toEqual([])
  })

  it.each([
    ['DELETE', `/api/keys/hal0_${'k'.repeat(43)}`],
    ['GET', `/api/key/hal0_${'k'.repeat(43)}`],
    ['PUT', `/api/keys/hal0%5F${'k'.repeat(43)}`],
    ['GET', `/api/users/hal0_${'k'.repeat(43)}`],
  ])('a key in an address reaches neither log nor error: %s %s', async (method, path) => {
    const text = await (await call(method, path)).text()
    expect(JSON.stringify([text, api.infos, api.warnings, api.errors])).not.toContain('k'.repeat(10))
  })

  it('a user that nobody knows is 404', async () => {
    expect(await errorOf(await call('GET', '/api/users/zoe'))).toMatchObject({ status: 404, code: 'request.invalid' })
  })
})
