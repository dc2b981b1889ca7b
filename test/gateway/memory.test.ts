import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Capacity, capacitySchema } from '../../src/contract/capacity.ts'
import type { Hal0Event } from '../../src/contract/events.ts'
import type { LoadRecord } from '../../src/contract/load-record.ts'
import { startDaemon } from '../../src/daemon.ts'
import { GIB, MIB } from '../../src/kernel/units.ts'
import { eventually, type TestHome } from '../support/daemon-harness.ts'
import { writeGguf } from '../support/gguf-builder.ts'
import { gpuClient, llmSlot, makeGpuHome, type SlotKeys } from '../support/gpu-daemon.ts'
import { poolOf } from '../support/memory-world.ts'
import { fakeControl } from '../support/start-fake.ts'

/** 2 layers, one head of 64 elements with halves: 512 bytes of cache per token, in a window of 4096. */
const GEOMETRY = {
  'llama.block_count': 2,
  'llama.context_length': 4096,
  'llama.embedding_length': 256,
  'llama.attention.head_count': 4,
  'llama.attention.head_count_kv': 1,
}
const CACHE_BYTES = 2 * MIB
const OVERHEAD_BYTES = 1024 * MIB
/** GiB of each model's file. */
const SIZES: Readonly<Record<string, number>> = { nine: 9, eight: 8, twenty: 20, other: 9 }
const needOf = (model: string) => (SIZES[model] ?? 0) * GIB + CACHE_BYTES + OVERHEAD_BYTES

const slot = (model: string, more: SlotKeys = {}) => llmSlot({}, { model: { default: model }, ...more })

/** What engines of this home would hold on the card of 24 GiB: each what was counted for the model in its command. */
function cardOf(at: TestHome) {
  const read = async () => {
    const commands = await Promise.all(
      (await at.enginePids()).map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
    )
    const models = commands.flatMap((command) => /\/(\w+)\.gguf\0/.exec(command)?.[1] ?? [])
    const taken = models.reduce((bytes, model) => bytes + needOf(model), 0)
    const card = poolOf('gpu0', 24)
    return [poolOf('host', 64), { ...card, freeBytes: Math.max(0, 24 * GIB - taken) }]
  }
  return { read }
}

/** A real daemon whose card has 24 GiB, with engines that are fakes and models whose files are holes. */
async function start(slots: Readonly<Record<string, SlotKeys>>, settings: Readonly<Record<string, object>> = {}) {
  const at = await makeGpuHome(slots, settings)
  const models = await Promise.all(
    Object.entries(SIZES).map(async ([name, gib]) => {
      const { path } = await writeGguf(join(at.folder, `${name}.gguf`), { keys: GEOMETRY }, gib * GIB)
      return [name, { path }] as const
    }),
  )
  await writeFile(join(at.home.etc, 'models.toml'), stringify({ models: Object.fromEntries(models) }))
  const daemon = await startDaemon({ home: at.home, port: 0, meter: cardOf(at) })
  onTestFinished(() => daemon.stop({ drainMs: 0 }))
  const client = gpuClient(daemon.url)
  return {
    ...client,
    daemon,
    capacity: async (): Promise<Capacity> =>
      capacitySchema.parse(await (await client.call('GET', '/api/capacity')).json()),
    evictions: async (): Promise<readonly Hal0Event['data'][]> =>
      (await client.events()).filter(({ type }) => type === 'slot.evicted').map(({ data }) => data),
    /** An answer of this slot that lasts until `end`. */
    stream: async (name: string) => {
      const { port } = await client.row(name)
      const engine = fakeControl(`http://127.0.0.1:${port}`)
      await engine.setKnobs({ tokens_per_second: 5 })
      const answer = await client.chat(name, { stream: true, ignore_eos: true, max_tokens: 2000 })
      const text = answer.text()
      return { text, end: () => engine.setKnobs({ tokens_per_second: 0 }) }
    },
  }
}

const two = () => start({ a: slot('nine'), b: slot('other', {}), agent: slot('eight') })

/** B waits for A, which streams; so does a late caller of A. */
async function waiting() {
  const at = await two()
  for (const name of ['agent', 'a']) expect((await at.call('POST', `/api/slots/${name}/load`)).status).toBe(200)
  const stream = await at.stream('a')
  const leaving = new AbortController()
  const b = at.chat('b', {}, { signal: leaving.signal, headers: { 'content-type': 'application/json' } })
  await eventually(async () => (await at.row('b')).message.startsWith('waits for a: '))
  const late = at.chat('a')
  await eventually(async () => (await at.row('a')).queued === 1)
  return { ...at, stream, leaving, b, late }
}

