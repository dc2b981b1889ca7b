import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { describe, expect, it, onTestFinished } from 'vitest'
import { slotStateRecordSchema } from '../../src/contract/slot-state.ts'
import { slotStatePath } from '../../src/files/home.ts'
import { openCrashWorld } from '../support/crash-world.ts'
import { eventually, makeHome, startTestDaemon, type TestDaemon, type TestHome } from '../support/daemon-harness.ts'
import { FAKE_ENGINE, fakeControl } from '../support/start-fake.ts'
import { serve } from './adoption-world.ts'

const controlOf = (at: TestDaemon, slot: string) => fakeControl(`http://127.0.0.1:${at.row(slot).port}`)

const crashOf = (at: TestDaemon, slot: string) =>
  at.event(({ type, data }) => type === 'slot.crashed' && data['slot'] === slot)

/** Nothing of the slot's engine is left, and the daemon knows. */
async function gone(at: TestDaemon, slot: string): Promise<void> {
  await eventually(() => at.row(slot).pid === null)
}

async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { code: string } }).error.code
}

describe('the live watch', () => {
  it('an engine whose listener is closed: dead at the next look, stopped, counted, started again by a person', async () => {
    const at = await startTestDaemon({ a: {}, good: {} })
    const engine = await at.load('a')
    await at.load('good')
    const { pid } = at.row('a')
    // Not for good: a program with nothing left to do would end.
    await engine.setKnobs({ unlisten_ms: 600_000 })
    expect(await crashOf(at, 'a')).toMatchObject({
      severity: 'error',
      message: expect.stringContaining('refuses connections'),
    })
    expect(at.row('a')).toMatchObject({
      state: 'error',
      failure: { message: 'the engine of slot a refuses connections' },
      breaker: { state: 'backoff', failures: 1 },
    })
    await gone(at, 'a')
    expect(await at.enginePids()).toEqual([at.row('good').pid])
    expect(at.events.filter(({ type }) => type === 'slot.crashed')).toHaveLength(1)
    expect(at.row('good')).toMatchObject({ state: 'ready', breaker: null })
    expect(await at.daemon.slots.load('a')).toMatchObject({ state: 'ready', breaker: null, failure: null })
    expect(at.row('a').pid).not.toBe(pid)
  })

  it('a closed listener in the middle of a stream: the stream ends with the reason', async () => {
    const at = await startTestDaemon({ a: { knobs: { hold_after_tokens: 2 } } })
    const engine = await at.load('a')
    const response = await at.chat({ stream: true })
    const text = response.text()
    await engine.waitFor('tokens', 2)
    await engine.setKnobs({ unlisten_ms: -1 })
    const said = await text
    expect(said).toContain('dispatch.upstream_unavailable')
    expect(said).toContain('"message":"the engine of slot a refuses connections"')
    await gone(at, 'a')
    expect(await at.enginePids()).toEqual([])
    expect(at.row('a')).toMatchObject({ state: 'error', breaker: { failures: 1 } })
  })

  it('a closed listener while it is being unloaded is no crash', async () => {
    const at = await startTestDaemon({ a: { knobs: { slow_stop_ms: 2_500 } } })
    const engine = await at.load('a')
    await engine.setKnobs({ unlisten_ms: -1 })
    expect(await at.daemon.slots.unload('a', { drainMs: 0 })).toMatchObject({ state: 'offline', breaker: null })
    expect(at.events.filter(({ type }) => type === 'slot.crashed')).toEqual([])
  })

  // All at once: each takes five looks of up to five seconds.
  it('a health route that fails or hangs: dead after five looks without traffic, untouched while a stream moves', async () => {
    const at = await startTestDaemon({
      failing: {},
      hanging: {},
      streaming: { knobs: { tokens_per_second: 20 } },
      good: {},
    })
    const slots = ['failing', 'hanging', 'streaming', 'good'] as const
    for (const slot of slots) await at.load(slot)
    const messages = [{ role: 'user', content: 'hi' }]
    const stream = await at.chat({ model: 'streaming', messages, stream: true, ignore_eos: true, max_tokens: 3_000 })
    const text = stream.text()
    await controlOf(at, 'streaming').setKnobs({ health_hang: true })
    await controlOf(at, 'hanging').setKnobs({ health_hang: true })
    await controlOf(at, 'failing').setKnobs({ health_status: 500 })
    for (const slot of ['failing', 'hanging']) {
      expect(await crashOf(at, slot)).toMatchObject({
        message: expect.stringContaining('no sign of health, 5 times in a row'),
      })
      expect(at.row(slot)).toMatchObject({ state: 'error', breaker: { state: 'backoff', failures: 1 } })
      await gone(at, slot)
    }
    expect(at.row('streaming')).toMatchObject({ state: 'serving', in_flight: 1, breaker: null })
    expect(at.row('good')).toMatchObject({ state: 'ready', breaker: null })
    expect(await at.enginePids()).toHaveLength(2)
    await controlOf(at, 'streaming').setKnobs({ tokens_per_second: 0 })
    expect(await text).toMatch(/data: \[DONE\]\s*$/)
    expect((await at.chat({ model: 'good' })).status).toBe(200)
    expect(at.events.filter(({ type }) => type === 'slot.crashed')).toHaveLength(2)
  })

  it('a health route that fails now and then is forgiven', async () => {
    const at = await startTestDaemon({ a: {} })
    const engine = await at.load('a')
    const looks = async () => (await engine.state()).by_path['/health'] ?? 0
    for (let nth = 0; nth < 2; nth++) {
      await engine.setKnobs({ health_status: 500 })
      const before = await looks()
      await eventually(async () => (await looks()) >= before + 2)
      await engine.setKnobs({ health_status: null })
      await eventually(async () => (await looks()) >= before + 4)
    }
    expect(at.row('a')).toMatchObject({ state: 'ready', breaker: null })
    expect(at.events.filter(({ type }) => type === 'slot.crashed')).toEqual([])
  })
})

