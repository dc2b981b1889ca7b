import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { errorBodySchema } from '../../src/contract/error-body.ts'
import { operationSchema } from '../../src/contract/operation.ts'
import { type ErrorCode, errorRegistry } from '../../src/kernel/error-registry.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { ENVELOPE, FOUND, JOB, MODEL, PROFILE, RESOLVED } from '../support/stub-ports.ts'
import { stubRow } from '../support/stub-slots-api.ts'

let api: TestApi
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.stop())

/** A request with a JSON body, when there is one. */
function call(method: string, path: string, body?: unknown): Promise<Response> {
  const init = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  return fetch(api.url + path, { method, ...init })
}

const offline = (name: string) => stubRow(name, { state: 'offline', pid: null })
const CHANGE = { changed: ['profile'], restart_needed: ['profile'], problem: null }
const ID = '/api/models/org%2Fname.q8'

interface Route {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly asks: string
  readonly status: number
  readonly answer: unknown
  readonly location?: string
}

const routes: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/slots',
    body: { name: 'mine', model: { default: 'hello' } },
    asks: 'admin.create {"name":"mine","model":{"default":"hello"}}',
    status: 201,
    answer: offline('mine'),
    location: '/api/slots/mine',
  },
  {
    method: 'GET',
    path: '/api/slots/agent/config',
    asks: 'admin.config "agent"',
    status: 200,
    answer: { name: 'agent', config: { name: 'agent', model: { default: 'hello' } } },
  },
  {
    method: 'PUT',
    path: '/api/slots/agent/config',
    body: { profile: null, tune: { ctx_size: 4096 } },
    asks: 'admin.updateConfig "agent" {"profile":null,"tune":{"ctx_size":4096}}',
    status: 200,
    answer: { name: 'agent', config: { name: 'agent' }, ...CHANGE },
  },
  {
    method: 'PATCH',
    path: '/api/slots/agent/defaults',
    body: { default_voice: 'anna' },
    asks: 'admin.updateDefaults "agent" {"default_voice":"anna"}',
    status: 200,
    answer: { name: 'agent', config: { name: 'agent' }, ...CHANGE },
  },
  {
    method: 'DELETE',
    path: '/api/slots/agent',
    asks: 'admin.remove "agent" {"force":false,"drainMs":30000}',
    status: 204,
    answer: undefined,
  },
  {
    method: 'DELETE',
    path: '/api/slots/agent?force=false',
    asks: 'admin.remove "agent" {"force":false,"drainMs":30000}',
    status: 204,
    answer: undefined,
  },
  {
    method: 'DELETE',
    path: '/api/slots/agent?force=true&drain_s=1.5',
    asks: 'admin.remove "agent" {"force":true,"drainMs":1500}',
    status: 204,
    answer: undefined,
  },
  {
    method: 'POST',
    path: '/api/slots/coder/rename',
    body: { to: 'coder2' },
    asks: 'admin.rename "coder" "coder2"',
    status: 200,
    answer: offline('coder2'),
  },
  {
    method: 'POST',
    path: '/api/slots/coder/swap?drain_s=0',
    body: { model_id: 'org/name.q8' },
    asks: 'admin.swap "coder" {"modelId":"org/name.q8","persist":false,"drainMs":0}',
    status: 200,
    answer: { ...offline('coder'), queued: 1, model_id: 'org/name.q8' },
  },
  {
    method: 'GET',
    path: '/api/slots/agent/resolved',
    asks: 'admin.resolved "agent"',
    status: 200,
    answer: RESOLVED,
  },
  {
    method: 'POST',
    path: '/api/slots/reseed',
    asks: 'admin.reseed',
    status: 200,
    answer: { created: ['agent'], kept: ['coder'], skipped: [{ name: 'flm', reason: 'no NPU' }] },
  },
  {
    method: 'POST',
    path: '/api/slots/reseed',
    body: { names: ['agent'] },
    asks: 'admin.reseed ["agent"]',
    status: 200,
    answer: { created: ['agent'], kept: ['coder'], skipped: [{ name: 'flm', reason: 'no NPU' }] },
  },
  { method: 'GET', path: '/api/profiles', asks: 'profiles.list', status: 200, answer: { profiles: [PROFILE] } },
  {
    method: 'POST',
    path: '/api/profiles',
    body: { name: 'cool', from: 'chat', flags: '--temp 0.2' },
    asks: 'profiles.create {"name":"cool","from":"chat","flags":"--temp 0.2"}',
    status: 201,
    answer: { ...PROFILE, name: 'cool' },
    location: '/api/profiles/cool',
  },
  { method: 'GET', path: '/api/profiles/long', asks: 'profiles.show "long"', status: 200, answer: PROFILE },
  {
    method: 'PUT',
    path: '/api/profiles/long',
    body: { ctx_size: null, vision: 'off' },
    asks: 'profiles.update "long" {"ctx_size":null,"vision":"off"}',
    status: 200,
    answer: PROFILE,
  },
  { method: 'DELETE', path: '/api/profiles/long', asks: 'profiles.remove "long"', status: 204, answer: undefined },
  { method: 'GET', path: '/api/profiles/export', asks: 'profiles.exportEnvelope', status: 200, answer: ENVELOPE },
  {
    method: 'GET',
    path: '/api/profiles/export?names=a,%20b,',
    asks: 'profiles.exportEnvelope ["a","b"]',
    status: 200,
    answer: ENVELOPE,
  },
  {
    method: 'POST',
    path: '/api/profiles/import',
    body: { envelope: ENVELOPE, overwrite: true },
    asks: `profiles.importEnvelope ${JSON.stringify({ envelope: ENVELOPE, overwrite: true })}`,
    status: 200,
    answer: { created: ['long'], overwritten: [], skipped: [{ name: 'mine', reason: 'it is there' }] },
  },
  { method: 'GET', path: '/api/models', asks: 'models.list', status: 200, answer: { models: [MODEL] } },
  {
    method: 'POST',
    path: '/api/models',
    body: { id: 'org/name.q8', path: '/models/name.gguf' },
    asks: 'models.add {"id":"org/name.q8","path":"/models/name.gguf"}',
    status: 201,
    answer: MODEL,
    location: ID,
  },
  { method: 'GET', path: ID, asks: 'models.show "org/name.q8"', status: 200, answer: MODEL },
  {
    method: 'GET',
    path: '/api/models/org%2Fname%3Aq8',
    asks: 'models.show "org/name:q8"',
    status: 200,
    answer: { ...MODEL, id: 'org/name:q8' },
  },
  {
    method: 'PUT',
    path: ID,
    body: { mtp: null, tags: ['fast'] },
    asks: 'models.update "org/name.q8" {"mtp":null,"tags":["fast"]}',
    status: 200,
    answer: MODEL,
  },
  {
    method: 'DELETE',
    path: ID,
    asks: 'models.remove "org/name.q8" {"deleteFiles":false}',
    status: 200,
    answer: { id: 'org/name.q8', deleted_files: ['/models/name.gguf'], freed_bytes: 1000 },
  },
  {
    method: 'DELETE',
    path: `${ID}?delete_files=true`,
    asks: 'models.remove "org/name.q8" {"deleteFiles":true}',
    status: 200,
    answer: { id: 'org/name.q8', deleted_files: ['/models/name.gguf'], freed_bytes: 1000 },
  },
  {
    method: 'POST',
    path: '/api/models/scan',
    asks: 'models.scan {}',
    status: 200,
    answer: { found: [FOUND], registered: [], skipped: [{ path: '/models/x.gguf', reason: 'damaged' }], files_seen: 2 },
  },
  {
    method: 'POST',
    path: '/api/models/inspect',
    body: { path: '/models/name.gguf' },
    asks: 'models.inspect "/models/name.gguf"',
    status: 200,
    answer: FOUND,
  },
  {
    method: 'POST',
    path: `${ID}/pull`,
    body: { repo: 'org/name', quant: 'Q8_0' },
    asks: 'pulls.start "org/name.q8" {"repo":"org/name","quant":"Q8_0"}',
    status: 202,
    answer: JOB,
    location: `${ID}/pull`,
  },
  { method: 'POST', path: `${ID}/pull`, asks: 'pulls.start "org/name.q8" {}', status: 202, answer: JOB },
  { method: 'GET', path: `${ID}/pull`, asks: 'pulls.show "org/name.q8"', status: 200, answer: JOB },
  {
    method: 'DELETE',
    path: `${ID}/pull`,
    asks: 'pulls.cancel "org/name.q8"',
    status: 200,
    answer: { ...JOB, state: 'cancelled' },
  },
  { method: 'GET', path: '/api/pulls', asks: 'pulls.list', status: 200, answer: { pulls: [JOB] } },
  {
    method: 'GET',
    path: '/api/runners',
    asks: 'runners',
    status: 200,
    answer: { runners: [expect.objectContaining({ key: 'cpu' })] },
  },
  {
    method: 'GET',
    path: '/api/config/validate',
    asks: 'validate',
    status: 200,
    answer: { home: '/tmp/home', files: ['/tmp/home/etc/hal0/hal0.toml'], mistakes: [], warnings: [] },
  },
  {
    method: 'GET',
    path: '/api/settings',
    asks: 'settings',
    status: 200,
    answer: { file: '/tmp/home/etc/hal0/hal0.toml', settings: { server: { host: '127.0.0.1', port: 8080 } } },
  },
]