describe('memory, through the daemon', () => {
  it('a slot whose memory a stream holds waits for its end; then it is served, and then those who waited for the first', async () => {
    const { b, late, stream, ...at } = await waiting()
    expect(await at.row('a')).toMatchObject({ state: 'serving', in_flight: 1, queued: 1 })
    const capacity = await at.capacity()
    expect(capacity.waiting).toEqual([{ slot: 'b', needed_bytes: needOf('other') + 256 * MIB, waits_for: ['a'] }])
    expect(capacity.pools.map(({ id, free_bytes: free }) => [id, free])).toEqual([
      ['host', 64 * GIB],
      ['gpu0', 24 * GIB - needOf('nine') - needOf('eight')],
    ])
    const seen = capacity.slots.map(({ slot: name, pinned, in_flight: held, eviction_order: nth }) => [
      name,
      pinned,
      held,
      nth,
    ])
    expect(seen).toEqual([
      ['a', false, 1, null],
      ['agent', true, 0, null],
    ])
    await stream.end()
    expect(await stream.text).toContain('[DONE]')
    const served = await b
    expect([served.status, await served.text()]).toEqual([200, expect.stringContaining('hi')])
    expect(served.headers.get('server-timing')).toMatch(
      /^drain;dur=\d+, (evict;dur=\d+, )?(release;dur=\d+, )?spawn;dur=\d+, warm;dur=\d+/,
    )
    const after = await late
    expect([after.status, await after.text()]).toEqual([200, expect.stringContaining('hi')])
    expect(await at.evictions()).toEqual([
      { slot: 'a', for: 'b', reason: 'preload', freed_bytes: needOf('nine') + 256 * MIB },
      { slot: 'b', for: 'a', reason: 'preload', freed_bytes: needOf('other') + 256 * MIB },
    ])
    const { loads } = (await (await at.call('GET', '/api/slots/b/loads')).json()) as { loads: LoadRecord[] }
    expect(loads).toMatchObject([{ slot: 'b', outcome: 'ready', phases: { drain: expect.any(Number) } }])
    expect((await at.row('agent')).state).toBe('ready')
    const metrics = await (await at.call('GET', '/metrics')).text()
    expect(metrics).toContain('hal0_evictions_total{reason="preload"} 2')
  })

  it('its client leaves: the slot that was to make way goes on at once', async () => {
    const { b, late, leaving, stream, ...at } = await waiting()
    leaving.abort()
    await expect(b).rejects.toThrow('abort')
    expect((await late).status).toBe(200)
    await eventually(async () => (await at.row('b')).state === 'offline')
    expect((await at.capacity()).waiting).toEqual([])
    await stream.end()
    expect(await stream.text).toContain('[DONE]')
    expect(await at.evictions()).toEqual([])
  })

  it('load_wait_s passes: 503 slot.loading with Retry-After, the slot that was to make way goes on', async () => {
    const at = await start(
      { a: slot('nine'), b: slot('other'), agent: slot('eight') },
      { dispatcher: { load_wait_s: 1 } },
    )
    for (const name of ['agent', 'a']) await at.call('POST', `/api/slots/${name}/load`)
    const stream = await at.stream('a')
    const answer = await at.chat('b')
    expect(answer.status).toBe(503)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await answer.json()).toMatchObject({ error: { code: 'slot.loading', details: { slot: 'b' } } })
    await eventually(async () => (await at.row('b')).state === 'offline')
    expect((await at.chat('a')).status).toBe(200)
    await stream.end()
    expect(await stream.text).toContain('[DONE]')
    expect(await at.evictions()).toEqual([])
  })

  it('never enough: 507 with what is needed, free, could be freed and is missing, and who holds it', async () => {
    const at = await start({ a: slot('nine'), agent: slot('eight'), big: slot('twenty') })
    for (const name of ['agent', 'a']) await at.call('POST', `/api/slots/${name}/load`)
    const free = 24 * GIB - needOf('nine') - needOf('eight')
    const body = {
      error: {
        code: 'slot.preload_evict_insufficient',
        message: expect.stringContaining('slot big needs 21.0 GiB of gpu0, 5.0 GiB are free'),
        details: {
          slot: 'big',
          needed_bytes: needOf('twenty'),
          free_bytes: free,
          evictable_bytes: needOf('nine'),
          freed_bytes: 0,
          evicted: [],
          shortfall_bytes: needOf('twenty') - free - needOf('nine'),
          pinned: [{ slot: 'agent', held_bytes: needOf('eight') }],
          remedy: expect.stringContaining('`hal0 slot unload agent --force`'),
        },
      },
    }
    const asked = await at.chat('big')
    expect([asked.status, asked.headers.get('retry-after')]).toEqual([507, null])
    expect(await asked.json()).toMatchObject(body)
    const loaded = await at.call('POST', '/api/slots/big/load')
    expect(loaded.status).toBe(507)
    expect(await loaded.json()).toMatchObject(body)
    expect(await at.evictions()).toEqual([])
    expect(await at.row('big')).toMatchObject({ state: 'error', breaker: null })
    expect((await at.row('a')).state).toMatch(/ready|idle/)
  })

  it('a registered model that no slot binds asks for memory in scratch, too', async () => {
    const at = await start({ a: slot('nine'), agent: slot('eight'), scratch: slot('') })
    for (const name of ['agent', 'a']) await at.call('POST', `/api/slots/${name}/load`)
    const served = await at.chat('other')
    expect([served.status, await served.text()]).toEqual([200, expect.stringContaining('hi')])
    expect(await at.row('scratch')).toMatchObject({ model_id: 'other', pinned: false })
    expect(await at.evictions()).toEqual([
      { slot: 'a', for: 'scratch', reason: 'preload', freed_bytes: needOf('nine') + 256 * MIB },
    ])
    const refused = await at.chat('twenty')
    expect(refused.status).toBe(507)
    expect(await refused.json()).toMatchObject({
      error: { details: { slot: 'scratch', needed_bytes: needOf('twenty') } },
    })
    // It makes way like any other.
    expect((await at.chat('a')).status).toBe(200)
    expect((await at.capacity()).slots.map((each) => each.slot)).toEqual(['a', 'agent'])
  })
})
