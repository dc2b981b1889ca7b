import { readFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { heardOf, mayHear, readsOf } from '../support/chaos-answers.ts'
import { runPlan } from '../support/chaos-client.ts'
import { makeRecordingEngine } from '../support/chaos-engine.ts'
import { type ChaosPlan, planChaos } from '../support/chaos-plan.ts'
import { startTrouble } from '../support/chaos-trouble.ts'
import { type ClientWorld, startClientWorld } from '../support/client-world.ts'
import { parseMetrics } from '../support/parse-metrics.ts'
import { seriesOf } from '../support/series.ts'
import { type FakeKnobs, fakeControl } from '../support/start-fake.ts'

const REQUESTS = 2_000
const CLIENTS = 48
/** So many requests stand between two things that are done to a slot. */
const TROUBLE_EVERY = 60
/** Nothing has to be at rest at once, only in the end. */
const AT_REST = { timeout: 60_000, interval: 50 }
const REFUSED_PAUSE_MS = 100
/** An engine has four sequences, and is asked for its health beside them. */
const CONNECTIONS_AT_REST = 8

const slot = (knobs: FakeKnobs, keys: object = {}) => ({
  device: 'cpu',
  binary: 'cpu',
  type: 'llm',
  model: { default: 'hello' },
  server: { env: { FAKE_KNOBS: JSON.stringify(knobs) } },
  ...keys,
})

async function startWorld(): Promise<{ world: ClientWorld; timesRead: () => Promise<ReadonlyMap<string, number>> }> {
  const { binary, timesRead } = await makeRecordingEngine()
  const sound = {
    template: [binary, '--host', '${HOST}', '--port', '${PORT}', '--model', '${MODEL}', '--alias', '${ALIAS}'],
    ...{ key_env: 'LLAMA_API_KEY', identity_path: '/props', types: ['transcription'] },
  }
  const world = await startClientWorld(
    {
      agent: slot({ load_ms: 150, close_after_sse: true, close_after_answer: true }, { aliases: ['helper'] }),
      rude: slot({ load_ms: 400, keep_alive_ms: 50 }),
      embed: slot({ load_ms: 100, close_after_answer: true }, { type: 'embedding', aliases: ['vectors'] }),
      // Made at first use otherwise, and then for the engine that comes with hal0.
      scratch: { device: 'cpu', binary: 'cpu', type: 'llm' },
      stt: slot({ keep_alive_ms: 100 }, { type: 'transcription', binary: 'sound' }),
    },
    {
      runners: { cpu: { binary }, sound },
      server: { json_limit_bytes: 1_048_576 },
      dispatcher: { load_wait_s: 20, stall_s: 4 },
      // Other people's memory is none of this test's business.
      slots: { queue_limit: 30, admission: 'off', evict_pressure_mb: 0 },
    },
  )
  return { world, timesRead }
}

/** What each request heard, by id; `seen` is told of every end. */
async function runAll(
  world: ClientWorld,
  plans: readonly ChaosPlan[],
  seen: (done: number, heard: string) => Promise<void>,
): Promise<ReadonlyMap<string, string>> {
  const heard = new Map<string, string>()
  const kept = new Agent({ keepAlive: true, maxFreeSockets: CLIENTS })
  const fresh = new Agent({ keepAlive: false })
  const waiting = plans.values()
  const client = async (_: unknown, nth: number): Promise<void> => {
    for (const plan of waiting) {
      const word = heardOf(plan, await runPlan(world.origin, plan, nth % 2 === 0 ? kept : fresh))
      heard.set(plan.id, word)
      await seen(heard.size, word)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  kept.destroy()
  return heard
}

/** Of the lines of the daemon's log that are the ends of requests. */
async function loggedIds({ home }: ClientWorld): Promise<readonly unknown[]> {
  const lines = (await readFile(join(home.varLog, 'daemon.log'), 'utf8')).trimEnd().split('\n')
  const all = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  return all.filter(({ msg }) => msg === 'request').map(({ request_id }) => request_id)
}

const sum = (series: Readonly<Record<string, number>>) => Object.values(series).reduce((all, one) => all + one, 0)

/** The states of all engines that run. */
const engineStates = ({ daemon }: ClientWorld) =>
  Promise.all(
    daemon.slots
      .rows()
      .filter(({ pid }) => pid !== null)
      .map(({ port }) => fakeControl(`http://127.0.0.1:${port}`).state()),
  )

it('2,000 requests of every kind against slots that load, stall, die, refuse and are swapped', {
  timeout: 400_000,
}, async () => {
  const seed = Number(process.env['HAL0_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  const hint = `HAL0_TEST_SEED=${seed}`
  const { world, timesRead } = await startWorld()
  const plans = planChaos(seed, REQUESTS)
  const trouble = startTrouble(world.daemon, createClient({ baseUrl: world.origin }), TROUBLE_EVERY)

  const heard = await runAll(world, plans, async (done, word) => {
    await trouble.progress(done)
    if (word === '503 slot.crash_looping') await trouble.healed()
    // Refusals cost nothing: without a pause they would be most of what is heard.
    if (word === '429 dispatch.queue_full') await new Promise((resolve) => setTimeout(resolve, REFUSED_PAUSE_MS))
  })
  expect(await trouble.end(), hint).toEqual([])
  expect(trouble.done.length, hint).toBeGreaterThan(30)

  // Every request ended, and as one of its kind may.
  const wrong = plans.filter((plan) => !mayHear(plan, heard.get(plan.id) ?? 'nothing'))
  expect(
    wrong.map((plan) => [heard.get(plan.id), plan.planned, plan.path, plan.manner.kind, plan.id, String(plan.body)]),
    hint,
  ).toEqual([])
  // All that trouble is no excuse: what nothing was planned against is mostly served.
  const peaceful = plans.filter(({ planned, manner }) => planned === 'answer' && manner.kind === 'stays')
  const served = peaceful.filter(({ id }) => heard.get(id) === '200')
  expect(served.length, hint).toBeGreaterThan(peaceful.length / 2)

  // No lease leaks, on either side.
  const held = () => world.daemon.slots.rows().filter((row) => row.in_flight > 0 || row.queued > 0)
  await expect.poll(held, { ...AT_REST, message: hint }).toEqual([])
  const working = async () => (await engineStates(world)).map(({ counters }) => counters.active + counters.waiting)
  await expect.poll(async () => (await working()).filter((count) => count > 0), AT_REST).toEqual([])
  for (const { counters } of await engineStates(world)) {
    expect(counters.connections_open, hint).toBeLessThanOrEqual(CONNECTIONS_AT_REST)
  }

  // No request was carried out twice, and none that was refused.
  const times = await timesRead()
  const misread = plans.filter((plan) => {
    const [least, most] = readsOf(plan, heard.get(plan.id) ?? '')
    const count = times.get(plan.id) ?? 0
    return count < least || count > most
  })
  expect(
    misread.map((plan) => [times.get(plan.id), heard.get(plan.id), plan.planned, plan.path, String(plan.body)]),
    hint,
  ).toEqual([])

  // Counters add up: one line and one count for each request, those that left included.
  const scrape = async () => parseMetrics(await (await fetch(`${world.origin}/metrics`)).text())
  const counted = async () => sum(seriesOf(await scrape(), 'hal0_requests_total'))
  await expect.poll(counted, { ...AT_REST, message: hint }).toBeGreaterThanOrEqual(REQUESTS)
  const families = await scrape()
  expect(sum(seriesOf(families, 'hal0_requests_total')), hint).toBe(REQUESTS)
  expect(sum(seriesOf(families, 'hal0_inflight')), hint).toBe(0)
  expect(sum(seriesOf(families, 'hal0_queue_depth')), hint).toBe(0)
  const lines = async () => (await loggedIds(world)).length
  await expect.poll(lines, { ...AT_REST, message: hint }).toBeGreaterThanOrEqual(REQUESTS)
  const logged = await loggedIds(world)
  expect(logged, hint).toHaveLength(REQUESTS)
  expect(new Set(logged), hint).toEqual(new Set(heard.keys()))

  // It waits for requests that are in flight, however long: there are none.
  await world.daemon.stop({ drainMs: 3_600_000 })
  expect(await world.enginePids(), hint).toEqual([])
})
