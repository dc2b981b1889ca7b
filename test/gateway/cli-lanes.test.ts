import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  CHECK,
  CONFLICT,
  LANE,
  LANE_EXPLANATION,
  MANUAL,
  NOTICE,
  RESERVATION,
  TIMELINE,
} from '../support/lane-answers.ts'
import { runCli } from '../support/run-cli.ts'
import { errorOf, type StubHal0, startStubHal0 } from '../support/stub-hal0.ts'
import { stubRow } from '../support/stub-slots-api.ts'

let userFolder = ''
let hub: StubHal0
beforeAll(async () => {
  userFolder = await mkdtemp(join(tmpdir(), 'hal0-cli-lanes-'))
})
afterAll(() => rm(userFolder, { recursive: true, force: true }))

const CONFIG = { device: 'gpu-cuda', limits: { max_hours: 8 }, default: { model: 'hello' } }
const BEFORE = {
  default: { model: 'org/big', profile: 'coding' },
  allow_exclusive: true,
  limits: { max_hours: 4 },
  gpus: [0],
  runner: 'cuda',
}
const MADE = {
  reservations: [RESERVATION],
  warnings: [{ kind: 'never_loaded', message: 'org/big was never loaded here' }],
}

beforeEach(async () => {
  hub = await startStubHal0({
    'GET /api/lanes': { lanes: [LANE] },
    'POST /api/lanes': [201, { name: 'gpu0', config: CONFIG }],
    'GET /api/lanes/gpu0': LANE,
    'DELETE /api/lanes/gpu0': {},
    'GET /api/lanes/gpu0/config': { name: 'gpu0', config: BEFORE },
    'GET /api/slots/gpu0': stubRow('gpu0', { managed_by: 'lane' }),
    'PUT /api/lanes/gpu0/config': { name: 'gpu0', config: CONFIG },
    'POST /api/lanes/gpu0/manual': MANUAL,
    'DELETE /api/lanes/gpu0/manual': { ...LANE, manual: null },
    'POST /api/lanes/gpu0/reload': stubRow('gpu0', { managed_by: 'lane' }),
    'GET /api/lanes/gpu0/timeline': TIMELINE,
    'GET /api/lanes/gpu0/explain': LANE_EXPLANATION,
    'POST /api/calendar-token': { token: 'cal_secret', urls: {} },
    'GET /api/reservations': { reservations: [RESERVATION] },
    'POST /api/reservations': [201, MADE],
    'POST /api/reservations/check': CHECK,
    'GET /api/reservations/r1': RESERVATION,
    'PATCH /api/reservations/r1': RESERVATION,
    'DELETE /api/reservations/r1': { ...RESERVATION, status: 'cancelled' },
    'POST /api/reservations/r1/end': { ...RESERVATION, status: 'ended_early' },
    'POST /api/reservations/r1/extend': RESERVATION,
    'POST /api/reservations/r1/approve': RESERVATION,
    'POST /api/reservations/r1/reject': { ...RESERVATION, status: 'rejected' },
    'GET /api/notifications': { unread: 1, notifications: [NOTICE] },
    'POST /api/notifications/read': {},
  })
})
afterEach(() => hub.stop())

const hal0 = (...args: string[]) => runCli([...args, '--url', hub.url], { userFolder, env: { TZ: 'Europe/Berlin' } })
const words = (text: string) => text.match(/"[^"]*"|\S+/g)?.map((word) => word.replace(/^"(.*)"$/, '$1')) ?? []
/** The last request that changes something, else the last one. */
const asked = () => {
  const last = hub.seen.findLast(({ line }) => !line.startsWith('GET ')) ?? hub.seen.at(-1)
  return last?.body === undefined ? last?.line : `${last.line} ${JSON.stringify(last.body)}`
}

