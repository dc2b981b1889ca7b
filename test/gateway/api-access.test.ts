import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Caller } from '../../src/access/caller.ts'
import type { Guard } from '../../src/access/guard.ts'
import { MEMBER_ROUTES, OPEN_ROUTES } from '../../src/access/rules/route-access.ts'
import { errorBodySchema } from '../../src/contract/error-body.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { err, ok } from '../../src/kernel/result.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { CALENDAR_TOKEN } from '../support/stub-lane-ports.ts'
import { stubRow } from '../support/stub-slots-api.ts'

const callers: Readonly<Record<string, Caller>> = {
  member: { kind: 'user', userId: 'u2', name: 'bob', role: 'member', keyId: 'k2' },
  admin: { kind: 'user', userId: 'u1', name: 'ada', role: 'admin', keyId: 'k1' },
}
type Who = 'member' | 'admin' | 'nobody'

/** Users are defined: `member` and `admin` are their keys. */
const guard: Guard = ({ headers }: IncomingMessage) => {
  const caller = callers[headers.authorization?.replace('Bearer ', '') ?? '']
  return caller === undefined ? err(Hal0Error.of('auth.required', 'a key is needed')) : ok(caller)
}

let api: TestApi
beforeAll(async () => {
  api = await startApi({
    guard,
    openDoor: ({ headers }) =>
      headers.origin === undefined
        ? ok(undefined)
        : err(Hal0Error.of('auth.required', 'a foreign page', { param: 'origin' })),
  })
  api.ports.endFollow()
})
afterAll(() => api.stop())

const PATIENCE_MS = 5_000

interface Answer {
  readonly status: number
  readonly code: string | undefined
}

/** Without node's fetch, so that the path arrives as it is written. Only the head of the answer is waited for, and the body of errors. */
function ask(who: Who, method: string, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const key = who === 'nobody' ? {} : { authorization: `Bearer ${who}` }
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { host: '127.0.0.1', port: api.port, method, path, headers: { ...key, ...headers }, agent: false },
      (response) => {
        const status = response.statusCode ?? 0
        if (status < 400 || method === 'HEAD') {
          response.destroy()
          return resolve({ status, code: undefined })
        }
        let text = ''
        response.setEncoding('utf8').on('data', (piece) => {
          text += piece
        })
        response.on('end', () => {
          const body = errorBodySchema.safeParse(JSON.parse(text))
          resolve({ status, code: body.success ? body.data.error.code : undefined })
        })
      },
    )
    // A route that waits for something would be one that was let through.
    sent.setTimeout(PATIENCE_MS, () => sent.destroy(new Error(`${method} ${path} was not answered`)))
    sent.on('error', reject).end()
  })
}

const EXAMPLES: Readonly<Record<string, string>> = { name: 'agent', id: 'org%2Fname.q8', user: 'ada', key: 'k1' }