describe('the live watch over a long time', () => {
  it('does not touch an engine that answers a request each second, though its health hangs for an hour', async () => {
    const world = await openCrashWorld({ a: { liveLook: 'silent' } })
    onTestFinished(() => world.end())
    await world.hammer(['a'], 3_600)
    expect(world.startsS('a')).toEqual([0])
    expect(world.answers.filter(({ outcome }) => outcome !== 'answered')).toEqual([])
  })

  // Bytes moved at 0.01 s: looks at 2 … 30 s do not count, those at 32, 34, 36, 38 and 40 s do.
  it('counts from 30 s after the last byte on', async () => {
    const world = await openCrashWorld({ a: { liveLook: 'silent' } })
    onTestFinished(() => world.end())
    world.ask('a')
    await world.clock.advance(39_999)
    expect(world.slots().row('a')).toMatchObject({ state: 'ready', breaker: null })
    await world.clock.advance(1)
    expect(world.slots().row('a')).toMatchObject({ state: 'error', breaker: { failures: 1 } })
    expect(world.running()).toEqual([])
  })

  // It sends nothing, so that its lease is no sign of life: 2, 4, 6, 8, 10 s.
  it('a request that is merely held proves nothing', async () => {
    const world = await openCrashWorld({ a: { liveLook: 'silent', answerMs: Number.POSITIVE_INFINITY } })
    onTestFinished(() => world.end())
    world.ask('a')
    await world.clock.advance(9_999)
    expect(world.slots().row('a')).toMatchObject({ state: 'serving' })
    await world.clock.advance(1)
    expect(world.answers).toMatchObject([{ outcome: 'dispatch.upstream_unavailable' }])
    expect(world.slots().row('a')).toMatchObject({ state: 'error', breaker: { failures: 1 } })
  })
})