describe('each command asks the daemon for the right thing, and says what came of it', () => {
  it.each([
    [
      'lane list',
      'GET /api/lanes',
      /^gpu0\tready\thello \(chat\)\torg\/big \(coding\)\treserved\t2026-12-24 18:00 to 20:00 Europe\/Berlin for anna: org\/big \(coding\), r1\t2026-12-24 23:00 to 2026-12-25 02:00 Europe\/Berlin: exclusive, r2\tfallback: .*out of memory$/m,
    ],
    ['lane list --time-zone UTC', 'GET /api/lanes', /2026-12-24 17:00 to 19:00 UTC/],
    [
      'lane show gpu0',
      'GET /api/lanes/gpu0',
      /^failure\torg\/big \(coding\): out of memory \(slot\.load_failed\); failed 2 times, next try 2026-12-24 18:02 Europe\/Berlin$/m,
    ],
    [
      'lane show gpu0',
      'GET /api/lanes/gpu0',
      /^manual\tnothing by anna, until the next booking \(hal0 lane clear gpu0 takes it back\)$/m,
    ],
    ['lane explain gpu0', 'GET /api/lanes/gpu0/explain', /^rule 1\tchosen\treservation r1 of anna is running$/m],
    [
      'lane explain gpu0 --at 2026-12-24T18:30',
      'GET /api/lanes/gpu0/explain?at=2026-12-24T17%3A30%3A00.000Z',
      /^to change\t\tEnd reservation r1\.\nplan\t2026-12-24 18:30 to 20:00 Europe\/Berlin\torg\/big \(coding\) \[reserved, r1\]\nplan\tfrom 2026-12-24 20:00 Europe\/Berlin\thello \(chat\) \[default\]\nload time\t1m35s\torg\/big \(coding\), as its last loads took$/m,
    ],
    [
      'lane timeline gpu0 --from 2026-12-24T12:00Z --to 2026-12-25T12:00Z',
      'GET /api/lanes/gpu0/timeline?from=2026-12-24T12%3A00%3A00.000Z&to=2026-12-25T12%3A00%3A00.000Z',
      /^was\t2026-12-24 17:57 Europe\/Berlin\tloading: org\/big \(coding\) \[preload\]\nbooked\tactive\t.*r1, "Demo"$/m,
    ],
    [
      'lane load gpu0 org/big --profile coding --until 2026-12-24T18:00',
      'POST /api/lanes/gpu0/manual {"model":"org/big","profile":"coding","until":"2026-12-24T17:00:00.000Z"}',
      /^lane gpu0: it counts from 2026-12-24 20:00 Europe\/Berlin$/m,
    ],
    [
      'lane explain gpu0',
      'GET /api/lanes/gpu0/explain',
      /^may change\t2026-12-24 20:00 Europe\/Berlin\tReservation r1 ends\.$/m,
    ],
    ['lane unload gpu0', 'POST /api/lanes/gpu0/manual {"model":null}', /^lane gpu0: it counts from/m],
    [
      'lane clear gpu0',
      'DELETE /api/lanes/gpu0/manual',
      /^lane gpu0: no manual choice; org\/big \(coding\) \[reserved\]$/m,
    ],
    ['lane reload gpu0', 'POST /api/lanes/gpu0/reload', /^lane gpu0 is ready with /m],
    [
      'lane create gpu0 --device gpu-cuda --gpus 0,1 --model hello --profile chat --runner cuda --approval required --allow-exclusive --max-hours 8 --release-unused 10 --set limits.min_minutes=5',
      'POST /api/lanes {"default":{"model":"hello","profile":"chat"},"device":"gpu-cuda","runner":"cuda","approval":"required","allow_exclusive":true,"no_show_minutes":10,"limits":{"max_hours":8,"min_minutes":5},"gpus":[0,1],"name":"gpu0"}',
      /^lane gpu0 is made, and org\/big \(coding\) is ready; next: hal0 reservation add gpu0 --start now --for 1h$/m,
    ],
    [
      'lane edit gpu0 --profile chat --max-hours "" --gpus "" --no-allow-exclusive --unset runner',
      'PUT /api/lanes/gpu0/config {"default":{"profile":"chat"},"allow_exclusive":false,"limits":{"max_hours":null},"gpus":[],"runner":null}',
      /^lane gpu0: changed default\.profile, allow_exclusive, limits\.max_hours, gpus, runner$/m,
    ],
    ['lane edit gpu0 --model ""', 'PUT /api/lanes/gpu0/config {"default":null}', /^lane gpu0: changed default$/m],
    ['lane delete gpu0', 'DELETE /api/lanes/gpu0', /^lane gpu0 is deleted$/m],
    [
      'reservation list',
      'GET /api/reservations?limit=5000&status=pending%2Capproved%2Cactive',
      /^r1\tgpu0\tapproved\t2026-12-24 18:00 to 20:00 Europe\/Berlin\torg\/big \(coding\)\tanna\tDemo\t$/m,
    ],
    [
      'reservation list --status pending --status "ended early"',
      'GET /api/reservations?limit=5000&status=pending%2Cended_early',
      /^r1\t/m,
    ],
    ['reservation list --lane gpu0 --mine --all', 'GET /api/reservations?lane=gpu0&limit=5000&mine=true', /^r1\t/m],
    ['reservation show r1', 'GET /api/reservations/r1', /^members\tben$/m],
    [
      'reservation add gpu0 --start 2026-12-24T18:00 --end 20:00 --model org/big --profile coding --title "A demo" --member ben --member eve --owner anna',
      'POST /api/reservations {"lane":"gpu0","start":"2026-12-24T17:00:00.000Z","end":"2026-12-24T19:00:00.000Z","time_zone":"Europe/Berlin","model":"org/big","profile":"coding","exclusive":false,"title":"A demo","members":["ben","eve"],"owner":"anna"}',
      /^reservation r1 on gpu0: approved, 2026-12-24 18:00 to 20:00 Europe\/Berlin, org\/big \(coding\)$/m,
    ],
    [
      'reservation add gpu0 --start "2026-12-07 9:00" --for 1h30m --exclusive --repeat weekly --days Mon,wed --times 8 --time-zone America/New_York',
      'POST /api/reservations {"lane":"gpu0","start":"2026-12-07T14:00:00.000Z","minutes":90,"time_zone":"America/New_York","exclusive":true,"title":"","members":[],"repeat":{"every":"week","count":8,"days":["mon","wed"]}}',
      /^reservation r1/m,
    ],
    [
      'reservation add gpu0 --start 2026-12-07T09:00Z --for 30m --repeat daily --until 2026-12-24',
      'POST /api/reservations {"lane":"gpu0","start":"2026-12-07T09:00:00.000Z","minutes":30,"time_zone":"Europe/Berlin","exclusive":false,"title":"","members":[],"repeat":{"every":"day","until":"2026-12-24"}}',
      /^reservation r1/m,
    ],
    [
      'reservation edit r1 --start 2026-12-25T10:00',
      'PATCH /api/reservations/r1 {"start":"2026-12-25T09:00:00.000Z","end":"2026-12-25T11:00:00.000Z","time_zone":"Europe/Berlin"}',
      /^reservation r1/m,
    ],
    [
      'reservation edit r1 --end 21:00',
      'PATCH /api/reservations/r1 {"end":"2026-12-24T20:00:00.000Z","time_zone":"Europe/Berlin"}',
      /^reservation r1/m,
    ],
    [
      'reservation edit r1 --for 30m --title "" --no-exclusive --no-members',
      'PATCH /api/reservations/r1 {"end":"2026-12-24T17:30:00.000Z","time_zone":"Europe/Berlin","exclusive":false,"title":"","members":[]}',
      /^reservation r1/m,
    ],
    ['reservation cancel r1', 'DELETE /api/reservations/r1', /^reservation r1 on gpu0: cancelled/m],
    ['reservation cancel r1 --series', 'DELETE /api/reservations/r1?series=true', /cancelled/],
    ['reservation end r1', 'POST /api/reservations/r1/end', /^reservation r1 on gpu0: ended early/m],
    ['reservation extend r1 --by 30m', 'POST /api/reservations/r1/extend {"minutes":30}', /approved/],
    ['reservation approve r1 --series', 'POST /api/reservations/r1/approve?series=true', /approved/],
    ['reservation reject r1 --reason "Not now"', 'POST /api/reservations/r1/reject {"reason":"Not now"}', /rejected/],
    ['reservation reject r1', 'POST /api/reservations/r1/reject {}', /rejected/],
    ['reservation notices', 'GET /api/notifications', /^2026-12-24 17:50 Europe\/Berlin\tnew\tgpu0\tr1\tYour booking/m],
    ['reservation notices --read', 'POST /api/notifications/read {"up_to":7}', /^2026-12-24 17:50/m],
  ])('hal0 %s', async (line, request, said) => {
    const run = await hal0(...words(line))
    expect(run.stdout).toMatch(said)
    expect(run.code).toBe(0)
    expect(asked()).toBe(request)
  })
})

