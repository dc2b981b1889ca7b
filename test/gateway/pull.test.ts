import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createClient, type Hal0Client } from '../../src/client/client.ts'
import { ClientError } from '../../src/client/client-errors.ts'
import type { PullJob } from '../../src/contract/pull.ts'
import { startDaemon } from '../../src/daemon.ts'
import { modelStoreFolder } from '../../src/files/home.ts'
import { HELLO_GGUF, makeHome, startTestDaemon, type TestHome } from '../support/daemon-harness.ts'
import { buildGguf, buildGgufHead } from '../support/gguf-builder.ts'
import { StandInHub, type StandInHubOptions } from '../support/hub/hub.ts'

const MB = 1_000_000
const BIG = 'big-Q4_K_M.gguf'
const BIG_REPO = { 'org/big-GGUF': { [BIG]: { content: { sizeBytes: 300 * MB, seed: 3, head: buildGgufHead() } } } }

async function startHub(repos: StandInHubOptions['repos']): Promise<StandInHub> {
  const hub = await StandInHub.start({ repos })
  onTestFinished(() => hub.close())
  return hub
}

/** A daemon with slot `a`, whose hub is the stand-in. */
async function startWith(hub: StandInHub) {
  const test = await startTestDaemon({ a: {} }, { models: { hub_endpoint: hub.endpoint } })
  return { ...test, client: createClient({ baseUrl: test.daemon.url }) }
}

/** The job at its end, as its stream tells it. */
async function ended(client: Hal0Client, id: string): Promise<PullJob> {
  let last: PullJob | undefined
  for await (const job of client.models.followPull(id)) last = job
  if (last === undefined || last.finished_at === null) throw new Error(`the stream of ${id} ended before its job`)
  return last
}

async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