// CASES 47.
describe('an engine whose program cannot be run at all', () => {
  const REQUESTS = 50
  /** It is there and may be executed; what is to read it is not. Beside it a slot that serves. */
  async function unspawnable(): Promise<TestHome> {
    const at = await makeHome({ a: { runner: 'cuda' }, good: {} })
    const program = join(at.folder, 'engine')
    await writeFile(program, '#!/no/such/interpreter\n')
    await chmod(program, 0o755)
    const runners = { cpu: { binary: FAKE_ENGINE }, cuda: { binary: program } }
    await writeFile(join(at.home.etc, 'hal0.toml'), stringify({ runners }))
    return at
  }

  /** Lines about the slot, without those of each request. */
  async function linesOf(at: TestHome): Promise<readonly string[]> {
    const text = await readFile(join(at.home.varLog, 'daemon.log'), 'utf8')
    return text.split('\n').filter((line) => line.includes('"slot":"a"') && !line.includes('"msg":"request"'))
  }

  /** What the daemon that is gone has kept of the failures, changed. */
  async function rewriteBreaker(at: TestHome, failures: number, failedAgoMs: number): Promise<void> {
    const path = slotStatePath(at.home, 'a')
    const record = slotStateRecordSchema.parse(JSON.parse(await readFile(path, 'utf8')))
    const breakers = record.extra.breakers?.map((entry) => ({
      ...entry,
      failures,
      failed_at_ms: Date.now() - failedAgoMs,
    }))
    expect(breakers).toHaveLength(1)
    await writeFile(path, JSON.stringify({ ...record, extra: { ...record.extra, breakers } }))
  }

  it('one attempt per step, a bounded log, others are served, SIGTERM ends the daemon', async () => {
    const at = await unspawnable()
    const hal0 = await serve(at)
    const codes: string[] = []
    for (let nth = 0; nth < REQUESTS; nth++) {
      codes.push(await codeOf(await hal0.chat('a')))
      expect((await hal0.chat('good')).status).toBe(200)
    }
    // One, or two on a machine so slow that the first wait is over by now.
    const attempts = codes.filter((code) => code === 'slot.spawn_failed').length
    expect([codes[0], new Set(codes)]).toEqual([
      'slot.spawn_failed',
      new Set(['slot.spawn_failed', 'slot.crash_looping']),
    ])
    expect(await hal0.row('a')).toMatchObject({
      state: 'error',
      pid: null,
      failure: { message: expect.stringContaining('/no/such/interpreter') },
      breaker: { state: 'backoff', failures: attempts },
    })
    expect(await hal0.events('slot.load_failed')).toHaveLength(attempts)
    expect(await hal0.end()).toBe(0)
    expect(await at.enginePids()).toEqual([])
    expect((await linesOf(at)).length).toBeLessThanOrEqual(attempts * 6)
  })

  it('parked: the next daemon attempts nothing; once half open, one trial for all', async () => {
    const at = await unspawnable()
    const first = await serve(at)
    expect(await codeOf(await first.chat('a'))).toBe('slot.spawn_failed')
    expect(await first.end()).toBe(0)

    await rewriteBreaker(at, 5, 1_000)
    const second = await serve(at)
    for (let nth = 0; nth < REQUESTS; nth++) {
      const refused = await second.chat('a')
      expect(refused.status).toBe(503)
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(299)
      expect(await refused.json()).toMatchObject({
        error: { code: 'slot.crash_looping', details: { failures: 5, parked: true } },
      })
    }
    expect(await second.events('slot.load_failed')).toEqual([])
    expect(await second.row('a')).toMatchObject({ state: 'error', breaker: { state: 'parked', failures: 5 } })
    expect(await second.end()).toBe(0)

    await rewriteBreaker(at, 5, 300_000)
    const third = await serve(at)
    expect(await third.row('a')).toMatchObject({ breaker: { state: 'half_open', failures: 5, retry_after_s: 0 } })
    const codes = await Promise.all(Array.from({ length: REQUESTS }, async () => codeOf(await third.chat('a'))))
    // Who comes when it has failed is refused.
    expect(codes).toContain('slot.spawn_failed')
    expect(codes.filter((code) => code !== 'slot.spawn_failed' && code !== 'slot.crash_looping')).toEqual([])
    expect(await third.events('slot.load_failed')).toHaveLength(1)
    expect(await third.events('slot.parked')).toHaveLength(1)
    expect(await third.row('a')).toMatchObject({ breaker: { state: 'parked', failures: 6 } })
    expect(await third.end()).toBe(0)
  })
})