describe('each route asks its port and passes the answer on', () => {
  it.each(routes)('$method $path', async ({ method, path, body, asks, status, answer, location }) => {
    const response = await call(method, path, body)
    const text = await response.text()
    expect([response.status, text === '' ? undefined : JSON.parse(text)]).toEqual([status, answer])
    expect(api.ports.asked).toEqual([asks])
    if (location !== undefined) expect(response.headers.get('location')).toBe(location)
  })
})

/** What each route's port may refuse, as its interface says. */
const refusals: readonly (readonly [string, string, unknown, readonly ErrorCode[]])[] = [
  [
    'POST',
    '/api/slots',
    { name: 'mine' },
    [
      'slot.exists',
      'slot.tuning_key_denied',
      'slot.llama_env_denied',
      'slot.config_error',
      'validation.invalid',
      'model.not_found',
      'slot.profile_missing',
    ],
  ],
  ['GET', '/api/slots/agent/config', undefined, ['slot.not_found', 'config.invalid']],
  ['PUT', '/api/slots/agent/config', {}, ['slot.unconverted', 'slot.tuning_key_denied', 'config.invalid']],
  ['PATCH', '/api/slots/agent/defaults', {}, ['slot.tuning_key_denied', 'validation.invalid']],
  ['DELETE', '/api/slots/agent', undefined, ['slot.pinned', 'slot.terminate_timeout']],
  ['POST', '/api/slots/agent/rename', { to: 'b' }, ['slot.illegal_transition', 'slot.exists', 'slot.pinned']],
  [
    'POST',
    '/api/slots/agent/swap',
    { model_id: 'x' },
    ['model.not_found', 'slot.spawn_failed', 'slot.flag_unsupported'],
  ],
  ['GET', '/api/slots/agent/resolved', undefined, ['slot.profile_missing', 'slot.flag_unsupported']],
  ['POST', '/api/slots/reseed', undefined, ['slot.not_found', 'config.invalid']],
  ['GET', '/api/profiles', undefined, ['config.invalid']],
  ['POST', '/api/profiles', { name: 'a' }, ['profile.exists', 'profile.not_found', 'profile.flag_denied']],
  ['PUT', '/api/profiles/a', {}, ['profile.immutable', 'profile.not_found']],
  ['DELETE', '/api/profiles/a', undefined, ['profile.in_use', 'profile.immutable']],
  ['GET', '/api/profiles/export?names=a', undefined, ['profile.not_found']],
  ['POST', '/api/profiles/import', { envelope: ENVELOPE }, ['validation.invalid', 'profile.flag_denied']],
  ['POST', '/api/models', { path: '/m' }, ['model.exists', 'slot.model_missing', 'validation.invalid']],
  ['PUT', ID, {}, ['model.not_found']],
  ['DELETE', ID, undefined, ['model.in_use']],
  ['POST', '/api/models/scan', undefined, ['validation.invalid']],
  ['POST', '/api/models/inspect', { path: '/m' }, ['slot.model_missing', 'slot.config_error']],
  ['POST', `${ID}/pull`, undefined, ['pull.in_progress', 'hub.unreachable', 'model.insufficient_disk', 'model.exists']],
  ['GET', `${ID}/pull`, undefined, ['model.not_found']],
  ['GET', `${ID}/pull/stream`, undefined, ['model.not_found']],
  ['DELETE', `${ID}/pull`, undefined, ['model.not_found']],
  ['GET', '/api/config/validate', undefined, ['config.invalid']],
]

