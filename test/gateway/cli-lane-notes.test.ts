import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { KEY_MADE, LANE, NOTICE, RESERVATION, TIMELINE, USER } from '../support/lane-answers.ts'
import { runCli } from '../support/run-cli.ts'
import { errorOf, type StubHal0, startStubHal0 } from '../support/stub-hal0.ts'
import { stubRow } from '../support/stub-slots-api.ts'

// What the command line says of lanes and bookings beside what it was asked for.

let userFolder = ''
let hub: StubHal0
beforeAll(async () => {
  userFolder = await mkdtemp(join(tmpdir(), 'hal0-cli-notes-'))
})
afterAll(() => rm(userFolder, { recursive: true, force: true }))

const HELLO = { kind: 'model', model: 'hello', profile: 'chat' } as const
const NEW = { ...LANE, phase: 'ready', target: HELLO, reason: 'default', is_fallback: false, failures: [] } as const
const CONFIG = { device: 'gpu-cuda', approval: 'none', default: { model: 'hello' } }
const SESSION = {
  ...{ kind: 'key', role: 'member', user: { ...USER, time_zone: 'Asia/Kolkata' } },
  ...{ state: 'users', lock: null, needs_set_up: false, expires_at: null },
}

beforeEach(async () => {
  hub = await startStubHal0({
    'GET /api/session': SESSION,
    'POST /api/lanes': [201, { name: 'gpu0', config: CONFIG }],
    'GET /api/lanes': { lanes: [LANE] },
    'GET /api/lanes/gpu0': NEW,
    'GET /api/lanes/gpu0/config': { name: 'gpu0', config: CONFIG },
    'PUT /api/lanes/gpu0/config': { name: 'gpu0', config: CONFIG },
    'GET /api/lanes/gpu0/timeline': TIMELINE,
    'GET /api/slots': { slots: [stubRow('gpu0', { managed_by: 'lane', model_id: 'hello', file_model_id: null })] },
    'GET /api/slots/gpu0': stubRow('gpu0', { managed_by: 'lane' }),
    'GET /api/reservations/r1': RESERVATION,
    'PATCH /api/reservations/r1': RESERVATION,
    'POST /api/reservations': [201, { reservations: [RESERVATION], warnings: [] }],
    'GET /api/notifications': { unread: 1, notifications: [NOTICE] },
  })
})
afterEach(() => hub.stop())

