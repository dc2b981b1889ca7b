import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { slotStatePath } from '../../src/files/home.ts'
import { eventually, makeHome, startTestDaemon, type TestDaemon, type TestHome } from '../support/daemon-harness.ts'
import { freePort } from '../support/free-port.ts'
import { type FakeKnobs, fakeControl } from '../support/start-fake.ts'
import { serve } from './adoption-world.ts'

afterEach(() => void vi.unstubAllEnvs())

// Slots whose starts are counted have a port of their own: one that hal0 chooses may be lost to another test, which costs one more start.

/** The slot `a` with these keys in its file; read by the next start. */
function writeSlot(
  { home }: Pick<TestHome, 'home'>,
  knobs: FakeKnobs,
  keys: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const server = { env: { FAKE_KNOBS: JSON.stringify(knobs) } }
  const file = { name: 'a', binary: 'cpu', autoload: false, model: { default: 'hello' }, server, ...keys }
  return writeFile(join(home.etc, 'slots', 'a.toml'), stringify(file))
}

async function startWith(
  knobs: FakeKnobs,
  keys: Readonly<Record<string, unknown>> = {},
  settings: Readonly<Record<string, object>> = {},
): Promise<TestDaemon> {
  const at = await startTestDaemon({ a: {} }, settings)
  await writeSlot(at, knobs, keys)
  return at
}

interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

async function refusal(response: Response): Promise<Refusal> {
  return ((await response.json()) as { error: Refusal }).error
}

const gone = (at: TestHome) => eventually(async () => (await at.enginePids()).length === 0)
const controlOf = (at: TestDaemon) => fakeControl(`http://127.0.0.1:${at.row('a').port}`)
const recordOf = async ({ home }: TestHome): Promise<unknown> =>
  JSON.parse(await readFile(slotStatePath(home, 'a'), 'utf8'))

describe('an engine that answers garbage', () => {
  it.each<[string, FakeKnobs, string]>([
    ['nothing', { gibberish: 'empty' }, ''],
    ['control characters', { gibberish: 'control' }, '\\u{0}\\u{1}\\u{7}\\u{1b}'],
    ['replacement characters', { gibberish: 'replacement' }, '\\u{fffd}\\u{fffd}'],
    ['one token over and over', { gibberish: 'repeated' }, 'GGGGGGGG'],
    ['words beside the point', { gibberish: 'wrong' }, 'Bananas sing loudly'],
    ['without end', { gibberish: 'huge' }, 'noise noise noise'],
    ['no JSON', { sanity_knobs: { garbage: 'html' } }, '<html>'],
    ['garbage, and it knows only chat', { gibberish: 'wrong', missing_routes: ['/v1/completions'] }, 'Bananas'],
  ])('%s: 500 with the sample and the setting, stopped, counted', async (_kind, knobs, sample) => {
    const at = await startWith(knobs)
    const response = await at.chat({})
    const error = await refusal(response)
    expect([response.status, error.code]).toEqual([500, 'slot.output_sanity_failed'])
    expect(String(error.details['sample'])).toContain(sample)
    expect(error.message).toContain(`"${String(error.details['sample'])}"`)
    expect(error.details).toMatchObject({
      slot: 'a',
      setting: 'output_sanity',
      remedy: expect.stringContaining('output_sanity'),
    })
    await gone(at)
    await eventually(() => at.row('a').pid === null)
    expect(at.row('a')).toMatchObject({
      state: 'error',
      failure: { code: 'slot.output_sanity_failed', remedy: expect.stringContaining('output_sanity') },
      breaker: { state: 'backoff', failures: 1 },
    })
    expect(at.events.filter(({ type }) => type === 'slot.load_failed')).toMatchObject([
      { severity: 'error', data: { slot: 'a', code: 'slot.output_sanity_failed' } },
    ])
  })

  it('is not given to anybody: all who wait hear of it, who comes next is refused, a person starts it again', async () => {
    const at = await startWith({ gibberish: 'wrong', load_ms: 200 }, { port: await freePort() })
    const codes = await Promise.all(Array.from({ length: 5 }, async () => (await refusal(await at.chat({}))).code))
    expect(codes).toEqual(Array.from({ length: 5 }, () => 'slot.output_sanity_failed'))
    const next = await at.chat({})
    expect([next.status, (await refusal(next)).code, Number(next.headers.get('retry-after'))]).toEqual([
      503,
      'slot.crash_looping',
      expect.any(Number),
    ])
    expect(at.states('a').filter((state) => state === 'starting')).toHaveLength(1)
    await writeSlot(at, {})
    await at.daemon.slots.load('a')
    expect((await at.chat({})).status).toBe(200)
    expect(at.row('a')).toMatchObject({ state: 'ready', breaker: null })
  })

  it('shows at most 120 characters of it', async () => {
    const at = await startWith({ sanity_answer: 'x y z '.repeat(200) })
    const { details } = await refusal(await at.chat({}))
    expect(details['sample']).toMatch(/^x y z x y z .{0,107}…$/)
  })
})