describe('what a port refuses is the answer', () => {
  const rows = refusals.flatMap(([method, path, body, codes]) => codes.map((code) => ({ method, path, body, code })))
  it.each(rows)('$method $path: $code', async ({ method, path, body, code }) => {
    const status = errorRegistry[code].status
    const error = Hal0Error.of(code as 'slot.pinned', 'because of this', { param: 'that', details: { slots: ['a'] } })
    api.ports.failWith(error)
    const response = await call(method, path, body)
    expect(response.status).toBe(status)
    expect(errorBodySchema.parse(await response.json()).error).toMatchObject({
      code,
      message: 'because of this',
      param: 'that',
      details: { slots: ['a'] },
    })
  })
})

describe('a model that a slot runs although its file binds another', () => {
  const twin = { model_id: 'twin', file_model_id: 'hello' }

  it('is not deleted; every user is named, and how each gets rid of it', async () => {
    api.slots.set(stubRow('agent', twin))
    api.slots.set(stubRow('coder', { ...twin, file_model_id: null, state: 'starting', pid: null }))
    const response = await call('DELETE', '/api/models/twin?delete_files=true')
    expect(response.status).toBe(409)
    const { error } = errorBodySchema.parse(await response.json())
    expect(error).toMatchObject({ code: 'model.in_use', details: { model: 'twin', slots: ['agent', 'coder'] } })
    expect(error.message).toContain('slot agent (it runs there now), slot coder (it runs there now)')
    expect(error.details['remedy']).toBe(
      'Let each run another model first: `hal0 slot restart agent`, `hal0 slot unload coder`.',
    )
    expect(api.ports.asked).toEqual(['models.show "twin"'])
  })

  it('names those whose files bind it too', async () => {
    api.slots.set(stubRow('other', twin))
    // The stub's models are all bound by agent.
    const { error } = errorBodySchema.parse(await (await call('DELETE', '/api/models/twin')).json())
    expect(error.details).toMatchObject({ slots: ['other', 'agent'] })
    expect(error.details['remedy']).toContain('`hal0 slot edit agent --model ID`')
  })

  it('is deleted once nothing runs it', async () => {
    api.slots.set(stubRow('agent', { ...twin, state: 'error', pid: null }))
    expect((await call('DELETE', '/api/models/twin')).status).toBe(200)
  })
})

