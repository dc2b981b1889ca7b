import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MAX_BODY_BYTES } from '../../src/api/json-body.ts'
import { errorBodySchema } from '../../src/contract/error-body.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { ENVELOPE, JOB } from '../support/stub-ports.ts'

let api: TestApi
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.stop())

const JSON_TYPE = { 'content-type': 'application/json' }

function send(
  path: string,
  body: string | Uint8Array<ArrayBuffer> | undefined,
  headers: Record<string, string> = JSON_TYPE,
  method = 'POST',
) {
  return fetch(api.url + path, { method, headers, ...(body === undefined ? {} : { body }) })
}

async function errorOf(response: Response) {
  return { status: response.status, ...errorBodySchema.parse(await response.json()).error }
}

describe('a body that cannot be read', () => {
  it.each([
    [undefined, {}, 'content-type', /application\/json; there is none/],
    ['{"name":"a"}', { 'content-type': 'text/plain' }, 'content-type', /it is "text\/plain"/],
    ['name=a', { 'content-type': 'application/x-www-form-urlencoded' }, 'content-type', /application\/json/],
    ['', JSON_TYPE, 'body', /empty/],
    ['{"name": "a",}', JSON_TYPE, 'body', /line 1, column 14: "}" is not expected/],
    ['{\n  "name": a\n}', JSON_TYPE, 'body', /line 2, column 11: "a" is not expected/],
    ['{"name": "a"', JSON_TYPE, 'body', /line 1, column 13: the end of the text/],
    [new Uint8Array([0x22, 0xff, 0x22]), JSON_TYPE, 'body', /not UTF-8/],
  ] as const)('%j with %j', async (body, headers, param, message) => {
    const error = await errorOf(await send('/api/slots', body, headers))
    expect(error).toMatchObject({
      status: 400,
      code: 'request.invalid',
      param,
      message: expect.stringMatching(message),
    })
    expect(api.ports.asked).toEqual([])
  })

  it.each(['application/json; charset=utf-8', 'Application/JSON', 'application/merge-patch+json'])(
    'takes %s',
    async (type) => {
      expect((await send('/api/slots', '{"name":"a"}', { 'content-type': type })).status).toBe(201)
    },
  )

  it('of more than the limit is 413, of exactly the limit is read', async () => {
    const body = (sizeBytes: number) => `{"name":"a","x":"${'a'.repeat(sizeBytes - 19)}"}`
    expect(body(MAX_BODY_BYTES)).toHaveLength(MAX_BODY_BYTES)
    expect((await send('/api/slots', body(MAX_BODY_BYTES))).status).toBe(201)
    const error = await errorOf(await send('/api/slots', body(MAX_BODY_BYTES + 1)))
    expect(error).toMatchObject({ status: 413, code: 'request.too_large', details: { limit_bytes: MAX_BODY_BYTES } })
  })

  it('without a length is counted as it comes', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest(
        { port: api.port, host: '127.0.0.1', path: '/api/slots', method: 'POST', headers: JSON_TYPE },
        (response) => {
          response.resume()
          resolve(response.statusCode)
        },
      )
      request.on('error', reject)
      for (let sent = 0; sent <= MAX_BODY_BYTES; sent += 65_536) request.write(' '.repeat(65_536))
      request.end()
    })
    expect(status).toBe(413)
  })
})