const run = (line: string, env: Readonly<Record<string, string>> = { TZ: 'Europe/Berlin' }) =>
  runCli([...(line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', '')), '--url', hub.url], {
    userFolder,
    env,
  })
const lines = () => hub.seen.map(({ line }) => line)

describe('the zone of times without one', () => {
  const HERE = { TZ: '' }
  it('is the own one of the user, also for repeats', async () => {
    const { stdout } = await run(
      'reservation add gpu0 --start 2026-12-24T18:00 --for 1h --repeat daily --times 2',
      HERE,
    )
    expect(hub.seen.at(-1)?.body).toMatchObject({ start: '2026-12-24T12:30:00.000Z', time_zone: 'Asia/Kolkata' })
    expect(stdout).toContain('2026-12-24 22:30 to 2026-12-25 00:30 Asia/Kolkata')
    expect((await run('reservation notices', HERE)).stdout).toMatch(/^2026-12-24 22:20 Asia\/Kolkata/)
  })

  it.each([
    ['lane list --time-zone America/New_York', HERE, /2026-12-24 12:00 to 14:00 America\/New_York/],
    ['lane list', { TZ: 'Europe/Berlin' }, /18:00 to 20:00 Europe\/Berlin/],
  ])('hal0 %s, %j: was said, and nobody is asked', async (line, env, said) => {
    expect((await run(line, env)).stdout).toMatch(said)
    expect(lines()).toEqual(['GET /api/lanes'])
  })

  it.each([
    ['of nobody', { ...SESSION, kind: 'local', user: null }],
    ['of somebody who has none', { ...SESSION, user: { ...USER, time_zone: null } }],
    ['that does not exist here', { ...SESSION, user: { ...USER, time_zone: 'Mars/Olympus' } }],
    ['that cannot be told', [404, errorOf('not_found', 'no such route')] as const],
  ])('%s: is that of the machine', async (_name, session) => {
    hub.answers.set('GET /api/session', session)
    const { code, stdout } = await run('lane list', HERE)
    expect([code, stdout]).toEqual([0, expect.stringMatching(/ for anna: /)])
  })
})

describe('hal0 lane create', () => {
  it('waits until the default is ready', async () => {
    hub.answers.set('GET /api/lanes/gpu0', { ...NEW, phase: 'loading' })
    const made = run('lane create gpu0 --model hello')
    await expect.poll(() => lines().filter((line) => line === 'GET /api/lanes/gpu0').length).toBeGreaterThan(1)
    hub.answers.set('GET /api/lanes/gpu0', NEW)
    expect((await made).stdout).toBe(
      'lane gpu0 is made, and hello (chat) is ready; next: hal0 reservation add gpu0 --start now --for 1h\n',
    )
  })

  it('--no-wait does not', async () => {
    hub.answers.set('GET /api/lanes/gpu0', { ...NEW, phase: 'loading' })
    const { stdout } = await run('lane create gpu0 --model hello --no-wait')
    expect(stdout).toMatch(/^lane gpu0 is made, and hello \(chat\) is being loaded/)
  })

  it('without a default: a booking needs a model', async () => {
    hub.answers.set('GET /api/lanes/gpu0', { ...NEW, phase: 'off', target: { kind: 'nothing' } })
    const { stdout } = await run('lane create gpu0')
    expect(stdout).toBe('lane gpu0 is made; next: hal0 reservation add gpu0 --start now --for 1h --model ID\n')
  })

  it('says at once that a program is missing, and what helps', async () => {
    const problem = 'runner "cuda" cannot start: no program "llama-server" on PATH; install it'
    hub.answers.set('GET /api/slots/gpu0', stubRow('gpu0', { managed_by: 'lane', config_problem: problem }))
    hub.answers.set('GET /api/lanes/gpu0', { ...NEW, phase: 'waiting' })
    const { code, stdout, stderr } = await run('lane create gpu0 --device gpu-cuda --model hello')
    expect([code, stdout]).toEqual([0, 'lane gpu0 is made\n'])
    expect(stderr).toMatch(/^lane gpu0 cannot load a model like this: runner "cuda" cannot start: .*\n.*lane reload/)
  })

  it('says that the load failed', async () => {
    const failures = [{ ...LANE.failures[0], target: HELLO }]
    hub.answers.set('GET /api/lanes/gpu0', { ...NEW, phase: 'waiting', failures })
    const { stdout, stderr } = await run('lane create gpu0 --model hello')
    expect([stdout, stderr]).toEqual(['lane gpu0 is made\n', expect.stringContaining('out of memory')])
  })
})

it('an edit that changes nothing says so', async () => {
  const { code, stdout } = await run('lane edit gpu0 --approval none --model hello')
  expect([code, stdout]).toEqual([0, 'lane gpu0: nothing has changed; its file said so already\n'])
})

it.each(['lane edit gpu0 --no-allow-exclusive', 'lane create gpu0 --no-wait'])(
  '%s: passes warnings on',
  async (line) => {
    const said = 'r1 (2026-12-24T17:00:00.000Z to 2026-12-24T19:00:00.000Z) stays'
    const answer = { name: 'gpu0', config: { device: 'cpu' }, warnings: [said] }
    hub.answers.set('PUT /api/lanes/gpu0/config', answer)
    hub.answers.set('POST /api/lanes', [201, answer])
    hub.answers.set('GET /api/lanes/gpu0', { ...LANE, warnings: [said] })
    const { code, stderr } = await run(line, { TZ: 'Europe/Berlin' })
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('warning: r1 (2026-12-24 18:00 to 20:00 Europe/Berlin) stays\n'),
    ])
    expect(JSON.parse((await run(`${line} --json`)).stdout)).toMatchObject({ warnings: [said] })
  },
)

it('what a lane ends is not what is told beside it', async () => {
  const past = [{ at: '2026-12-24T16:57:00.000Z', phase: 'draining', target: HELLO, reason: 'preload' }]
  hub.answers.set('GET /api/lanes/gpu0/timeline', { ...TIMELINE, past })
  expect((await run('lane timeline gpu0')).stdout).toMatch(/^was\t.*\tdraining, then hello \(chat\) \[preload\]$/m)
})

it('the slot of a lane has no file that could bind something else', async () => {
  expect((await run('slot list')).stdout).not.toContain('swapped in')
})

it('a calendar address that is refused ends nothing, and claims nothing', async () => {
  hub.answers.set('POST /api/calendar-token', [403, errorOf('auth.forbidden', 'a calendar is somebody’s')])
  const { code, stdout, stderr } = await run('lane calendar gpu0')
  expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(/^hal0: a calendar/)])
})