describe('swap is an operation like load', () => {
  it('wait=0 answers 202, and the operation tells its end', async () => {
    const response = await call('POST', '/api/slots/agent/swap?wait=0', { model_id: 'x', persist: true })
    expect(response.status).toBe(202)
    const operation = operationSchema.parse(await response.json())
    expect(operation).toMatchObject({ kind: 'swap', slot: 'agent' })
    const location = response.headers.get('location') ?? ''
    await expect
      .poll(async () => (await call('GET', location)).json())
      .toMatchObject({ state: 'done', result: { name: 'agent', model_id: 'x' } })
    expect(api.ports.asked).toEqual(['admin.swap "agent" {"modelId":"x","persist":true,"drainMs":30000}'])
  })
})

describe('a slot that nobody knows is told by name, before its port is asked', () => {
  it.each([
    ['GET', '/api/slots/nope/config', undefined],
    ['PUT', '/api/slots/nope/config', {}],
    ['PATCH', '/api/slots/nope/defaults', {}],
    ['DELETE', '/api/slots/nope', undefined],
    ['POST', '/api/slots/nope/rename', { to: 'a' }],
    ['POST', '/api/slots/nope/swap?wait=0', { model_id: 'x' }],
    ['GET', '/api/slots/nope/resolved', undefined],
  ])('%s %s', async (method, path, body) => {
    const response = await call(method, path, body)
    expect(response.status).toBe(404)
    const { error } = errorBodySchema.parse(await response.json())
    expect(error).toMatchObject({ code: 'slot.not_found', message: expect.stringContaining('nope') })
    expect(api.ports.asked).toEqual([])
  })
})