describe('--json is what the daemon said, in UTC', () => {
  it.each([
    ['lane list', { lanes: [LANE] }],
    ['lane explain gpu0', LANE_EXPLANATION],
    ['lane unload gpu0', MANUAL],
    ['lane timeline gpu0', TIMELINE],
    ['reservation list', { reservations: [RESERVATION] }],
    ['reservation add gpu0 --start now --for 1h', MADE],
    ['reservation notices', { unread: 1, notifications: [NOTICE] }],
  ])('hal0 %s --json', async (line, answer) => {
    const run = await hal0(...words(line), '--json')
    expect(JSON.parse(run.stdout)).toEqual(answer)
    expect(run.stderr).toBe('')
  })
})

it('what the daemon refuses is told in the times of here', async () => {
  const said = 'lane gpu0 is booked until 2026-12-24T19:00:00.000Z (r1)'
  hub.answers.set('POST /api/lanes/gpu0/manual', [409, errorOf('reservation.state', said)])
  expect((await hal0('lane', 'unload', 'gpu0')).stderr).toMatch(
    /^hal0: lane gpu0 is booked until 2026-12-24 20:00 Europe\/Berlin \(r1\)/,
  )
  expect((await hal0('lane', 'unload', 'gpu0', '--json')).stderr).toContain(said)
})

