import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { runCli } from '../support/run-cli.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { stubRow } from '../support/stub-slots-api.ts'

let userFolder = ''
let api: TestApi
beforeAll(async () => {
  userFolder = await mkdtemp(join(tmpdir(), 'hal0-cli-notes-'))
})
afterAll(() => rm(userFolder, { recursive: true, force: true }))
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.stop())

const hal0 = (...args: string[]) => runCli([...args, '--url', api.url], { userFolder })
const PROBLEM = 'no model "gone"'
const CANNOT = (name: string) => `slot ${name} cannot start like this: ${PROBLEM}\n`
const swapped = stubRow('agent', { model_id: 'twin', file_model_id: 'hello' })

describe('what was done, although a start would fail', () => {
  it('slot edit', async () => {
    api.ports.setProblem(PROBLEM)
    const run = await hal0('slot', 'edit', 'agent', '--priority', '1')
    expect(run).toMatchObject({ code: 0, stderr: CANNOT('agent') })
    expect(run.stdout).toMatch(/^slot agent: changed profile$/m)
    const json = await hal0('slot', 'edit', 'agent', '--priority', '1', '--json')
    expect(JSON.parse(json.stdout)).toMatchObject({ problem: PROBLEM })
    expect(json).toMatchObject({ code: 0, stderr: CANNOT('agent') })
  })

  it('slot create: the next step is not to load it', async () => {
    api.slots.set(stubRow('mine', { state: 'offline', pid: null, config_problem: PROBLEM }))
    const run = await hal0('slot', 'create', 'mine')
    expect(run).toEqual({ code: 0, stdout: 'slot mine is made, with hello and profile chat\n', stderr: CANNOT('mine') })
  })

  it('slot swap', async () => {
    api.slots.set({ ...swapped, config_problem: PROBLEM })
    const run = await hal0('slot', 'swap', 'agent', 'twin')
    expect(run).toMatchObject({ code: 0, stdout: 'slot agent is ready with twin\n' })
    expect(run.stderr).toContain(CANNOT('agent'))
  })

  it('slot list, rather than what failed before', async () => {
    api.slots.set(stubRow('agent', { config_problem: PROBLEM, state: 'error', message: 'old' }))
    api.slots.set(stubRow('coder', { config_problem: PROBLEM, state: 'offline', pid: null, message: 'old' }))
    const run = await hal0('slot', 'list')
    expect(run.stdout).toMatch(/^agent\terror\t.*\tno model "gone"$/m)
    expect(run.stdout).toMatch(/^coder\toffline\t.*\tno model "gone"$/m)
  })
})

describe('a model that was swapped in', () => {
  it('is told by slot list and slot show', async () => {
    api.slots.set(swapped)
    expect((await hal0('slot', 'list')).stdout).toMatch(
      /^agent\tready\ttwin\t.*\ttwin, swapped in; its file binds hello$/m,
    )
    expect((await hal0('slot', 'show', 'agent')).stdout).toMatch(/^model_id\ttwin, swapped in; its file binds hello$/m)
    expect(JSON.parse((await hal0('slot', 'show', 'agent', '--json')).stdout).model_id).toBe('twin')
  })

  it('is none where the file was edited, or binds what runs', async () => {
    api.slots.set({ ...swapped, restart_needed: ['model'] })
    expect((await hal0('slot', 'list')).stdout).toMatch(/^agent\t.*\trestart needed: model$/m)
    expect((await hal0('slot', 'show', 'coder')).stdout).toMatch(/^model_id\thello$/m)
  })

  it.each([
    ['hello', 'slot agent: twin is swapped in; the next restart runs hello, which its file binds\n'],
    [null, 'slot agent: twin is swapped in; the next restart runs twin again (its file binds none)\n'],
  ])('slot edit says what a restart runs: file binds %s', async (file_model_id, stderr) => {
    api.slots.set({ ...swapped, file_model_id })
    expect(await hal0('slot', 'edit', 'agent', '--priority', '1')).toMatchObject({ code: 0, stderr })
    api.slots.set({ ...swapped, state: 'offline', pid: null })
    expect(await hal0('slot', 'edit', 'agent', '--priority', '1')).toMatchObject({ code: 0, stderr: '' })
  })
})

it('slot create of any type has nothing to add', async () => {
  api.slots.set(stubRow('emb', { state: 'offline', pid: null, type: 'embedding' }))
  const run = await hal0('slot', 'create', 'emb', '--type', 'embedding', '--model', 'hello')
  expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/^slot emb is made/), stderr: '' })
})

describe('model pull of one word', () => {
  const refused = Hal0Error.of('validation.invalid', 'the model nope names no hf_repo', { param: 'repo' })

  it('that is neither a repository nor a model', async () => {
    // Nobody knows `nope`.
    expect(await hal0('model', 'pull', 'nope')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/"nope" is no repository and no model .*: expected ORG\/NAME\. \(usage\)\n/),
    })
  })

  it('that is a model: the daemon knows what is wrong with it', async () => {
    api.ports.failWith(refused)
    expect(await hal0('model', 'pull', 'mine')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the model nope names no hf_repo (validation.invalid)'),
    })
  })
})