async function storedFiles({ home }: TestHome): Promise<readonly string[]> {
  const entries = await readdir(modelStoreFolder(home), { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}

/** The error of a call that has to be refused. */
async function refusal(call: Promise<unknown>): Promise<ClientError> {
  const thrown = await call.then(
    (value) => expect.fail(`it was not refused: ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
  if (!(thrown instanceof ClientError)) throw thrown
  return thrown
}

it('300 MB, interrupted five times, arrive whole', { timeout: 120_000 }, async () => {
  const hub = await startHub(BIG_REPO)
  for (let nth = 0; nth < 5; nth++) hub.tricks.push({ kind: 'cut', bytes: (20 + 7 * nth) * MB + nth })
  const { client, home, events } = await startWith(hub)
  await client.models.pull('org/big:q4', { repo: 'org/big-GGUF' })
  const job = await ended(client, 'org/big:q4')
  expect(job).toMatchObject({ state: 'done', error: null, resumes: 5, done_bytes: 300 * MB, total_bytes: 300 * MB })
  const sha256 = hub.sha256('org/big-GGUF', BIG)
  const path = join(modelStoreFolder(home), 'org--big-GGUF', BIG)
  expect(await sha256OfFile(path)).toBe(sha256)
  expect(await client.models.show('org/big:q4')).toMatchObject({ path, sha256, hf_repo: 'org/big-GGUF', missing: [] })
  // Each attempt went on where the last one broke; nothing came twice.
  const ranges = hub.fetches.map((seen) => Number(/\d+/.exec(String(seen.headers['range'] ?? '0'))?.[0]))
  expect(ranges).toHaveLength(6)
  expect(ranges).toEqual(ranges.toSorted((a, b) => a - b))
  expect(new Set(ranges).size).toBe(6)
  expect(events.some(({ type, data }) => type === 'model.pulled' && data['model'] === 'org/big:q4')).toBe(true)
})

it('what has the wrong checksum leaves nothing that a slot could load', async () => {
  const content = { bytes: await readFile(HELLO_GGUF) }
  const file = { content, listedSha256: 'a'.repeat(64) }
  const hub = await startHub({ 'org/bad-GGUF': { 'bad-Q8_0.gguf': file } })
  const { client, home, folder, writeSlot, enginePids, events } = await startWith(hub)
  await client.models.pull('bad', { repo: 'org/bad-GGUF' })
  const job = await ended(client, 'bad')
  expect(job).toMatchObject({ state: 'failed', error: { code: 'pull.checksum_mismatch' } })
  expect(await storedFiles({ home, folder, writeSlot, enginePids })).toEqual([])
  expect((await client.models.list()).map(({ id }) => id)).not.toContain('bad')
  expect(await refusal(client.slots.create({ name: 'b', model: { default: 'bad' } }))).toMatchObject({
    code: 'model.not_found',
  })
  expect(events.filter(({ type }) => type === 'model.pull_failed')).toHaveLength(1)
})

it('a pulled model is bound, loaded and asked; its files go with it, and it can be pulled again', async () => {
  const hub = await startHub({
    'org/hello-GGUF': { 'hello-Q8_0.gguf': { content: { bytes: await readFile(HELLO_GGUF) } } },
  })
  const test = await startWith(hub)
  const { client } = test
  await client.models.pull('mine', { repo: 'org/hello-GGUF', quant: 'Q8_0' })
  expect(await ended(client, 'mine')).toMatchObject({ state: 'done' })
  await client.slots.create({ name: 'b', binary: 'cpu', model: { default: 'mine' } })
  await client.slots.load('b')
  expect((await test.chat({ model: 'b' })).status).toBe(200)
  expect(await refusal(client.models.remove('mine', { deleteFiles: true }))).toMatchObject({ code: 'model.in_use' })
  await client.slots.remove('b')
  expect(await client.models.remove('mine', { deleteFiles: true })).toMatchObject({
    deleted_files: [expect.any(String)],
  })
  expect(await storedFiles(test)).toEqual([])
  await client.models.pull('mine', { repo: 'org/hello-GGUF' })
  expect(await ended(client, 'mine')).toMatchObject({ state: 'done' })
})

it('an id that the model could not have is refused before anything is fetched', async () => {
  const hub = await startHub({ 'org/x-GGUF': { 'x-Q8_0.gguf': { content: { bytes: buildGguf() } } } })
  const { client } = await startWith(hub)
  // Once they were fetched whole, and refused when they were to be registered.
  for (const [id, code] of [
    ['a', 'validation.invalid'],
    ['agent', 'validation.invalid'],
    ['hal0/x', 'validation.invalid'],
    ['embed-rerank', 'validation.invalid'],
    ['Not an id', 'validation.invalid'],
    ['hello', 'model.exists'],
  ] as const) {
    expect(await refusal(client.models.pull(id, { repo: 'org/x-GGUF' })), id).toMatchObject({ code })
  }
  expect(hub.fetches).toEqual([])
  expect(await client.models.pulls()).toEqual([])
})

it('what is no model says that its files stay, and where', async () => {
  const content = { bytes: buildGguf({ architecture: 'clip', keys: { 'general.type': 'mmproj' } }) }
  const hub = await startHub({ 'org/p-GGUF': { 'p-Q8_0.gguf': { content } } })
  const test = await startWith(hub)
  await test.client.models.pull('p', { repo: 'org/p-GGUF' })
  const { state, error } = await ended(test.client, 'p')
  expect(state).toBe('failed')
  expect(error).toMatchObject({
    code: 'validation.invalid',
    message: expect.stringMatching(/cannot be registered.*projector/),
  })
  expect(error?.details['remedy']).toContain(join(modelStoreFolder(test.home), 'org--p-GGUF', 'p-Q8_0.gguf'))
})

it('the daemon ends in the middle: the next one goes on with what is there', async () => {
  const hub = await startHub(BIG_REPO)
  hub.tricks.push({ kind: 'stall', bytes: 50 * MB })
  const { home } = await makeHome({}, { models: { hub_endpoint: hub.endpoint } })
  const first = await startDaemon({ home, port: 0 })
  onTestFinished(() => first.stop({ drainMs: 0 }))
  const before = createClient({ baseUrl: first.url })
  await before.models.pull('big', { repo: 'org/big-GGUF' })
  const watching = before.models.followPull('big')
  let doneBytes = 0
  for await (const job of watching) {
    doneBytes = job.done_bytes
    if (doneBytes >= 50 * MB) break
  }
  await first.stop({ drainMs: 0 })
  const second = await startDaemon({ home, port: 0 })
  onTestFinished(() => second.stop({ drainMs: 0 }))
  const after = createClient({ baseUrl: second.url })
  expect((await after.models.pull('big', { repo: 'org/big-GGUF' })).done_bytes).toBe(doneBytes)
  expect(await ended(after, 'big')).toMatchObject({ state: 'done' })
  expect(hub.fetches.map((seen) => seen.headers['range'])).toEqual([undefined, `bytes=${doneBytes}-`])
})