/** Every route, as `GET /api/slots/{name}`, from the document that the daemon prints. */
async function everyRoute(): Promise<readonly string[]> {
  const response = await fetch(`${api.url}/api/openapi.json`, { headers: { authorization: 'Bearer admin' } })
  const { paths } = (await response.json()) as { paths: Record<string, object> }
  return Object.entries(paths)
    .flatMap(([path, item]) => Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`))
    .toSorted()
}

/** `[method, path]` of a request for this route that its handler might even answer. */
function exampleOf(route: string): readonly [string, string] {
  const [method = '', template = ''] = route.split(' ')
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => EXAMPLES[name] ?? 'x')
  return [method, path.endsWith('calendar.ics') ? `${path}?token=${CALENDAR_TOKEN}` : path]
}

const textOf = ({ method, path }: { readonly method: string; readonly path: string }) => `${method} ${path}`
const OPEN = new Set(OPEN_ROUTES.map(textOf))
const MEMBER = new Set(MEMBER_ROUTES.map(textOf))

describe('every route of the API, once users are defined', () => {
  it('is in the document: nothing else is routed', async () => {
    const routed = api.routes
      .filter((route) => !route.endsWith('*'))
      .map((route) => route.replaceAll(/:(\w+)/g, '{$1}'))
    expect([...new Set(routed)].toSorted()).toEqual(await everyRoute())
  })

  it('is 401 without a key, except those of the printed list', async () => {
    const routes = await everyRoute()
    const opened: string[] = []
    for (const route of routes) {
      const before = api.ports.asked.length
      const answer = await ask('nobody', ...exampleOf(route))
      if (answer.status === 401) {
        expect([route, answer.code, api.ports.asked.length]).toEqual([route, 'auth.required', before])
      } else opened.push(route)
    }
    process.stdout.write(`Open without a key:\n${opened.map((route) => `  ${route}\n`).join('')}`)
    expect(opened).toEqual([...OPEN].toSorted())
    expect(routes.length).toBeGreaterThan(80)
  })

  it('is 403 with the key of a member, except those that are members’', async () => {
    for (const route of await everyRoute()) {
      const before = api.ports.asked.length
      const answer = await ask('member', ...exampleOf(route))
      if (OPEN.has(route) || MEMBER.has(route))
        expect([route, [401, 403].includes(answer.status)]).toEqual([route, false])
      else {
        expect([route, answer]).toEqual([route, { status: 403, code: 'auth.forbidden' }])
        expect([route, api.ports.asked.length]).toEqual([route, before])
      }
    }
  })

  it('is open to an admin', async () => {
    for (const route of await everyRoute()) {
      const [method, path] = exampleOf(route)
      // The one that waits for an engine, which the stub never starts.
      const answer = await ask(
        'admin',
        method,
        /\/slots\/agent\/(?:load|unload|restart)$/.test(path) ? `${path}?wait=0` : path,
      )
      expect([route, [401, 403].includes(answer.status)]).toEqual([route, false])
    }
  })

  it('that is listed is there', async () => {
    const routes = new Set(await everyRoute())
    expect([...OPEN, ...MEMBER].filter((route) => !routes.has(route))).toEqual([])
    expect([...OPEN].filter((route) => MEMBER.has(route))).toEqual([])
  })

  it.each([
    ['Open without a key', OPEN],
    ['Open to members', MEMBER],
  ])('docs/api.md lists the same: %s', async (title, expected) => {
    const text = await readFile(new URL('../../docs/api.md', import.meta.url), 'utf8')
    const [, after = ''] = text.split(`### ${title}\n`)
    const [section = ''] = after.split('\n#')
    const listed = [...section.matchAll(/^\| `([A-Z, ]+)` \| (.+) \|$/gm)].flatMap(([, methods = '', paths = '']) =>
      [...paths.matchAll(/`([^`]+)`/g)].flatMap(([, path]) => methods.split(', ').map((method) => `${method} ${path}`)),
    )
    expect(listed.toSorted()).toEqual([...expected].toSorted())
  })
})

describe('the gate', () => {
  it.each<[Who, string, string, number]>([
    ['nobody', 'HEAD', '/api/health', 200],
    ['nobody', 'HEAD', '/api/slots', 401],
    ['member', 'HEAD', '/api/slots', 200],
    ['member', 'HEAD', '/api/settings', 403],
    ['admin', 'HEAD', '/api/settings', 200],
    // What does not exist tells strangers nothing.
    ['nobody', 'GET', '/api/nothing', 401],
    ['nobody', 'OPTIONS', '/api/slots', 401],
    ['nobody', 'DELETE', '/api/health', 401],
    ['member', 'GET', '/api/nothing', 404],
    ['member', 'DELETE', '/api/health', 405],
    // The router's own reading of a path counts, whatever it looks like.
    ['nobody', 'GET', '/api/health/', 401],
    ['nobody', 'GET', '/api/health/../slots', 401],
    ['nobody', 'GET', '/api/health/%2e%2e/slots', 401],
    ['nobody', 'GET', '/api//health', 401],
    ['nobody', 'GET', '/api/health%2f..%2fslots', 401],
    ['nobody', 'GET', '/API/health', 401],
    ['nobody', 'GET', '/api/slots?/api/health', 401],
    ['nobody', 'GET', '/api/slots#/api/health', 401],
    ['nobody', 'GET', '/api/lanes/x%2Fcalendar.ics', 401],
    ['nobody', 'GET', '/api/lanes/x/config?/calendar.ics', 401],
    ['nobody', 'PUT', '/api/session', 401],
    // The first route answers, so its access counts: a profile called `export` is none.
    ['member', 'GET', '/api/profiles/export', 403],
  ])('%s %s %s: %i', async (who, method, path, status) => {
    expect((await ask(who, method, path)).status).toBe(status)
  })

  it('comes before what is wrong with a request', async () => {
    expect((await ask('nobody', 'GET', '/api/events?limit=x')).status).toBe(401)
    expect((await ask('member', 'GET', '/api/events?limit=x')).status).toBe(403)
    expect((await ask('member', 'POST', '/api/users')).status).toBe(403)
    expect((await ask('admin', 'GET', '/api/events?limit=x')).status).toBe(422)
  })

  it('an open route is not open to a foreign page', async () => {
    const answer = await ask('nobody', 'GET', '/api/health', { origin: 'http://evil.example' })
    expect(answer).toEqual({ status: 401, code: 'auth.required' })
  })

  it('says which role is needed, and logs who was refused without the key', async () => {
    const response = await fetch(`${api.url}/api/settings`, { headers: { authorization: 'Bearer member' } })
    const { error } = errorBodySchema.parse(await response.json())
    expect(error).toMatchObject({ code: 'auth.forbidden', details: { needs_role: 'admin' } })
    expect(error.message).toBe('GET /api/settings needs the role admin; bob is a member')
    const facts = { request_id: error.details['request_id'], code: 'auth.forbidden' }
    expect(api.warnings.map(([line]) => line)).toContainEqual(expect.objectContaining(facts))
    expect(JSON.stringify(api.warnings)).not.toContain('Bearer')
  })
})

describe('what a member reads', () => {
  const read = async (path: string, who: Who = 'member'): Promise<string> =>
    (await fetch(api.url + path, { headers: { authorization: `Bearer ${who}` } })).text()
  /** Of this machine, in any text. */
  const SECRETS = /\/models\/|\/tmp\/home|\/etc\/hal0|\/opt\/|ggml_abort/

  it.each([
    '/api/slots',
    '/api/slots/agent',
    '/api/slots/agent/state',
    '/api/models',
    '/api/models/hello',
    '/api/lanes',
    '/api/lanes/gpu0',
    '/api/status',
  ])('%s names no path and no line of a log', async (path) => {
    const failure = {
      ...({ code: 'slot.spawn_failed', cause: 'out_of_memory', at: '2026-01-01T00:00:00.000Z' } as const),
      ...{ message: '/opt/llama-server ended', line: 'ggml_abort', remedy: 'look at /opt' },
    }
    const problem = '/etc/hal0/slots/agent.toml: line 3'
    api.slots.set(stubRow('agent', { state: 'error', failure, message: '/opt: ggml_abort', config_problem: problem }))
    expect(await read(path, 'admin')).toMatch(SECRETS)
    const told = await read(path)
    expect(told).not.toMatch(SECRETS)
    expect(JSON.parse(told)).not.toHaveProperty('error')
  })

  it('the stream of a state names none either', async () => {
    const headers = { authorization: 'Bearer member' }
    const response = await fetch(`${api.url}/api/slots/agent/state/stream`, { headers })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('data:')) {
      const piece = await reader?.read()
      if (piece === undefined || piece.done) break
      text += piece.value
    }
    await reader?.cancel()
    expect(text).toContain('out of memory')
    expect(text).not.toMatch(SECRETS)
  })

  it('usage is their own, whatever it is told by', async () => {
    for (const by of ['user', 'slot', 'reservation']) {
      await read(`/api/usage?by=${by}`)
      expect(api.ports.asked.findLast((line) => line.startsWith('usage.report'))).toMatch(
        new RegExp(`^usage\\.report .*"by":"${by}","userId":"u2"`),
      )
    }
    await read('/api/usage', 'admin')
    expect(api.ports.asked.at(-1)).not.toContain('userId')
  })

  it('notifications are their own', async () => {
    await read('/api/notifications')
    expect(api.ports.asked.at(-1)).toMatch(/^notices\.list "u2"/)
  })
})