describe('a whole series', () => {
  const SERIES = ['r0', 'r1', 'r2', 'r3'].map((id, n) => ({
    ...RESERVATION,
    ...{ id, series_id: 's1', status: n === 0 ? 'active' : 'approved', start: `2026-12-2${n + 3}T17:00:00.000Z` },
    ...{ end: `2026-12-2${n + 3}T19:00:00.000Z` },
  }))
  const other = { ...RESERVATION, id: 'r9' }

  it.each([
    ['cancel r1 --series', 'DELETE /api/reservations/r1', 'cancelled'],
    ['approve r1 --series', 'POST /api/reservations/r1/approve', 'approved'],
    ['reject r1 --series', 'POST /api/reservations/r1/reject', 'rejected'],
  ])('hal0 reservation %s: all that it changed, and how many', async (line, route, status) => {
    const before = SERIES.map((row) => (row.id === 'r0' || status !== 'approved' ? row : { ...row, status: 'pending' }))
    const after = before.map((row) => (row.id === 'r0' ? row : { ...row, status }))
    hub.answers.set('GET /api/reservations/r1', before[1] ?? {})
    hub.answers.set('GET /api/reservations', () => ({
      reservations: lines().some((one) => one.startsWith(route)) ? [...after, other] : [...before, other],
    }))
    hub.answers.set(route, after[1] ?? {})
    const { stdout, stderr } = await run(`reservation ${line}`)
    expect(stdout.match(/^reservation (\w+) on gpu0: (\w+)/gm)).toEqual(
      ['r1', 'r2', 'r3'].map((id) => `reservation ${id} on gpu0: ${status}`),
    )
    expect(stderr).toBe(`3 reservations: 3 ${status}\n`)
  })

  it('of one that is of none: itself', async () => {
    hub.answers.set('DELETE /api/reservations/r1', { ...RESERVATION, status: 'cancelled' })
    const { stdout, stderr } = await run('reservation cancel r1 --series --json')
    expect(JSON.parse(stdout)).toMatchObject({ reservations: [{ id: 'r1', status: 'cancelled' }] })
    expect(stderr).toBe('')
  })
})

it.each([
  ['edit r1 --title Demo', 'PATCH /api/reservations/r1'],
  ['extend r1 --by 30m', 'POST /api/reservations/r1/extend'],
])('hal0 reservation %s: an approved booking that waits again by it is told', async (line, route) => {
  hub.answers.set(route, { ...RESERVATION, status: 'pending' })
  const { stdout, stderr } = await run(`reservation ${line}`)
  expect(stderr).toBe("warning: r1 was approved, and by this change waits for an admin's approval again\n")
  expect(stdout).toMatch(/^reservation r1 on gpu0: pending/)
})

it('an end before the start is of the next day, and that is said', async () => {
  const { stderr } = await run('reservation add gpu0 --start 2026-12-24T11:30 --end 11:00')
  expect(stderr).toBe('--end 11:00: it ends on 2026-12-25, the next day\n')
})

describe('who is refused is told what helps', () => {
  const refused = { message: "reservation r1 is not ben's", type: 'permission_error', details: { remedy: 'Mend it.' } }
  const forbidden = { error: { ...refused, param: 'id', code: 'auth.forbidden' } }

  it.each([
    ['end r1', 'POST /api/reservations/r1/end'],
    ['edit r1 --title x', 'PATCH /api/reservations/r1'],
    ['cancel r1', 'DELETE /api/reservations/r1'],
  ])("hal0 reservation %s of another's booking", async (line, route) => {
    hub.answers.set(route, [403, forbidden])
    expect((await run(`reservation ${line}`)).stderr).toMatch(/\n {2}Ask its owner, anna, or an admin to do it\.\n$/)
  })

  it('the first user is no admin', async () => {
    const error = {
      ...refused,
      message: 'The first user has to be an admin.',
      param: 'role',
      code: 'validation.invalid',
    }
    hub.answers.set('POST /api/users', [422, { error }])
    expect((await run('user create bob')).stderr).toMatch(/\n {2}Make an admin: `hal0 user create bob --admin`\.\n$/)
  })

  // No field is wrong where the last admin has to stay.
  it.each([
    [
      'user delete bob',
      'DELETE',
      'user',
      /\n {2}Make one with `hal0 user edit NAME --role admin`\. Who wants no users/,
    ],
    ['user edit bob --disable', 'PATCH', 'disabled', /\n {2}Make one with `hal0 user edit NAME --role admin`\.\n$/],
    ['user edit bob --role member', 'PATCH', 'role', /\n {2}Make one with `hal0 user edit NAME --role admin`\.\n$/],
  ])('hal0 %s of the last admin', async (line, method, param, said) => {
    const error = { ...refused, message: 'bob is the last admin.', param, code: 'validation.invalid' }
    hub.answers.set(`${method} /api/users/bob`, [422, { error }])
    expect((await run(line)).stderr).toMatch(said)
  })

  it('an address for other clients', async () => {
    const { code, stderr } = await runCli(['lane', 'list'], { userFolder, env: { HAL0_API_URL: `${hub.url}/v1/` } })
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`leave /v1 out, which is for other clients: ${hub.url}.`),
    ])
  })
})

it("somebody's only key is revoked: says so", async () => {
  const { key } = KEY_MADE
  hub.answers.set('GET /api/keys', { keys: [key] })
  hub.answers.set('DELETE /api/keys/hal0_abcdefg', { ...key, revoked_at: '2026-12-24T10:00:00.000Z' })
  expect((await run('key revoke hal0_abcdefg')).stderr).toBe(
    'it was the only key of anna; an admin makes another: hal0 key create NAME --user anna\n',
  )
  hub.answers.set('GET /api/keys', { keys: [key, { ...key, id: 'k2' }] })
  expect((await run('key revoke hal0_abcdefg')).stderr).toBe('')
})
