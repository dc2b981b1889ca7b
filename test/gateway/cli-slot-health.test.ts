import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { runCli } from '../support/run-cli.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { CAPACITY, LOAD, RESOLVED } from '../support/stub-ports.ts'
import { stubRow } from '../support/stub-slots-api.ts'

let userFolder = ''
let api: TestApi
beforeAll(async () => {
  userFolder = await mkdtemp(join(tmpdir(), 'hal0-cli-health-'))
})
afterAll(() => rm(userFolder, { recursive: true, force: true }))
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.stop())

const hal0 = (...args: string[]) => runCli([...args, '--url', api.url], { userFolder })
const PARKED = { state: 'parked', failures: 5, retry_after_s: 300 } as const

describe('the breaker', () => {
  it.each([
    [{ state: 'backoff', failures: 1, retry_after_s: 5 } as const, 'waiting after 1 failure, next try in 5 s'],
    [
      { state: 'backoff', failures: 2, retry_after_s: 0 } as const,
      'waiting after 2 failures, the next request tries again',
    ],
    [PARKED, 'parked after 5 failures, next try in 300 s'],
    [
      { state: 'half_open', failures: 6, retry_after_s: 0 } as const,
      'parked after 6 failures, the next request tries again',
    ],
  ])('%j: slot list, slot show and status say it', async (breaker, text) => {
    api.slots.set(stubRow('coder', { state: 'error', breaker, message: 'it broke' }))
    const [list, show, status] = [await hal0('slot', 'list'), await hal0('slot', 'show', 'coder'), await hal0('status')]
    expect(list.stdout).toMatch(new RegExp(`^coder\\terror\\t.*\\t${text}; it broke$`, 'm'))
    const remedy = breaker.retry_after_s > 0 ? ' (hal0 slot load coder tries at once)' : ''
    expect(show.stdout).toContain(`breaker\t${text}${remedy}\n`)
    expect(status.stdout).toContain(`breaker\tcoder: ${text}\n`)
  })

  it('is on trial only while the trial runs', async () => {
    api.slots.set(
      stubRow('coder', { state: 'warming', breaker: { state: 'half_open', failures: 6, retry_after_s: 0 } }),
    )
    expect((await hal0('status')).stdout).toContain('breaker\tcoder: on trial after 6 failures\n')
  })

  // It said "the next request tries again" of a slot that was ready.
  it('of a slot that has come up says that its failures still count', async () => {
    const breaker = { state: 'backoff', failures: 2, retry_after_s: 0 } as const
    api.slots.set(stubRow('coder', { state: 'ready', breaker }))
    expect((await hal0('slot', 'show', 'coder')).stdout).toContain('breaker\tup after 2 failures, not yet forgotten\n')
    expect((await hal0('status')).stdout).toContain('breaker\tcoder: up after 2 failures, not yet forgotten\n')
  })

  it('is silent while no failure counts', async () => {
    for (const args of [['slot', 'list'], ['slot', 'show', 'agent'], ['status']]) {
      expect((await hal0(...args)).stdout).not.toMatch(/breaker|parked/)
    }
  })
})

it('slot list tells which slots are away for images', async () => {
  api.slots.set(stubRow('coder', { state: 'offline', managed_by: 'arbiter', message: '' }))
  expect((await hal0('slot', 'list')).stdout).toMatch(/^coder\toffline\t.*\tunloaded for images, comes back$/m)
})

it('slot list: a slot that nobody asked for, and whose program is missing, is off and no error', async () => {
  const problem = 'runner "kokoro" cannot start: no program "kokoro-server" on PATH; install it'
  const fresh = stubRow('tts', { state: 'offline', pid: null, last_used_at: null, config_problem: problem })
  api.slots.set(fresh)
  expect((await hal0('slot', 'list')).stdout).toMatch(/^tts\t.*\toff, needs a program: kokoro-server$/m)
  // Wanted at each start, or asked for: the whole problem. It read like a crash: "waiting after 1 failure, next try in 5 s".
  for (const wanted of [{ autoload: true }, { state: 'error', breaker: PARKED } as const]) {
    api.slots.set({ ...fresh, ...wanted })
    expect((await hal0('slot', 'list')).stdout).toMatch(/^tts\t.*\trunner "kokoro" cannot start.*install it$/m)
  }
  expect((await hal0('slot', 'show', 'tts')).stdout).not.toContain('parked')
  const { stdout } = await hal0('status')
  expect(stdout).not.toContain('parked')
  expect(stdout).toContain('slot\ttts: needs a program: kokoro-server\n')
})

it('slot list tells how many requests a slot works on, and how many wait for it', async () => {
  api.slots.set(stubRow('coder', { in_flight: 4, queued: 2, message: '' }))
  expect((await hal0('slot', 'list')).stdout).toMatch(/^coder\t.*\t4\t2\t$/m)
})