describe('a body with wrong fields: 422 that names each', () => {
  it.each([
    ['POST', '/api/slots', [1], 'body', /expected record/i],
    ['POST', '/api/slots', 'text', 'body', /expected record/i],
    ['POST', '/api/slots/agent/rename', {}, 'to', /to: /],
    ['POST', '/api/slots/agent/rename', { to: '' }, 'to', /expected a name/],
    ['POST', '/api/slots/agent/rename', { to: 'a', form: 1 }, 'form', /no such field; known are to/],
    ['POST', '/api/slots/agent/swap', { model: 'x' }, 'model_id', /model: there is no such field/],
    ['POST', '/api/slots/reseed', { name: ['a'] }, 'name', /did you mean names\?/],
    ['POST', '/api/profiles', { name: 'A B' }, 'name', /1 to 32 of a-z/],
    ['POST', '/api/profiles', { name: 'a', mtp: true }, 'mtp', /speculation/],
    ['PUT', '/api/profiles/a', { ctx_size: 1 }, 'ctx_size', /at least 256 tokens/],
    ['PUT', '/api/profiles/a', { speculation: 'on' }, 'speculation', /"auto", "off" or "ngram"/],
    ['PUT', '/api/profiles/a', { name: 'b' }, 'name', /no such field/],
    [
      'POST',
      '/api/profiles/import',
      { envelope: { ...ENVELOPE, schema_version: 2 } },
      'envelope.schema_version',
      /newer/,
    ],
    [
      'POST',
      '/api/profiles/import',
      { envelope: { ...ENVELOPE, profiles: { a: { flag: '' } } } },
      'envelope.profiles.a.flag',
      /did you mean flags\?/,
    ],
    ['POST', '/api/models', { path: 'relative.gguf' }, 'path', /absolute path/],
    ['POST', '/api/models', { path: '/m', sha256: 'x' }, 'sha256', /64 hex digits/],
    ['PUT', '/api/models/a', { ctx: 1 }, 'ctx', /no such field; .*known are path/],
    ['POST', '/api/models/scan', { folder: 'x' }, 'folder', /absolute path/],
    ['POST', '/api/models/inspect', {}, 'path', /path: /],
    ['POST', '/api/models/a/pull', { repo: 'no-slash' }, 'repo', /org\/name/],
    ['POST', '/api/models/a/pull', { file: 'a.bin' }, 'file', /\.gguf/],
  ])('%s %s %j', async (method, path, body, param, message) => {
    const error = await errorOf(await send(path, JSON.stringify(body), JSON_TYPE, method))
    expect(error).toMatchObject({
      status: 422,
      code: 'validation.invalid',
      param,
      message: expect.stringMatching(message),
    })
    expect(api.ports.asked).toEqual([])
  })

  it.each([
    ['DELETE', '/api/slots/agent?force=1', 'force'],
    ['DELETE', '/api/slots/agent?drain_s=x', 'drain_s'],
    ['DELETE', '/api/models/a?delete_files=yes', 'delete_files'],
    ['GET', '/api/profiles/export?name=a', 'name'],
    ['POST', '/api/slots/agent/swap?persist=true', 'persist'],
  ])('%s %s', async (method, path, param) => {
    const error = await errorOf(
      await fetch(api.url + path, {
        method,
        ...(method === 'POST' ? { body: '{"model_id":"x"}', headers: JSON_TYPE } : {}),
      }),
    )
    expect(error).toMatchObject({ status: 422, code: 'validation.invalid', param })
  })

  it('a key called __proto__ is refused, and changes nothing', async () => {
    const error = await errorOf(await send('/api/slots', '{"name":"a","__proto__":{"x":1}}'))
    expect(error).toMatchObject({
      status: 400,
      code: 'request.invalid',
      message: expect.stringContaining('"__proto__"'),
    })
    expect(api.ports.asked).toEqual([])
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false)
  })
})

it('an address with a / in the id that is not encoded says how it is written', async () => {
  const error = await errorOf(await fetch(`${api.url}/api/models/org/name.q8`))
  expect(error).toMatchObject({ status: 404, message: expect.stringContaining('%2F') })
})

describe('the stream of a pull', () => {
  const path = '/api/models/org%2Fname.q8/pull/stream'

  it('sends the job at each change and ends with it', async () => {
    const done = { ...JOB, state: 'done' as const, done_bytes: 1_000_000 }
    api.ports.setJobs([JOB, done])
    api.ports.endFollow()
    const response = await fetch(api.url + path)
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const events = (await response.text()).split('\n\n').filter((text) => text.startsWith('event:'))
    expect(events).toEqual([JOB, done].map((job) => `event: pull\ndata: ${JSON.stringify(job)}`))
  })

  it('a reader that leaves ends the following', async () => {
    const leaving = new AbortController()
    const response = await fetch(api.url + path, { signal: leaving.signal })
    const reader = response.body?.getReader()
    await reader?.read()
    leaving.abort()
    await expect.poll(() => api.ports.asked).toContain('left org/name.q8')
  })

  it('ends when the daemon stops', async () => {
    const response = await fetch(api.url + path)
    api.close()
    expect(await response.text()).toContain('event: pull')
  })

  it('answers HEAD without opening it', async () => {
    const response = await fetch(api.url + path, { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
  })
})

describe('OpenAPI', () => {
  it('names the body of every route that has one, with its fields', async () => {
    const document = (await (await fetch(`${api.url}/api/openapi.json`)).json()) as {
      paths: Record<
        string,
        Record<string, { middleware?: unknown; requestBody?: { required?: boolean; content: object } }>
      >
    }
    const bodies = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, { requestBody }]) =>
        requestBody === undefined ? [] : [`${method} ${path}${requestBody.required === true ? '' : ' (optional)'}`],
      ),
    )
    expect(bodies.toSorted()).toEqual([
      'patch /api/reservations/{id}',
      'patch /api/slots/{name}/defaults',
      'patch /api/users/{user}',
      'post /api/comfyui/pin',
      'post /api/comfyui/switchover',
      'post /api/keys',
      'post /api/lanes',
      'post /api/lanes/{name}/manual',
      'post /api/models',
      'post /api/models/inspect',
      'post /api/models/scan (optional)',
      'post /api/models/{id}/pull (optional)',
      'post /api/notifications/read (optional)',
      'post /api/profiles',
      'post /api/profiles/import',
      'post /api/reservations',
      'post /api/reservations/check',
      'post /api/reservations/{id}/extend',
      'post /api/reservations/{id}/reject (optional)',
      'post /api/session',
      'post /api/session/set-up',
      'post /api/slots',
      'post /api/slots/reseed (optional)',
      'post /api/slots/{name}/rename',
      'post /api/slots/{name}/swap',
      'post /api/users',
      'put /api/lanes/{name}/config',
      'put /api/models/{id}',
      'put /api/profiles/{name}',
      'put /api/slots/{name}/config',
    ])
    const rename = document.paths['/api/slots/{name}/rename']?.['post']
    expect(rename?.middleware).toBeUndefined()
    expect(JSON.stringify(rename?.requestBody)).toContain('"required":["to"]')
  })
})

