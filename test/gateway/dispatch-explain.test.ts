import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { runCli } from '../support/run-cli.ts'
import { EXPLANATION, startApi, type TestApi } from '../support/start-api.ts'

let api: TestApi
let userFolder = ''
beforeEach(async () => {
  api = await startApi()
  userFolder = await mkdtemp(join(tmpdir(), 'hal0-cli-route-'))
})
afterEach(async () => {
  await api.stop()
  await rm(userFolder, { recursive: true, force: true })
})

const get = (query: string) => fetch(`${api.url}/api/dispatch/explain${query}`)

describe('GET /api/dispatch/explain', () => {
  it.each([
    ['', '', '/v1/chat/completions'],
    ['?model=', '', '/v1/chat/completions'],
    ['?model=hal0%2Futility', 'hal0/utility', '/v1/chat/completions'],
    ['?model=a%20b&path=/v1/embeddings', 'a b', '/v1/embeddings'],
  ])('%s', async (query, model, path) => {
    const answer = await get(query)
    expect([answer.status, await answer.json()]).toEqual([200, { ...EXPLANATION, model, path }])
  })

  it.each([['?path=v1'], ['?modell=x'], [`?model=${'x'.repeat(1_001)}`]])('422 for %.20s', async (query) => {
    const answer = await get(query)
    expect([answer.status, await answer.json()]).toMatchObject([422, { error: { code: 'validation.invalid' } }])
  })

  it('by the typed client', async () => {
    const client = createClient({ baseUrl: api.url })
    expect(await client.explainRoute({ model: 'x', path: '/v1/rerank' })).toMatchObject({
      model: 'x',
      path: '/v1/rerank',
    })
    expect(await client.explainRoute({})).toMatchObject({ model: '', path: '/v1/chat/completions' })
  })
})

describe('hal0 route', () => {
  const hal0 = (...args: string[]) => runCli([...args, '--url', api.url], { userFolder })

  it('says where the request goes, step by step', async () => {
    expect(await hal0('route', 'agent')).toEqual({
      code: 0,
      stdout: '"agent" on /v1/chat/completions goes to slot agent.\n\n1\tchosen\tslot name\n',
      stderr: '',
    })
    expect((await hal0('route', '--path', '/upstream/agent')).stdout).toMatch(
      /^A request to \/upstream\/agent goes to slot agent, to its engine as it is\.$/m,
    )
    expect((await hal0('route', '--path', '/v1/embeddings')).stdout).toMatch(
      /^A request to \/v1\/embeddings that names no model goes to slot agent\.$/m,
    )
  })

  it('as JSON', async () => {
    const run = await hal0('route', 'agent', '--json')
    expect(JSON.parse(run.stdout)).toEqual({ ...EXPLANATION, model: 'agent', path: '/v1/chat/completions' })
  })
})
