import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { homeAt } from '../../src/files/home.ts'
import { KEY_MADE, LANE, RESERVATION, USER } from '../support/lane-answers.ts'
import { repoRoot, runCli } from '../support/run-cli.ts'
import { errorOf, type StubHal0, startStubHal0 } from '../support/stub-hal0.ts'
import { stubRow } from '../support/stub-slots-api.ts'

let userFolder = ''
let hub: StubHal0
beforeAll(async () => {
  userFolder = await mkdtemp(join(tmpdir(), 'hal0-cli-people-'))
})
afterAll(() => rm(userFolder, { recursive: true, force: true }))

const DOOR = { state: 'open', lock: null, needs_set_up: true }
const SESSION = { kind: 'open', role: 'admin', user: null, ...DOOR, expires_at: null }
const { secret: SECRET } = KEY_MADE
const OTHER = { ...RESERVATION, id: 'r2', owner: { id: 'u2', name: 'ben' } }
const AUDIT = [
  {
    id: 8,
    at: '2026-12-24T17:00:05.000Z',
    type: 'access.signed_in',
    actor: { id: 'u1', name: 'anna' },
    message: 'anna signed in from 127.0.0.1',
    data: { address: '127.0.0.1' },
  },
  { id: 7, at: '2026-12-24T16:00:00.000Z', type: 'access.set_up_failed', actor: null, message: 'no', data: {} },
]

beforeEach(async () => {
  hub = await startStubHal0({
    'GET /api/session': SESSION,
    'GET /api/users': {
      users: [USER, { ...USER, name: 'ben', role: 'member', disabled_at: '2026-12-02T10:00:00.000Z' }],
    },
    'POST /api/users': [201, { user: USER, key: KEY_MADE }],
    'PATCH /api/users/anna': USER,
    'DELETE /api/users/anna': {},
    // Once it was looked at, its owner is gone.
    'GET /api/reservations': () => ({
      reservations: hub.seen.some(({ line }) => line.endsWith('/api/users/anna')) ? [OTHER] : [RESERVATION, OTHER],
    }),
    'GET /api/audit': { audit: AUDIT, next: 7 },
    'GET /api/keys': { keys: [KEY_MADE.key] },
    'POST /api/keys': [201, KEY_MADE],
    'DELETE /api/keys/hal0_abcdefg': { ...KEY_MADE.key, revoked_at: '2026-12-24T10:00:00.000Z' },
    'GET /api/status': {
      version: '1.2.3',
      url: hub?.url ?? '',
      home: '/x',
      pid: 1,
      started_at: '2026-12-24T10:00:00.000Z',
      uptime_s: 5,
      slots: { total: 1, by_state: { ready: 1 } },
      in_flight: 0,
      queued: 0,
      settings_problem: null,
      history_problem: null,
      notify_problem: null,
    },
    'GET /api/slots': { slots: [stubRow('gpu0', { managed_by: 'lane' })] },
    'GET /api/lanes': { lanes: [LANE] },
  })
})
afterEach(() => hub.stop())