it('a choice by hand that will never count ends with 1', async () => {
  hub.answers.set('POST /api/lanes/gpu0/manual', { ...MANUAL, effect: 'never', at: null })
  const run = await hal0('lane', 'unload', 'gpu0')
  expect([run.code, run.stdout]).toEqual([1, 'lane gpu0: it will not count: the next booking begins before it could\n'])
})

it('warnings of a booking come before it, on stderr', async () => {
  const run = await hal0('reservation', 'add', 'gpu0', '--start', 'now', '--for', '1h')
  expect(run.stderr).toBe('warning: org/big was never loaded here\n')
  expect(run.stdout).toMatch(/^reservation r1/)
})

it('--check books nothing, tells everything, and ends with 1 when it would fail', async () => {
  const args = ['reservation', 'add', 'gpu0', '--start', '2026-12-24T18:00', '--for', '2h', '--check']
  const run = await hal0(...args)
  expect(run.code).toBe(1)
  expect(run.stdout).toBe(
    `in the way: r9 of ben, 2026-12-24 19:00 to 21:00 Europe/Berlin
limit max_hours: at most 1 hour
it cannot be booked:
  2026-12-24 18:00 to 20:00 Europe/Berlin
`,
  )
  hub.answers.set('POST /api/reservations/check', { ...CHECK, ok: true, conflicts: [], limits: [] })
  const fine = await hal0(...args)
  expect(fine.code).toBe(0)
  expect(fine.stdout).toMatch(/^it can be booked, org\/big \(coding\):\n/)
  expect(hub.seen.map(({ line }) => line)).toEqual(['POST /api/reservations/check', 'POST /api/reservations/check'])
})

it('an overlap names what is in the way, line by line', async () => {
  const conflicts = [CONFLICT, { ...CONFLICT, id: 'r10', owner: null, wanted_start: '2026-12-31T17:00:00.000Z' }]
  const details = {
    conflicts,
    next_free: { start: '2026-12-24T20:00:00.000Z', end: '2026-12-24T22:00:00.000Z' },
    limits: [{ limit: 'max_days_ahead', message: 'it may start until 2026-12-20T17:00:00.000Z' }],
  }
  const said = 'lane gpu0 is booked already: r9 of ben, r10'
  hub.answers.set('POST /api/reservations', [409, errorOf('reservation.overlap', said, details)])
  const args = ['reservation', 'add', 'gpu0', '--start', '2026-12-24T18:00', '--for', '2h']
  const run = await hal0(...args)
  expect(run).toMatchObject({ code: 1, stdout: '' })
  expect(run.stderr).toBe(
    `in the way: r9 of ben, 2026-12-24 19:00 to 21:00 Europe/Berlin (for the one at 2026-12-24 18:00 Europe/Berlin)
in the way: r10, 2026-12-24 19:00 to 21:00 Europe/Berlin (for the one at 2026-12-31 18:00 Europe/Berlin)
hal0: the lane is booked already; it is free from 2026-12-24 21:00 to 23:00 Europe/Berlin. It does not allow it either: max_days_ahead: it may start until 2026-12-20 18:00 Europe/Berlin (reservation.overlap)
  Mend it.
`,
  )
  const json = await hal0(...args, '--json')
  expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'reservation.overlap', details: { conflicts } } })
})