it('a slot that rides the engine of the NPU has no model of its own, and none that was swapped in', async () => {
  const rider = {
    type: 'embedding',
    device: 'npu',
    runner: 'flm',
    model_id: 'llama3.2:1b',
    file_model_id: null,
  } as const
  api.slots.set(stubRow('flm-embed', { ...rider, message: 'rides slot flm' }))
  expect((await hal0('slot', 'list')).stdout).toMatch(/^flm-embed\tready\tllama3\.2:1b\t.*\trides slot flm$/m)
  expect((await hal0('slot', 'show', 'flm-embed')).stdout).toContain('model_id\tllama3.2:1b\n')
})

describe('slot show', () => {
  it('tells a context window only where the engine has one', async () => {
    const ctx = { ctx_effective: 8192, ctx_source: 'fallback' } as const
    api.slots.set(stubRow('agent', ctx))
    api.slots.set(stubRow('tts', { ...ctx, type: 'tts', runner: 'kokoro' }))
    expect((await hal0('slot', 'show', 'agent')).stdout).toContain('ctx_effective\t8192\nctx_source\tfallback\n')
    expect((await hal0('slot', 'show', 'tts')).stdout).not.toMatch(/ctx_|8192/)
  })

  it('slot resolved as well', async () => {
    const launch = { ...RESOLVED, ctx_effective: 8192, ctx_source: 'fallback' } as const
    Object.assign(api.ports.admin, { resolved: async () => launch })
    expect((await hal0('slot', 'resolved', 'agent')).stdout).toContain('context\t8192 (fallback)\n')
    Object.assign(api.ports.admin, { resolved: async () => ({ ...launch, runner: 'kokoro' }) })
    expect((await hal0('slot', 'resolved', 'agent')).stdout).not.toContain('context\t')
  })

  it('tells memory and the last loads with their phases', async () => {
    api.slots.set(stubRow('agent', { mem_bytes: 3_210_000_000, phases: LOAD.phases }))
    const { stdout } = await hal0('slot', 'show', 'agent')
    expect(stdout).toContain('memory\t3.0 GiB\n')
    expect(stdout).toMatch(
      /^load\t2026-01-01T00:00:00\.000Z hello: ready after 2300 ms \(spawn 40 ms, warm 2000 ms, sanity 260 ms\)$/m,
    )
    expect(api.ports.asked).toEqual(['loads.recent "agent" 5'])
    expect(JSON.parse((await hal0('slot', 'show', 'agent', '--json')).stdout)).toMatchObject({
      name: 'agent',
      loads: [LOAD],
    })
  })

  it('tells how a load failed, and what the row knows where no load is kept', async () => {
    const failed = {
      ...LOAD,
      outcome: 'failed',
      code: 'slot.spawn_failed',
      model_id: null,
      phases: {},
      took_ms: 7,
    } as const
    Object.assign(api.ports, { loads: { recent: () => [failed] } })
    expect((await hal0('slot', 'show', 'agent')).stdout).toMatch(
      /^load\t2026-01-01T00:00:00\.000Z: failed \(slot\.spawn_failed\) after 7 ms$/m,
    )
    Object.assign(api.ports, { loads: { recent: () => [] } })
    api.slots.set(stubRow('agent', { phases: { warm: 12.4 } }))
    expect((await hal0('slot', 'show', 'agent')).stdout).toMatch(/^last load\twarm 12 ms$/m)
  })
})

describe('status', () => {
  it('tells the memory of each pool', async () => {
    api.slots.set(stubRow('coder', { breaker: PARKED }))
    const { stdout } = await hal0('status')
    expect(stdout).toContain('memory\thost: 11.5 GiB free of 59.6 GiB, 3.8 GiB promised to loads\n')
    expect(stdout).toContain('memory\tgpu0: free memory unknown\n')
    const json = JSON.parse((await hal0('status', '--json')).stdout)
    expect(json).toMatchObject({ version: '1.2.3', breakers: { coder: PARKED }, memory: CAPACITY.pools })
  })

  // Only daemon.log said so.
  it('tells that the last good settings count, and that history is off', async () => {
    expect((await hal0('status')).stdout).not.toMatch(/^(settings|history|notices)\t/m)
    const problems = {
      settings_problem: 'hal0.toml: server.prot: unknown key',
      history_problem: 'no binding',
      notify_problem: 'by webhook: refused',
    }
    Object.assign(api.ports, { problems: () => problems })
    const { stdout } = await hal0('status')
    expect(stdout).toContain('notices\tby webhook: refused\n')
    expect(stdout).toContain('settings\twhat was there before still counts: hal0.toml: server.prot: unknown key\n')
    expect(stdout).toContain('history\toff, loads are not written: no binding\n')
    expect(JSON.parse((await hal0('status', '--json')).stdout)).toMatchObject(problems)
  })

  it('is told although memory cannot be read', async () => {
    api.ports.failWith(Hal0Error.of('internal', 'no'))
    const run = await hal0('status')
    expect([run.code, run.stdout.includes('memory\t')]).toEqual([0, false])
    expect(JSON.parse((await hal0('status', '--json')).stdout)).toMatchObject({ breakers: {}, memory: null })
  })
})