interface More {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

const run = (line: string, { env = {}, input = '' }: More = {}) =>
  runCli([...line.split(' '), '--url', hub.url], { userFolder, env: { TZ: 'Europe/Berlin', ...env }, input })
/** The last request that changes something, else the last one. */
const asked = () => {
  const last = hub.seen.findLast(({ line }) => !line.startsWith('GET ')) ?? hub.seen.at(-1)
  return last?.body === undefined ? last?.line : `${last.line} ${JSON.stringify(last.body)}`
}

describe('each command asks the daemon for the right thing, and says what came of it', () => {
  it.each([
    [
      'user list',
      'GET /api/users',
      /^anna\tadmin\tby key only\t-\tEurope\/Berlin\tmay come in\nben\tmember\t.*\tdisabled$/m,
    ],
    ['user whoami', 'GET /api/session', /^the admin of this machine: no user is defined$/m],
    [
      'user create anna --admin --email a@example.org --time-zone Europe/Berlin --key laptop',
      'POST /api/users {"name":"anna","role":"admin","email":"a@example.org","time_zone":"Europe/Berlin","key_name":"laptop"}',
      /^hal0_abcdefghijklmnop\n$/,
    ],
    [
      'user edit anna --role member --disable',
      'PATCH /api/users/anna {"role":"member","disabled":true}',
      /^user anna: disabled, changed role; 1 booking ended: r1$/m,
    ],
    [
      'user edit anna --enable --email  --no-password',
      'PATCH /api/users/anna {"password":null,"email":null,"disabled":false}',
      /^user anna: enabled, changed password, email$/m,
    ],
    [
      'user audit',
      'GET /api/audit?limit=100',
      /^2026-12-24 18:00:05 Europe\/Berlin\tanna\taccess.signed_in\tanna signed in from .*\n2026-12-24 17:00 Europe\/Berlin\t-\t/m,
    ],
    [
      'user audit --actor anna --type access --since 2026-12-24 --until 2026-12-24T18:00 --limit 2 --before 9 --json',
      'GET /api/audit?actor=anna&type=access&since=2026-12-23T23%3A00%3A00.000Z&until=2026-12-24T17%3A00%3A00.000Z&limit=2&before=9',
      /"next": 7/,
    ],
    ['user delete anna', 'DELETE /api/users/anna', /^user anna is deleted, with all keys; 1 booking ended: r1$/m],
    ['key list', 'GET /api/keys', /^hal0_abcdefg\tfirst\tanna\t2026-12-01 11:00 Europe\/Berlin\tnever\tnever$/m],
    ['key list --user anna', 'GET /api/keys?user=anna', /^hal0_abcdefg/m],
    [
      'key create ci --user anna --expires 2027-01-01',
      'POST /api/keys {"name":"ci","user":"anna","expires_at":"2026-12-31T23:00:00.000Z"}',
      /^hal0_abcdefghijklmnop\n$/,
    ],
    ['key revoke hal0_abcdefg', 'DELETE /api/keys/hal0_abcdefg', /^key first \(hal0_abcdefg\) of anna is revoked$/m],
  ])('hal0 %s', async (line, request, said) => {
    const told = await run(line)
    expect(told.stdout).toMatch(said)
    expect(told.code).toBe(0)
    expect(asked()).toBe(request)
    expect(told.stderr).not.toContain(SECRET)
  })
})

describe('the first user', () => {
  it('gets a key that is alone on stdout; what changes is told on stderr', async () => {
    const first = await run('user create anna --admin')
    expect(first.stdout).toBe(`${SECRET}\n`)
    expect(first.stderr).toMatch(/From now on every request needs a key.*HAL0_API_KEY/s)
    hub.answers.set('GET /api/session', { ...SESSION, needs_set_up: false })
    expect((await run('user create anna')).stderr).not.toContain('From now on')
  })

  it('--json: the whole answer, and nothing beside it', async () => {
    const { stdout, stderr } = await run('user create anna --admin --json')
    expect(JSON.parse(stdout)).toEqual({ user: USER, key: KEY_MADE })
    expect(stderr).toBe('')
  })

  it('without a key and a password: says what comes next', async () => {
    hub.answers.set('POST /api/users', [201, { user: USER, key: null }])
    const { stdout, stderr } = await run('user create anna --no-key')
    expect(stdout).toBe('user anna is made\n')
    expect(stderr).toContain('next: hal0 key create NAME --user anna')
    expect(asked()).toBe('POST /api/users {"name":"anna","role":"member"}')
  })
})

describe('passwords', () => {
  it.each([
    ['ten letters', 'ten letters'],
    ['ten letters\n', 'ten letters'],
    ['ten letters\r\n', 'ten letters'],
    [' ten letters ', ' ten letters '],
  ])('are piped in: %j', async (input, password) => {
    await run('user edit anna --password-stdin', { input })
    expect(hub.seen.at(-1)?.body).toEqual({ password })
  })

  it.each([
    ['user edit anna --password-stdin', '', /No password was piped in/],
    ['user edit anna --password-stdin', 'one line\nanother line', /several lines/],
    ['user edit anna --password-stdin', 'short', /password: expected 10 characters or more/],
    ['user edit anna --password --password-stdin', 'ten letters', /Give one of the two/],
    ['user edit anna --password', '', /--password asks on a terminal/],
    ['user create Anna --password-stdin', 'ten letters', /name: expected 1 to 32 of/],
    ['user edit anna', '', /nothing to change/],
    ['user edit anna --disable --enable', '', /contradict/],
  ])('hal0 %s with %j', async (line, input, said) => {
    const { code, stderr } = await run(line, { input })
    expect(stderr).toMatch(said)
    expect(code).toBe(2)
    if (input.length > 5) expect(stderr).not.toContain(input)
    expect(hub.seen).toEqual([])
  })

  it.each([
    ['secret words\rsecret words\r', 0, { password: 'secret words' }],
    ['secret words\rother words!\r', 1, undefined],
    ['\r', 1, undefined],
    ['secret\u0003', 1, undefined],
    ['\u0004', 1, undefined],
  ])('are asked twice on a terminal, without an echo: %j', async (typed, code, body) => {
    const main = join(repoRoot, 'dist/cli/main.js')
    const command = `${process.execPath} ${main} user edit anna --password --url ${hub.url}`
    const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
      env: { PATH: process.env['PATH'], HOME: userFolder },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    let said = ''
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
      const before = said
      said += text
      if (!before.includes('Password: ') && said.includes('Password: ')) terminal.stdin.write(typed)
    })
    await once(terminal, 'close')
    expect(said).not.toContain('secret')
    expect(terminal.exitCode).toBe(code)
    expect(hub.seen.at(-1)?.body).toEqual(body)
  })
})