describe('what is typed wrongly is told before anything is asked', () => {
  it.each([
    [
      'reservation add gpu0 --start soon --for 1h',
      /^hal0: --start: "soon" is no time\. \(usage\)\n {2}Write a time as 2026-/,
    ],
    ['reservation add gpu0 --start now', /needs either --end or --for/],
    ['reservation add gpu0 --start now --for 1h --end 18:00', /needs either --end or --for/],
    ['reservation add gpu0 --start 2026-12-24T18:00 --end 2026-12-24T18:00', /--end is not after the start/],
    ['reservation add gpu0 --start now --for 1h --exclusive --model hello', /an exclusive booking loads no model/],
    ['reservation add gpu0 --start now --for 1h --times 3', /--times is about a repeat/],
    ['reservation add gpu0 --start now --for 1h --repeat daily', /A repeat needs either --times or --until/],
    [
      'reservation add gpu0 --start now --for 1h --repeat daily --times 3 --days mon',
      /--days goes with --repeat weekly/,
    ],
    ['reservation add gpu0 --start now --for 1h --repeat weekly --times 3 --days mon,foo', /repeat\.days/],
    ['reservation add gpu0 --start now --for 1h --repeat weekly --until soon', /expected a date such as 2026-12-24/],
    ['reservation add gpu0 --start now --for 1h --time-zone Europe/Berlni', /Did you mean Europe\/Berlin\?/],
    ['reservation add gpu0 --start 2026-03-29T02:30 --for 1h', /there is no 2026-03-29 02:30 in Europe\/Berlin/],
    ['reservation add gpu0 --start now --for 1h --member ""', /--member is empty/],
    ['reservation edit r1', /nothing to change/],
    ['reservation extend r1 --by 30', /--by: "30" is no length of time/],
    ['lane edit gpu0', /nothing to change/],
    ['lane create gpu0 --gpus a', /is no list of GPU numbers/],
    ['lane load gpu0 hello --until ""', /--until is empty/],
    ['lane lsit', /Did you mean list\?/],
    ['lane ls', /did you mean `hal0 lane list`/],
    ['book gpu0', /did you mean `hal0 reservation add`/],
  ])('hal0 %s', async (line, said) => {
    const run = await hal0(...words(line))
    expect(run.stderr).toMatch(said)
    expect(run.code).toBe(2)
    expect(hub.seen).toEqual([])
  })
})

it('a time that there is twice is the first, and says so', async () => {
  const run = await hal0('lane', 'explain', 'gpu0', '--at', '2026-10-25T02:30')
  expect(run.stderr).toMatch(/^--at: the clocks of Europe\/Berlin show "2026-10-25T02:30" twice; the first is taken/)
  expect(asked()).toBe('GET /api/lanes/gpu0/explain?at=2026-10-25T00%3A30%3A00.000Z')
})

it('a calendar address says what ended, and is alone on stdout', async () => {
  const run = await hal0('lane', 'calendar', 'gpu0')
  expect(run.stdout).toBe(`${hub.url}/api/lanes/gpu0/calendar.ics?token=cal_secret\n`)
  expect(run.stderr).toMatch(/^This made a new token: every feed address of yours that was made before has ended/)
  expect(run.stderr).not.toContain('cal_secret')
  hub.answers.delete('GET /api/lanes/gpu0')
  hub.seen.length = 0
  expect((await hal0('lane', 'calendar', 'gpu0')).code).toBe(1)
  // A slip in the name ends no token.
  expect(hub.seen.map(({ line }) => line)).toEqual(['GET /api/lanes/gpu0'])
})

it('nothing there: stdout is empty, stderr says what helps', async () => {
  hub.answers.set('GET /api/lanes', { lanes: [] })
  hub.answers.set('GET /api/reservations', { reservations: [] })
  hub.answers.set('GET /api/notifications', { unread: 0, notifications: [] })
  hub.answers.set('GET /api/lanes/gpu0/timeline', { ...TIMELINE, past: [], plan: [], reservations: [] })
  expect(await hal0('lane', 'list')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'no lanes; `hal0 lane create NAME` makes one\n',
  })
  expect(await hal0('reservation', 'list')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('--all'),
  })
  expect(await hal0('reservation', 'notices', '--read')).toEqual({ code: 0, stdout: '', stderr: 'no notices\n' })
  expect(await hal0('lane', 'timeline', 'gpu0')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^nothing in 2026-12-24 13:00 to/),
  })
})
