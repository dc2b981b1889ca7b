import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { runCli } from '../support/run-cli.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { USAGE } from '../support/stub-ports.ts'

let userFolder = ''
let api: TestApi
beforeAll(async () => {
  userFolder = await mkdtemp(join(tmpdir(), 'hal0-usage-'))
})
afterAll(() => rm(userFolder, { recursive: true, force: true }))
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.stop())

interface Asked {
  readonly fromMs: number
  readonly toMs: number
  readonly by: string
}
/** What the store was asked last. */
const asked = (): Asked =>
  JSON.parse(
    api.ports.asked.findLast((line) => line.startsWith('usage.report'))?.replace('usage.report ', '') ?? '{}',
  ) as Asked
const get = (query: string) => fetch(`${api.url}/api/usage${query}`)
const DAY_MS = 86_400_000

describe('GET /api/usage', () => {
  it('tells the last seven days by slot when nobody says otherwise', async () => {
    const before = Date.now()
    const response = await get('')
    expect([response.status, await response.json()]).toEqual([200, USAGE])
    const { fromMs, toMs, by } = asked()
    expect([toMs - fromMs, by, toMs >= before]).toEqual([7 * DAY_MS, 'slot', true])
  })

  it.each<[string, Asked]>([
    [
      '?from=2026-01-01&to=2026-01-02T12:30:00%2B02:00&by=hour',
      { fromMs: Date.UTC(2026, 0, 1), toMs: Date.UTC(2026, 0, 2, 10, 30), by: 'hour' },
    ],
    ['?to=2026-01-08', { fromMs: Date.UTC(2026, 0, 1), toMs: Date.UTC(2026, 0, 8), by: 'slot' }],
    [
      '?from=2026-01-01T00:00:00.001Z&to=2026-01-01T00:00Z',
      { fromMs: Number.NaN, toMs: Number.NaN, by: 'refused: from is later' },
    ],
  ])('%s', async (query, expected) => {
    const { status } = await get(query)
    if (Number.isNaN(expected.fromMs)) expect([status, api.ports.asked]).toEqual([422, []])
    else expect([status, asked()]).toEqual([200, expected])
  })

  it.each([
    ['?by=month', 'by'],
    ['?from=yesterday', 'from'],
    ['?from=2026-13-01', 'from'],
    ['?from=2026-02-30', 'from'],
    ['?to=2027-02-29T10:00:00%2B02:00', 'to'],
    ['?to=2026-01-01T10:00:00', 'to'],
    ['?from=1767225600000', 'from'],
    ['?since=7d', 'since'],
    ['?from=2026-01-02&to=2026-01-02', 'from'],
  ])('%s is refused', async (query, param) => {
    const response = await get(query)
    expect([response.status, await response.json()]).toMatchObject([
      422,
      { error: { code: 'validation.invalid', param } },
    ])
    expect(api.ports.asked).toEqual([])
  })

  it('reaches the client', async () => {
    const report = await createClient({ baseUrl: api.url }).usage({ by: 'day', from: '2026-01-01', to: '2026-01-02' })
    expect([report.by, report.total, asked().by]).toEqual(['day', USAGE.total, 'day'])
  })
})

describe('hal0 usage', () => {
  const hal0 = (...args: string[]) => runCli(['usage', ...args, '--url', api.url], { userFolder })

  it('prints a line for each group, and one for all', async () => {
    const { code, stdout } = await hal0()
    expect([code, stdout]).toEqual([
      0,
      'agent\t3\t1\t40\t500\t8\t1\t2 min\n-\t2\t2\t40\t500\t8\t1\t2 min\ntotal\t5\t3\t40\t500\t8\t1\t2 min\n',
    ])
    const { fromMs, toMs, by } = asked()
    expect([Math.round((toMs - fromMs) / DAY_MS), by]).toEqual([7, 'slot'])
  })

  it('takes what to sum by and since when', async () => {
    const { code, stdout } = await hal0('--by', 'route', '--since', '2w', '--json')
    expect([code, JSON.parse(stdout)]).toEqual([0, { ...USAGE, by: 'route' }])
    const { fromMs, toMs, by } = asked()
    expect([Math.round((toMs - fromMs) / DAY_MS), by]).toEqual([14, 'route'])
  })

  it.each([
    ['--by', 'month'],
    ['--since', '7'],
    ['--since', '0d'],
    ['--since', '7m'],
  ])('%s %s is wrong usage', async (...args) => {
    expect((await hal0(...args)).code).toBe(2)
    expect(api.ports.asked).toEqual([])
  })
})
