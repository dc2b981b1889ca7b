import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { parseMetrics } from '../support/parse-metrics.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { CAPACITY, LOAD } from '../support/stub-ports.ts'

let api: TestApi
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.stop())

const get = (path: string, init?: RequestInit) => fetch(api.url + path, init)
const errorOf = async (response: Response) => [response.status, ((await response.json()) as ErrorBody).error.code]
interface ErrorBody {
  readonly error: { readonly code: string; readonly param: string | null }
}

describe('the loads of a slot', () => {
  it.each([
    ['', 20],
    ['?limit=1', 1],
    ['?limit=200', 200],
  ])('%s: as many as are asked for', async (query, limit) => {
    const response = await get(`/api/slots/coder/loads${query}`)
    expect([response.status, await response.json()]).toEqual([200, { loads: [{ ...LOAD, slot: 'coder' }] }])
    expect(api.ports.asked).toEqual([`loads.recent "coder" ${limit}`])
  })

  it.each(['?limit=0', '?limit=201', '?limit=1.5', '?limit=', '?limt=5'])('%s is refused', async (query) => {
    expect(await errorOf(await get(`/api/slots/agent/loads${query}`))).toEqual([422, 'validation.invalid'])
    expect(api.ports.asked).toEqual([])
  })

  it('of a slot that is not there are not found', async () => {
    expect(await errorOf(await get('/api/slots/nobody/loads'))).toEqual([404, 'slot.not_found'])
  })

  it('reach the client', async () => {
    const { slots } = createClient({ baseUrl: api.url })
    expect(await slots.loads('agent', { limit: 3 })).toEqual([LOAD])
    expect(api.ports.asked).toEqual(['loads.recent "agent" 3'])
  })
})

describe('capacity', () => {
  it('is what the daemon reads now', async () => {
    expect(await (await get('/api/capacity')).json()).toEqual(CAPACITY)
    expect(await createClient({ baseUrl: api.url }).capacity()).toEqual(CAPACITY)
  })

  it('takes no parameters', async () => {
    expect(await errorOf(await get('/api/capacity?slot=agent'))).toEqual([422, 'validation.invalid'])
  })
})

describe('/metrics', () => {
  it('is Prometheus text, whatever a scraper adds to the address', async () => {
    const metrics = createMetrics({ rows: () => api.slots.rows() })
    Object.assign(api.ports, { metrics: () => metrics.render() })
    for (const path of ['/metrics', '/metrics?collect[]=slots']) {
      const response = await get(path)
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        'text/plain; version=0.0.4; charset=utf-8',
      ])
      const up = parseMetrics(await response.text()).get('hal0_slot_up')?.samples
      expect(up?.map(({ labels, value }) => [labels['slot'], value])).toEqual([
        ['agent', 1],
        ['coder', 0],
      ])
    }
  })

  it('is closed to pages of other sites and to other names of this machine, like /api', async () => {
    expect(await errorOf(await get('/metrics', { headers: { origin: 'http://evil.example' } }))).toEqual([
      401,
      'auth.required',
    ])
    expect(api.ports.asked).toEqual([])
  })

  it('takes GET only, and answers HEAD without a body', async () => {
    const post = await get('/metrics', { method: 'POST' })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    const head = await get('/metrics', { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })
})

it('all three are in the OpenAPI document', async () => {
  const { paths } = (await (await get('/api/openapi.json')).json()) as { paths: Record<string, object> }
  expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/api/slots/{name}/loads', '/api/capacity', '/metrics']))
})