describe('keys of requests', () => {
  const home = () => homeAt(join(userFolder, 'home'))
  const writeDaemonFile = async (url: string, more: object = { local_key: 'hal0_local_abc' }) => {
    const path = join(home().varLib, 'daemon.json')
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, JSON.stringify({ url, pid: process.pid, started_at: '2026-12-24T10:00:00.000Z', ...more }))
  }
  const at = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runCli([...args], { userFolder, env: { HAL0_HOME: join(userFolder, 'home'), ...env } })
  const sent = () => hub.seen.at(-1)?.authorization

  it('is HAL0_API_KEY, without the line end that it came with', async () => {
    await run('user whoami', { env: { HAL0_API_KEY: ` ${SECRET}\n` } })
    expect(sent()).toBe(`Bearer ${SECRET}`)
    await run('user whoami', { env: { HAL0_API_KEY: ' ' } })
    expect(sent()).toBeUndefined()
  })

  it("else the daemon's own of daemon.json, for the URL beside it only", async () => {
    await writeDaemonFile(hub.url)
    await at(['user', 'whoami'])
    expect(sent()).toBe('Bearer hal0_local_abc')
    await at(['user', 'whoami'], { HAL0_API_KEY: SECRET })
    expect(sent()).toBe(`Bearer ${SECRET}`)
    await at(['user', 'whoami'], { HAL0_API_URL: hub.url })
    expect(sent()).toBeUndefined()
    await at(['user', 'whoami', '--url', hub.url])
    expect(sent()).toBeUndefined()
    await writeDaemonFile(hub.url, {})
    await at(['user', 'whoami'])
    expect(sent()).toBeUndefined()
    expect(hub.seen).toHaveLength(5)
  })

  it('goes along with streams and with requests to the gateway', async () => {
    await run('chat --slot gpu0 hello', { env: { HAL0_API_KEY: SECRET } })
    await run('slot logs gpu0 -f', { env: { HAL0_API_KEY: SECRET } })
    expect(hub.seen.map(({ line }) => line)).toEqual([
      'GET /api/slots',
      'POST /v1/chat/completions',
      'GET /api/slots/gpu0/logs/stream?lines=200',
    ])
    expect(new Set(hub.seen.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${SECRET}`]))
  })

  it.each(['two words', 'line\nline', 'käse'])('that cannot be one is refused, and not repeated: %j', async (key) => {
    const { code, stderr } = await run('user whoami', { env: { HAL0_API_KEY: key } })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^hal0: HAL0_API_KEY is no key/)
    expect(stderr).not.toContain(key)
    expect(hub.seen).toEqual([])
  })

  it('missing: 401 says how to get one; a wrong one is told in the words of the daemon, and never shown', async () => {
    hub.answers.set('GET /api/session', [401, errorOf('auth.required', 'this hal0 has users: a key is needed')])
    const without = await run('user whoami')
    expect(without.code).toBe(1)
    expect(without.stderr).toBe(
      'hal0: this hal0 has users: a key is needed (auth.required)\n  Set HAL0_API_KEY to a key; an admin makes one with `hal0 key create NAME --user U`.\n',
    )
    const wrong = await run('user whoami', { env: { HAL0_API_KEY: SECRET } })
    expect(wrong.stderr).toBe('hal0: this hal0 has users: a key is needed (auth.required)\n  Mend it.\n')
  })
})

it('a locked hal0 is not taken for one without users', async () => {
  hub.answers.set('GET /api/users', { users: [] })
  expect((await run('user list')).stderr).toMatch(/^no users: everybody on this machine is the admin/)
  const lock = 'Users were defined, and hal0.db does not say who. Put hal0.db back.'
  hub.answers.set('GET /api/session', { ...SESSION, kind: 'local', state: 'locked', lock, needs_set_up: false })
  expect((await run('user list')).stderr).toBe(`hal0 is locked. ${lock}\n`)
  const who = await run('user whoami')
  expect([who.stdout, who.stderr]).toEqual([
    "the admin of this machine, by the daemon's own key\n",
    `hal0 is locked. ${lock}\n`,
  ])
  expect((await run('status')).stdout).toMatch(/^access\tlocked: Users were defined, .* Put hal0\.db back\.$/m)
  expect(JSON.parse((await run('status --json')).stdout)).toMatchObject({ access: 'locked' })
})

it('status shows lanes, and slot list which slots are run by one', async () => {
  const status = await run('status')
  expect(status.stdout).toMatch(
    /^lane\tgpu0: org\/big \(coding\) \[reserved\], ready; next 2026-12-24 23:00 to 2026-12-25 02:00 Europe\/Berlin: exclusive, r2$/m,
  )
  expect((await run('slot list')).stdout).toMatch(/run by its lane/)
  hub.answers.set('GET /api/lanes', { lanes: [] })
  expect((await run('status')).stdout).not.toMatch(/^lane/m)
  hub.answers.delete('GET /api/lanes')
  expect(JSON.parse((await run('status --json')).stdout)).toMatchObject({ lanes: null, version: '1.2.3' })
})
