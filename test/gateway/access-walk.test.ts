import { mkdir, readdir, readFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { MEMBER_ROUTES, OPEN_ROUTES } from '../../src/access/rules/route-access.ts'
import type { DaemonFile } from '../../src/contract/daemon-file.ts'
import { errorBodySchema } from '../../src/contract/error-body.ts'
import type { KeyMade, UserMade } from '../../src/contract/user.ts'
import { daemonFilePath } from '../../src/files/home.ts'
import { type Life, live } from '../support/booking-life.ts'
import { eventually, makeHome, type TestHome } from '../support/daemon-harness.ts'
import { type CliChild, runCli, startCli } from '../support/run-cli.ts'

// The whole daemon, with an admin `ada` and a member `bob` who were made through its API, and a lane `desk` with a fake engine.

interface Said {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** The path arrives as it is written; of an answer that may have no end only the head is waited for. */
function say(url: string, method: string, path: string, headers: Record<string, string> = {}, body?: unknown) {
  const { hostname: host, port } = new URL(url)
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  return new Promise<Said>((resolve, reject) => {
    const sent = request({ host, port, method, path, headers: { ...json, ...headers }, agent: false }, (response) => {
      const head = { status: response.statusCode ?? 0, headers: response.headers }
      if (response.headers['content-type']?.startsWith('text/event-stream') === true) {
        response.destroy()
        return resolve({ ...head, body: '' })
      }
      let text = ''
      response.setEncoding('utf8').on('data', (piece) => {
        text += piece
      })
      response.on('end', () => resolve({ ...head, body: text }))
    })
    sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const keyOf = (life: Life, who: 'ada' | 'bob') => (life.headersOf(who)['authorization'] ?? '').replace('Bearer ', '')
const codeOf = (body: string) => errorBodySchema.safeParse(JSON.parse(body)).data?.error.code
const textOf = ({ method, path }: { readonly method: string; readonly path: string }) => `${method} ${path}`

/** Beside those of the document. */
const OUTSIDE = [
  'GET /',
  'GET /metrics',
  'GET /v1',
  'GET /v1/models',
  'GET /v1/models/desk',
  'POST /v1/chat/completions',
  'POST /v1/completions',
  'POST /v1/embeddings',
  'POST /v1/rerank',
  'POST /v1/messages',
  'POST /v1/messages/count_tokens',
  'POST /v1/responses',
  'POST /v1/audio/transcriptions',
  'POST /v1/audio/speech',
  'POST /v1/images/generations',
  'GET /v1/nothing',
  'GET /upstream/desk',
  'GET /upstream/desk/health',
  'GET /upstream/desk/props',
  'POST /upstream/desk/v1/chat/completions',
  'DELETE /upstream/desk/anything',
  'OPTIONS /upstream/desk/health',
]

async function everyRoute(life: Life): Promise<readonly string[]> {
  const { body } = await life.ask<{ paths: Record<string, object> }>('ada', 'GET', '/api/openapi.json')
  const documented = Object.entries(body.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )
  return [...documented.toSorted(), ...OUTSIDE]
}

const EXAMPLES: Readonly<Record<string, string>> = { name: 'desk', id: 'hello', user: 'bob', key: 'none' }

function exampleOf(route: string, feedToken: string): readonly [method: string, path: string] {
  const [method = '', template = ''] = route.split(' ')
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => EXAMPLES[name] ?? 'x')
  return [method, path.endsWith('calendar.ics') ? `${path}?token=${feedToken}` : path]
}

async function makeKey(life: Life, wish: object): Promise<KeyMade> {
  const { status, body } = await life.ask<KeyMade>('ada', 'POST', '/api/keys', wish)
  expect(status).toBe(201)
  return body
}

/** Keys that were good once. */
async function spentKeys(life: Life): Promise<{ readonly expired: string; readonly revoked: string }> {
  const expired = await makeKey(life, { name: 'short', expires_at: new Date(Date.now() + 1_000).toISOString() })
  const revoked = await makeKey(life, { name: 'gone' })
  const who = (key: string) => say(life.url, 'GET', '/api/session', bearer(key))
  expect((await who(revoked.secret)).status).toBe(200)
  expect((await life.ask('ada', 'DELETE', `/api/keys/${revoked.key.id}`)).status).toBe(200)
  await eventually(async () => (await who(expired.secret)).status === 401)
  return { expired: expired.secret, revoked: revoked.secret }
}

async function feedTokenOf(life: Life): Promise<string> {
  const { body } = await life.ask<Record<string, unknown>>('bob', 'POST', '/api/calendar-token')
  const token = /hal0_[\w-]+/.exec(JSON.stringify(body))?.[0] ?? String(body['token'])
  expect(token.length).toBeGreaterThan(20)
  return token
}

const WRONG = 'hal0_thisKeyWasNeverMadeByAnybody0123456789'

describe('every route, once a user is defined', () => {
  it('is 401 without a good key, except those of the printed list', { timeout: 120_000 }, () =>
    live({}, async (life) => {
      const { expired, revoked } = await spentKeys(life)
      const ada = keyOf(life, 'ada')
      const feedToken = await feedTokenOf(life)
      const routes = await everyRoute(life)
      expect(routes.length).toBeGreaterThan(100)
      const ways: Readonly<Record<string, (path: string) => readonly [string, Record<string, string>]>> = {
        'no key': (path) => [path, {}],
        'a wrong key': (path) => [path, bearer(WRONG)],
        'a wrong x-api-key': (path) => [path, { 'x-api-key': WRONG }],
        'an expired key': (path) => [path, bearer(expired)],
        'a revoked key': (path) => [path, bearer(revoked)],
        'a cookie of nobody': (path) => [path, { cookie: `hal0_session=${WRONG}`, origin: life.url }],
        'a good key in the query': (path) => [`${path}${path.includes('?') ? '&' : '?'}api_key=${ada}`, {}],
        'a good key as a Basic password': (path) => [
          path,
          { authorization: `Basic ${Buffer.from(`ada:${ada}`).toString('base64')}` },
        ],
      }
      const openBy: Record<string, readonly string[]> = {}
      for (const [way, sentBy] of Object.entries(ways)) {
        const open: string[] = []
        for (const route of routes) {
          const [method, path] = exampleOf(route, feedToken)
          const { status, body } = await say(life.url, method, ...sentBy(path))
          for (const secret of [WRONG, expired, revoked, ada])
            expect([route, body.includes(secret)]).toEqual([route, false])
          if (status !== 401) open.push(route)
          else if (!route.startsWith('POST /v1/messages'))
            expect([route, codeOf(body)]).toEqual([route, 'auth.required'])
        }
        openBy[way] = open
      }
      const printed = OPEN_ROUTES.map(textOf).toSorted()
      process.stdout.write(
        `${routes.length} routes, asked without a good key in ${Object.keys(ways).length} ways. Open:\n${printed.map((route) => `  ${route}\n`).join('')}`,
      )
      for (const [way, open] of Object.entries(openBy)) {
        // A query is refused by its parameters before anybody reads a token there.
        expect([way, open.toSorted()]).toEqual([way, printed])
      }
    }),
  )

  it('is 403 with the key of a member, except those that are members’', { timeout: 120_000 }, () =>
    live({}, async (life) => {
      const member = new Set([...MEMBER_ROUTES, ...OPEN_ROUTES].map(textOf))
      const feedToken = await feedTokenOf(life)
      const key = keyOf(life, 'bob')
      for (const route of await everyRoute(life)) {
        // A preflight asks nothing of an engine.
        const isInference = /^\w+ \/v1/.test(route) || route.startsWith('OPTIONS /upstream')
        const { status, body } = await say(life.url, ...exampleOf(route, feedToken), bearer(key))
        expect([route, body.includes(key)]).toEqual([route, false])
        if (member.has(route) || isInference || route === 'GET /') {
          expect([route, [401, 403].includes(status)]).toEqual([route, false])
          // HEAD has no body to say why.
        } else
          expect([route, status, body === '' ? 'auth.forbidden' : codeOf(body)]).toEqual([route, 403, 'auth.forbidden'])
      }
    }),
  )
})

/** Every file of the home, by its path there. */
async function filesOf(folder: string): Promise<ReadonlyMap<string, Buffer>> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile() && !entry.name.endsWith('.gguf'))
  const paths = files.map((entry) => join(entry.parentPath, entry.name))
  // Of files that are written anew the temporary ones come and go.
  const texts = await Promise.all(paths.map((path) => readFile(path).catch(() => Buffer.alloc(0))))
  return new Map(paths.map((path, at) => [path.slice(folder.length + 1), texts[at] ?? Buffer.alloc(0)]))
}

describe('a key', () => {
  it('never reaches a log, an error, an event, an engine or the disk', { timeout: 120_000 }, () =>
    live({ env: { HAL0_LOG_LEVEL: 'debug' } }, async (life) => {
      const { expired, revoked } = await spentKeys(life)
      const password = 'correct horse battery'
      expect((await life.ask('ada', 'PATCH', '/api/users/ada', { password })).status).toBe(200)
      const signedIn = await say(life.url, 'POST', '/api/session', {}, { name: 'ada', password })
      expect(signedIn.status).toBe(200)
      const cookie = /hal0_session=([^;]+)/.exec(String(signedIn.headers['set-cookie']))?.[1] ?? ''
      const local = (JSON.parse(await readFile(daemonFilePath(life.home), 'utf8')) as DaemonFile).local_key
      const secrets = {
        ...{ ada: keyOf(life, 'ada'), bob: keyOf(life, 'bob'), expired, revoked, wrong: WRONG, cookie, local },
        password,
        feed: await feedTokenOf(life),
      }
      for (const [name, secret] of Object.entries(secrets))
        expect([name, (secret?.length ?? 0) > 20]).toEqual([name, true])
      const saidSo: string[] = []
      const body = { model: 'desk', messages: [{ role: 'user', content: 'hi' }], fake: { echo: true } }
      const ways: readonly Record<string, string>[] = [
        ...[secrets.ada, secrets.bob, secrets.local ?? '', expired, revoked, WRONG].flatMap((key) => [
          bearer(key),
          { 'x-api-key': key },
          { ...bearer(key), 'x-api-key': key, cookie: `hal0_session=${cookie}` },
          { 'proxy-authorization': `Bearer ${key}`, ...bearer(secrets.ada) },
        ]),
        { cookie: `hal0_session=${cookie}`, origin: life.url },
      ]
      let served = 0
      for (const headers of ways) {
        for (const path of ['/v1/chat/completions', '/upstream/desk/v1/chat/completions', '/v1/messages']) {
          for (const query of ['', `?api_key=${secrets.ada}&token=${secrets.bob}`]) {
            const answer = await say(life.url, 'POST', `${path}${query}`, headers, { ...body, max_tokens: 2_000 })
            if (answer.status === 200) served += 1
            saidSo.push(answer.body, JSON.stringify(answer.headers))
          }
        }
        saidSo.push((await say(life.url, 'GET', `/api/events?limit=oops&api_key=${secrets.ada}`, headers)).body)
        saidSo.push(
          (await say(life.url, 'POST', '/api/keys', headers, { name: secrets.bob, key: secrets.ada })).status + '',
        )
      }
      expect(served).toBeGreaterThan(20)
      // Where no key belongs; an engine is not asked by these.
      const places = ['/v1/models/KEY', '/v1/KEY', '/upstream/KEY/x', '/api/KEY', '/api/slots/KEY', '/api/lanes/KEY']
      for (const place of places) {
        const answer = await say(life.url, 'GET', place.replace('KEY', secrets.bob), bearer(secrets.ada))
        saidSo.push(answer.body)
      }
      for (const named of [{ model: secrets.bob, input: 'hi' }, { [secrets.bob]: 1 }]) {
        saidSo.push((await say(life.url, 'POST', '/v1/embeddings', bearer(secrets.ada), named)).body)
        saidSo.push((await say(life.url, 'POST', '/api/keys', bearer(secrets.ada), named)).body)
      }
      for (const name of ['ada', secrets.bob]) {
        const answer = await say(life.url, 'POST', '/api/session', {}, { name, password: `${password}!` })
        expect(answer.status).toBe(401)
        saidSo.push(answer.body)
      }
      // The engine: what it was started with, and what it was asked.
      const engine = await life.engine()
      const state = await engine.state()
      expect(state.requests.length).toBeGreaterThan(20)
      const environ = await readFile(`/proc/${state.pid}/environ`, 'utf8')
      const cmdline = await readFile(`/proc/${state.pid}/cmdline`, 'utf8')
      const events = await life.ask('ada', 'GET', '/api/events?limit=1000')
      expect(events.status).toBe(200)
      const seen: Record<string, string> = {
        'the answers': saidSo.join('\n'),
        'the engine’s requests': JSON.stringify(state),
        'its environment': environ,
        'its command line': cmdline,
        'the events': JSON.stringify(events.body),
      }
      const files = await filesOf(life.folder)
      const found = [...files.keys()]
      expect(found.some((path) => path.endsWith('daemon.log'))).toBe(true)
      expect(found.some((path) => path.endsWith('hal0.db'))).toBe(true)
      for (const [path, text] of files) seen[path] = text.toString('latin1')
      const leaks = Object.entries(seen).flatMap(([where, text]) =>
        Object.entries(secrets)
          .filter(([, secret]) => secret !== undefined && text.includes(secret))
          .map(([name]) => `${name} in ${where}`),
      )
      // The one place where one belongs: the daemon's own, in a file that is private to its user.
      expect(leaks).toEqual([`local in ${daemonFilePath(life.home).slice(life.folder.length + 1)}`])
    }),
  )
})

async function serve(
  at: TestHome,
  ...flags: readonly string[]
): Promise<{ readonly child: CliChild; readonly url: string }> {
  const child = startCli(['--home', at.folder, 'serve', '--port', '0', ...flags], { userFolder: at.folder })
  onTestFinished(async () => {
    child.process.kill('SIGTERM')
    await child.ended
  })
  const [, url = ''] = await child.until('stdout', /(http:\/\/[\d.]+:\d+)/)
  return { child, url: url.replace('0.0.0.0', '127.0.0.1') }
}

async function end({ child }: { readonly child: CliChild }): Promise<void> {
  child.process.kill('SIGTERM')
  expect((await child.ended).code).toBe(0)
}

describe('listening beyond this machine', () => {
  it('is refused without users, unless somebody insists; with users it is not', async () => {
    const at = await makeHome({})
    await mkdir(at.home.varLog, { recursive: true })
    const refused = await runCli(['--home', at.folder, 'serve', '--host', '0.0.0.0', '--port', '0'], {
      userFolder: at.folder,
    })
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(/0\.0\.0\.0 is not a loopback address, and no user is defined/)
    expect(refused.stderr).toMatch(/hal0 user create NAME --admin.*--insecure/s)

    const insecure = await serve(at, '--host', '0.0.0.0', '--insecure')
    expect((await say(insecure.url, 'GET', '/api/slots')).status).toBe(200)
    const foreign = await say(insecure.url, 'GET', '/api/slots', { origin: 'http://evil.example' })
    expect([foreign.status, codeOf(foreign.body)]).toEqual([401, 'auth.required'])
    await end(insecure)
    expect(await readFile(join(at.home.varLog, 'daemon.log'), 'utf8')).toContain('--insecure: no user is defined')

    const local = await serve(at)
    const made = await say(local.url, 'POST', '/api/users', {}, { name: 'ada', role: 'admin', key_name: 'first' })
    expect(made.status).toBe(201)
    const { secret = '' } = (JSON.parse(made.body) as UserMade).key ?? {}
    await end(local)

    const wide = await serve(at, '--host', '0.0.0.0')
    expect((await say(wide.url, 'GET', '/api/slots')).status).toBe(401)
    expect((await say(wide.url, 'GET', '/api/slots', bearer(secret))).status).toBe(200)
    await end(wide)
  })
})

describe('a browser', () => {
  it('makes the first admin with the token that was printed, once', async () => {
    const at = await makeHome({})
    const { child, url } = await serve(at)
    const [token] = await child.until('stderr', /hal0_setup_[\w-]+/)
    const wish = { name: 'ada', password: 'correct horse battery' }
    const setUp = (sent: string) => say(url, 'POST', '/api/session/set-up', { origin: url }, { ...wish, token: sent })
    expect((await setUp('hal0_setup_guessed')).status).toBe(401)
    const made = await setUp(token)
    expect(made.status).toBe(200)
    const cookie = String(made.headers['set-cookie']).split(';', 1)[0] ?? ''
    expect((await say(url, 'GET', '/api/users', { cookie })).status).toBe(200)
    expect((await setUp(token)).status).toBe(401)
    expect((await say(url, 'GET', '/api/users')).status).toBe(401)
    expect(await readFile(join(at.home.varLog, 'daemon.log'), 'utf8')).not.toContain(token)
  })

  it('signs in with a password and a cookie, from hal0’s own origin, and out again', () =>
    live({}, async (life) => {
      const { url } = life
      const password = 'correct horse battery'
      expect((await life.ask('ada', 'PATCH', '/api/users/ada', { password })).status).toBe(200)
      const signIn = (headers: Record<string, string>) =>
        say(url, 'POST', '/api/session', headers, { name: 'ada', password })
      expect((await signIn({ origin: 'http://evil.example' })).status).toBe(403)
      const { status, headers, body } = await signIn({ origin: url })
      expect([status, JSON.parse(body)]).toMatchObject([200, { kind: 'session', user: { name: 'ada' } }])
      const set = String(headers['set-cookie'])
      expect(set).toMatch(/HttpOnly/i)
      expect(set).toMatch(/SameSite=(?:Strict|Lax)/i)
      const cookie = set.split(';', 1)[0] ?? ''
      expect((await say(url, 'GET', '/api/settings', { cookie })).status).toBe(200)
      const read = (more: Record<string, string>) => say(url, 'POST', '/api/notifications/read', { cookie, ...more })
      expect((await read({ origin: url })).status).toBe(200)
      expect((await read({ 'sec-fetch-site': 'same-origin' })).status).toBe(200)
      for (const more of [
        {},
        { origin: 'http://evil.example' },
        { origin: 'null' },
        { origin: url, 'sec-fetch-site': 'cross-site' },
      ]) {
        const answer = await read(more)
        expect([more, answer.status, codeOf(answer.body)]).toEqual([more, 403, 'auth.forbidden'])
      }
      const chat = { model: 'desk', messages: [{ role: 'user', content: 'hi' }] }
      expect((await say(url, 'POST', '/v1/chat/completions', { cookie, origin: url }, chat)).status).toBe(200)
      expect((await say(url, 'POST', '/v1/chat/completions', { cookie }, chat)).status).toBe(403)
      // The other page cannot even sign somebody out.
      expect((await say(url, 'DELETE', '/api/session', { cookie })).status).toBe(403)
      const out = await say(url, 'DELETE', '/api/session', { cookie, origin: url })
      expect(out.status).toBe(204)
      expect(String(out.headers['set-cookie'])).toMatch(/hal0_session=;|Max-Age=0/)
      expect((await say(url, 'GET', '/api/session', { cookie })).status).toBe(401)
    }))

  it('that guesses waits: 429 with the time, for the right password too; keys work on', () =>
    live({ settings: { security: { sign_in_attempts: 3, sign_in_window_s: 600 } } }, async (life) => {
      const password = 'correct horse battery'
      expect((await life.ask('ada', 'PATCH', '/api/users/ada', { password })).status).toBe(200)
      const signIn = (wanted: string) =>
        say(life.url, 'POST', '/api/session', { origin: life.url }, { name: 'ada', password: wanted })
      for (let n = 0; n < 3; n++) expect((await signIn(`wrong password ${n}`)).status).toBe(401)
      for (const wanted of ['wrong password 4', password]) {
        const { status, headers, body } = await signIn(wanted)
        expect([status, codeOf(body)]).toEqual([429, 'auth.rate_limited'])
        expect(Number(headers['retry-after'])).toBeGreaterThan(500)
      }
      expect((await life.ask('ada', 'GET', '/api/settings')).status).toBe(200)
    }))
})