describe('a daemon that is killed', () => {
  it('after the verdict, before the engine is dead: the next one ends the engine, and counts on', async () => {
    const at = await makeHome({ a: {} })
    await writeSlot(at, { gibberish: 'wrong', ignore_sigterm: true })
    const first = await serve(at)
    expect((await refusal(await first.chat('a'))).code).toBe('slot.output_sanity_failed')
    // What is killed next has told this only to the client so far, perhaps.
    await eventually(async () => /"failures": 1/.test(await readFile(slotStatePath(at.home, 'a'), 'utf8')))
    await first.kill9()
    expect(await at.enginePids()).toHaveLength(1)
    const second = await serve(at)
    await gone(at)
    expect(await second.row('a')).toMatchObject({
      state: 'error',
      pid: null,
      failure: { code: 'slot.output_sanity_failed' },
      breaker: { failures: 1 },
    })
    expect(await second.events('slot.survivor_stopped')).toHaveLength(1)
  })

  it('during the gate: the next one asks first, and does not keep what answers garbage', async () => {
    const at = await makeHome({ a: {} })
    await writeSlot(at, { gibberish: 'wrong', sanity_knobs: { hold_first: true } })
    const first = await serve(at)
    const asked = first.chat('a').catch(() => undefined)
    const { port } = await first.until('a', (row) => row.state === 'warming' && row.message.startsWith('looking at'))
    await first.kill9()
    await asked
    const [pid] = await at.enginePids()
    expect(pid).toBeDefined()
    const second = await serve(at)
    expect(await second.row('a')).toMatchObject({ state: 'warming', pid })
    await fakeControl(`http://127.0.0.1:${port}`).setKnobs({ sanity_knobs: null })
    expect(await second.until('a', (row) => row.state === 'error')).toMatchObject({
      failure: { code: 'slot.output_sanity_failed' },
      breaker: { failures: 1 },
    })
    await gone(at)
  })
})

describe('output_sanity', () => {
  it.each<[string, FakeKnobs, Readonly<Record<string, unknown>>, Readonly<Record<string, object>>]>([
    ['off in the slot', { gibberish: 'empty' }, { output_sanity: 'off' }, {}],
    ['off for all', { gibberish: 'empty' }, {}, { slots: { output_sanity: 'off' } }],
    [
      'off in the slot, strict for all',
      { gibberish: 'empty' },
      { output_sanity: 'off' },
      { slots: { output_sanity: 'strict' } },
    ],
    ['lenient in the slot, words beside the point', { gibberish: 'wrong' }, { output_sanity: 'lenient' }, {}],
    ['lenient for all, words beside the point', { gibberish: 'wrong' }, {}, { slots: { output_sanity: 'lenient' } }],
  ])('%s: it serves', async (_name, knobs, keys, settings) => {
    const at = await startWith(knobs, keys, settings)
    expect((await at.chat({})).status).toBe(200)
    const isAsked = ![keys['output_sanity'], Object(settings['slots']).output_sanity].includes('off')
    expect((await controlOf(at).state()).counters.sanity_requests > 0).toBe(isAsked)
  })

  it.each<[string, FakeKnobs, Readonly<Record<string, unknown>>, Readonly<Record<string, object>>]>([
    ['lenient, nothing', { gibberish: 'empty' }, { output_sanity: 'lenient' }, {}],
    ['lenient, control characters', { gibberish: 'control' }, { output_sanity: 'lenient' }, {}],
    ['lenient, one token', { gibberish: 'repeated' }, {}, { slots: { output_sanity: 'lenient' } }],
    [
      'strict in the slot, off for all',
      { gibberish: 'wrong' },
      { output_sanity: 'strict' },
      { slots: { output_sanity: 'off' } },
    ],
  ])('%s: it does not', async (_name, knobs, keys, settings) => {
    const at = await startWith(knobs, keys, settings)
    expect((await refusal(await at.chat({}))).code).toBe('slot.output_sanity_failed')
    await gone(at)
  })

  it('HAL0_SLOT_OUTPUT_SANITY=0 turns it off, whatever slots say; any other value does not', async () => {
    vi.stubEnv('HAL0_SLOT_OUTPUT_SANITY', '0')
    const off = await startWith({ gibberish: 'empty' }, { output_sanity: 'strict' })
    expect((await off.chat({})).status).toBe(200)
    expect((await controlOf(off).state()).counters.sanity_requests).toBe(0)
    vi.stubEnv('HAL0_SLOT_OUTPUT_SANITY', '1')
    const on = await startWith({ gibberish: 'empty' })
    expect((await on.chat({})).status).toBe(500)
  })
})

