import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { runCli } from '../support/run-cli.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { CAPACITY, LOAD } from '../support/stub-ports.ts'
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
    [{ state: 'half_open', failures: 6, retry_after_s: 0 } as const, 'on trial after 6 failures'],
  ])('%j: slot list, slot show and status say it', async (breaker, text) => {
    api.slots.set(stubRow('coder', { state: 'error', breaker, message: 'it broke' }))
    const [list, show, status] = [await hal0('slot', 'list'), await hal0('slot', 'show', 'coder'), await hal0('status')]
    expect(list.stdout).toMatch(new RegExp(`^coder\\terror\\t.*\\t${text}; it broke$`, 'm'))
    const remedy = breaker.retry_after_s > 0 ? ' (hal0 slot load coder tries at once)' : ''
    expect(show.stdout).toContain(`breaker\t${text}${remedy}\n`)
    expect(status.stdout).toContain(`breaker\tcoder: ${text}\n`)
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

describe('slot show', () => {
  it('tells memory and the last loads with their phases', async () => {
    api.slots.set(stubRow('agent', { mem_bytes: 3_210_000_000, phases: LOAD.phases }))
    const { stdout } = await hal0('slot', 'show', 'agent')
    expect(stdout).toContain('memory\t3.2 GB\n')
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
    expect(stdout).toContain('memory\thost: 12.3 GB free of 64.0 GB, 4.1 GB promised to loads\n')
    expect(stdout).toContain('memory\tgpu0: free memory unknown\n')
    const json = JSON.parse((await hal0('status', '--json')).stdout)
    expect(json).toMatchObject({ version: '1.2.3', breakers: { coder: PARKED }, memory: CAPACITY.pools })
  })

  it('is told although memory cannot be read', async () => {
    api.ports.failWith(Hal0Error.of('internal', 'no'))
    const run = await hal0('status')
    expect([run.code, run.stdout.includes('memory\t')]).toEqual([0, false])
    expect(JSON.parse((await hal0('status', '--json')).stdout)).toMatchObject({ breakers: {}, memory: null })
  })
})
