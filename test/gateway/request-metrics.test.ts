import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { startDaemon } from '../../src/daemon.ts'
import { eventually, startTestDaemon, type TestDaemon } from '../support/daemon-harness.ts'
import { parseMetrics } from '../support/parse-metrics.ts'
import { seriesOf } from '../support/series.ts'

const scrape = async ({ daemon }: TestDaemon) => parseMetrics(await (await fetch(`${daemon.url}/metrics`)).text())
const requestsOf = async (world: TestDaemon) => seriesOf(await scrape(world), 'hal0_requests_total')
const sum = (series: Record<string, number>) => Object.values(series).reduce((all, one) => all + one, 0)
const CHAT = 'slot=a,route=/v1/chat/completions'

/** The lines of the daemon's log that are the ends of requests. */
async function lines({ home }: TestDaemon): Promise<Record<string, unknown>[]> {
  const text = await readFile(join(home.varLog, 'daemon.log'), 'utf8')
  const all = text.trimEnd().split('\n')
  return all.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ msg }) => msg === 'request')
}

it('whoever has their answer finds it counted and summed', async () => {
  const world = await startTestDaemon({ a: {} })
  const client = createClient({ baseUrl: world.daemon.url })
  for (let n = 1; n <= 20; n++) {
    await (await world.chat({ stream: n % 2 === 0 })).text()
    if (n % 4 < 2) expect((await requestsOf(world))[`${CHAT},code=200`]).toBe(n)
    else expect((await client.usage({})).total.requests).toBe(n)
  }
})

it('every request is counted, logged and summed once, whatever became of it', async () => {
  const world = await startTestDaemon({ a: {}, b: {} })
  const { url } = world.daemon
  expect((await requestsOf(world))[`${CHAT},code=200`]).toBe(0)
  const engine = await world.load('a')

  const answers: Response[] = []
  for (let n = 0; n < 3; n++) answers.push(await world.chat({}))
  answers.push(await world.chat({ stream: true }))
  answers.push(await fetch(`${url}/v1/models`))
  answers.push(await fetch(`${url}/v1/nothing?key=sk-secret`))
  answers.push(await world.chat({ model: 'b', messages: 'no list' }))
  answers.push(await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{' }))
  for (const answer of answers) await answer.text()
  await engine.setKnobs({ hold_after_tokens: 2 })
  const leaving = new AbortController()
  const stream = await world.chat({ stream: true }, { signal: leaving.signal })
  await stream.body?.getReader().read()
  leaving.abort()

  const count = answers.length + 1
  await eventually(async () => sum(await requestsOf(world)) >= count)
  const families = await scrape(world)
  const requests = seriesOf(families, 'hal0_requests_total')
  expect(sum(requests)).toBe(count)
  expect(requests[`${CHAT},code=200`]).toBe(5)
  expect(sum(seriesOf(families, 'hal0_request_duration_seconds', '_count'))).toBe(count)
  expect(seriesOf(families, 'hal0_request_duration_seconds', '_count')[CHAT]).toBeGreaterThanOrEqual(5)
  expect(seriesOf(families, 'hal0_ttft_seconds', '_count')['slot=a']).toBe(5)
  const tokens = seriesOf(families, 'hal0_tokens_total')
  expect(tokens['slot=a,kind=prompt']).toBeGreaterThan(0)
  expect(tokens['slot=a,kind=completion']).toBeGreaterThan(0)

  await eventually(async () => (await lines(world)).length >= count)
  const logged = await lines(world)
  expect(logged).toHaveLength(count)
  expect(JSON.stringify(logged)).not.toContain('sk-secret')
  expect(logged.filter(({ slot, status }) => slot === 'a' && status === 200)).toHaveLength(5)
  expect(logged[0]).toMatchObject({
    level: 30,
    method: 'POST',
    route: '/v1/chat/completions',
    request_id: answers[0]?.headers.get('x-request-id'),
    ttft_ms: expect.any(Number),
    completion_tokens: expect.any(Number),
  })
  expect(logged.at(-1)).toMatchObject({ slot: 'a', failure: 'client_gone' })

  const client = createClient({ baseUrl: url })
  const report = await client.usage({ by: 'slot' })
  expect(report.total.requests).toBe(count)
  const ofSlot = report.groups.find(({ key }) => key === 'a')
  expect(ofSlot).toMatchObject({
    prompt_tokens: tokens['slot=a,kind=prompt'],
    completion_tokens: tokens['slot=a,kind=completion'],
  })
  expect((await client.usage({ by: 'route' })).groups.map(({ key }) => key)).toContain('/v1/chat/completions')
})

it('usage outlives the daemon: what was not written yet is written when it stops', async () => {
  const world = await startTestDaemon({ a: {} })
  await world.load('a')
  for (let n = 0; n < 3; n++) await (await world.chat({})).text()
  await world.daemon.stop({ drainMs: 1_000 })
  const again = await startDaemon({ home: world.home, port: 0 })
  try {
    const report = await createClient({ baseUrl: again.url }).usage({ by: 'route' })
    expect(report.groups.map(({ key, requests }) => [key, requests])).toEqual([['/v1/chat/completions', 3]])
  } finally {
    await again.stop({ drainMs: 0 })
  }
})

it('a slot that is deleted takes its series along', async () => {
  const world = await startTestDaemon({ a: {}, b: {} })
  await world.load('a')
  await (await world.chat({})).text()
  await eventually(async () => (await requestsOf(world))[`${CHAT},code=200`] === 1)
  await createClient({ baseUrl: world.daemon.url }).slots.remove('a', { force: true })
  const families = await scrape(world)
  const series = [...families.values()].flatMap(({ samples }) => samples.map(({ labels }) => labels['slot']))
  expect(new Set(series)).toEqual(new Set([undefined, '', 'b']))
})