describe('the gate', () => {
  it('of an engine that takes its time: still warming, requests hear so, then it is ready', async () => {
    const at = await startWith({ sanity_knobs: { hold_first: true } }, { port: await freePort() })
    const headers = { 'content-type': 'application/json', 'x-hal0-wait': '0.2' }
    const early = await at.chat({}, { headers })
    expect([early.status, (await refusal(early)).code]).toEqual([503, 'slot.loading'])
    await eventually(() => at.row('a').message === 'looking at what it answers')
    expect(at.row('a').state).toBe('warming')
    const patient = at.chat({})
    await controlOf(at).setKnobs({ sanity_knobs: null })
    expect((await patient).status).toBe(200)
    expect(at.states('a').filter((state) => state === 'starting')).toHaveLength(1)
    expect(at.row('a').breaker).toBeNull()
    expect(at.row('a').phases).toMatchObject({ sanity: expect.any(Number) })
  })

  // One answer that says nothing about the output is not held against it.
  it('asks again after an answer that says nothing about the output', async () => {
    const at = await startWith({ sanity_knobs: { error_status: 503, error_count: 1 } })
    const answer = at.chat({})
    await eventually(() => at.row('a').message.includes('/v1/completions answered 503'))
    expect(at.row('a')).toMatchObject({ state: 'warming', breaker: null })
    expect((await answer).status).toBe(200)
    expect((await controlOf(at).state()).counters.sanity_requests).toBe(2)
  })

  it.each<[string, FakeKnobs, string, number]>([
    ['one that knows both routes: completion', {}, 'passed', 1],
    ['one that knows only chat', { missing_routes: ['/v1/completions'] }, 'passed', 1],
    [
      'one that knows only chat, and says 501',
      { missing_routes: ['/v1/completions'], missing_status: 501 },
      'passed',
      1,
    ],
    [
      'one that knows neither',
      { missing_routes: ['/v1/completions', '/v1/chat/completions'], gibberish: 'wrong' },
      'unsupported',
      0,
    ],
    ['one that knows neither, and says 405', { missing_routes: ['*'], missing_status: 405 }, 'unsupported', 0],
  ])('%s: ready, and what was found is kept', async (_name, knobs, sanity, asked) => {
    const at = await startWith(knobs)
    expect(await at.daemon.slots.load('a')).toMatchObject({ state: 'ready', breaker: null })
    expect((await controlOf(at).state()).counters.sanity_requests).toBe(asked)
    await eventually(async () => JSON.stringify(await recordOf(at)).includes(`"sanity":"${sanity}"`))
  })

  it('asks once per start, not once per request', async () => {
    const at = await startWith({})
    for (let nth = 0; nth < 5; nth++) expect((await at.chat({})).status).toBe(200)
    expect((await controlOf(at).state()).counters.sanity_requests).toBe(1)
  })

  it('is not for slots that embed', async () => {
    const at = await startWith({ gibberish: 'wrong' }, { type: 'embedding' })
    expect(await at.daemon.slots.load('a')).toMatchObject({ state: 'ready' })
    expect((await controlOf(at).state()).counters.sanity_requests).toBe(0)
  })

  it('an engine that dies of the question has failed to load', async () => {
    const at = await startWith({ sanity_knobs: { die_after_tokens: 0, die_how: 'exit' } })
    expect((await refusal(await at.chat({}))).code).toBe('slot.spawn_failed')
    expect(at.row('a')).toMatchObject({ state: 'error', breaker: { failures: 1 } })
    await gone(at)
  })

  it('a stop during the question is no failure', async () => {
    const at = await startWith({ gibberish: 'wrong', sanity_knobs: { hold_first: true } })
    const waiting = at.chat({})
    await eventually(() => at.row('a').message === 'looking at what it answers')
    expect(await at.daemon.slots.unload('a', { drainMs: 0 })).toMatchObject({ state: 'offline', breaker: null })
    expect((await waiting).status).toBe(503)
    await gone(at)
    expect(at.events.filter(({ type }) => type === 'slot.load_failed')).toEqual([])
  })
})