describe('a body that no settings can hold', () => {
  // The first exhausted the stack (500), the second was taken and lost without a word.
  it.each([
    [`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`, /nested more than 32 levels/],
    ['{"tune": {"__proto__": {"ctx_size": 1}}}', /"__proto__"/],
  ] as const)('%.30s', async (body, message) => {
    for (const [method, path] of [
      ['PUT', '/api/slots/agent/config'],
      ['POST', '/api/profiles'],
    ] as const) {
      const error = await errorOf(await send(path, body, JSON_TYPE, method))
      expect(error).toMatchObject({
        status: 400,
        code: 'request.invalid',
        param: 'body',
        message: expect.stringMatching(message),
      })
    }
    expect(api.ports.asked).toEqual([])
  })
})

it.each([
  ['PATCH', '/api/slots/agent/defaults', '{"default_voice":"\\ud800"}', ['default_voice']],
  [
    'PUT',
    '/api/slots/agent/config',
    '{"aliases":["a","b\\udc00"],"tune":{"\\ud800":1}}',
    ['aliases.1', 'tune.\\ud800'],
  ],
  ['POST', '/api/profiles', '{"name":"a","intent":"\\ud800\\ud800\\udc00"}', ['intent']],
  ['POST', '/api/models/scan', '"\\udfff"', ['body']],
] as const)('%s %s %s: half of a character is told with its field', async (method, path, body, params) => {
  const error = await errorOf(await send(path, body, JSON_TYPE, method))
  expect(error).toMatchObject({ status: 422, code: 'validation.invalid', param: params[0] })
  expect(error.details['fields']).toMatchObject(
    params.map((param) => ({ param, message: expect.stringContaining('half of a character') })),
  )
  expect(api.ports.asked).toEqual([])
})

it('a character of two halves is one', async () => {
  expect((await send('/api/profiles', '{"name":"a","intent":"\\ud83d\\ude00"}')).status).toBe(201)
})

it('a connection with a body that is not read to its end is not offered for the next request', async () => {
  const answers = await new Promise<string>((resolve, reject) => {
    const socket = connect(api.port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8').on('error', reject)
    socket.on('data', (piece) => {
      text += piece
      if (!text.includes('\r\n\r\n')) return
      socket.destroy()
      resolve(text)
    })
    socket.write(`POST /api/slots HTTP/1.1\r\nHost: 127.0.0.1:${api.port}\r\nContent-Type: application/json\r\n`)
    socket.write(`Content-Length: ${4 * MAX_BODY_BYTES}\r\n\r\n${' '.repeat(MAX_BODY_BYTES + 1)}`)
  })
  expect(answers).toMatch(/^HTTP\/1\.1 413 /)
  expect(answers).toMatch(/^connection: close\r$/im)
})

describe('a query that a route does not describe', () => {
  it.each([
    ['GET', '/api/models?x=1&y=2&x=3', ['x', 'y']],
    ['DELETE', '/api/profiles/long?force=true', ['force']],
    ['GET', '/api/models/org%2Fname?drain=1', ['drain']],
    ['GET', '/api/slots?=', ['']],
    ['DELETE', '/api/models/a?delete_file=true', ['delete_file']],
  ] as const)('%s %s', async (method, path, names) => {
    const error = await errorOf(await fetch(api.url + path, { method }))
    expect(error).toMatchObject({ status: 422, code: 'validation.invalid', param: names[0] })
    expect(error.details['fields']).toMatchObject(names.map((param) => ({ param })))
    expect(api.ports.asked).toEqual([])
  })

  it('an address that does not exist stays one', async () => {
    expect((await fetch(`${api.url}/api/nope?x=1`)).status).toBe(404)
    expect((await fetch(`${api.url}/api/health?`)).status).toBe(200)
  })
})

it('the id of a pull is an id, before the pull begins', async () => {
  const error = await errorOf(await send('/api/models/not%20an%20id/pull', '{"repo":"org/name"}'))
  expect(error).toMatchObject({ status: 422, code: 'validation.invalid', param: 'id' })
  expect(api.ports.asked).toEqual([])
})
