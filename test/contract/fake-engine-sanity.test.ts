import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/kernel/clock.ts'
import { askSanity } from '../../src/slots/life/ask-sanity.ts'
import { createLiveLook } from '../../src/slots/life/look-alive.ts'
import type { SanityAsk, SanityVerdict } from '../../src/slots/life/sanity.ts'
import { answerOf, chat, post } from '../support/fake-client.ts'
import type { FakeEngine, FakeKnobs } from '../support/start-fake.ts'
import { start } from './fake-engine-start.ts'

// What the fake engine does with the gate's question and with looks at its life: the tests of slots rely on it.

function ask(engine: FakeEngine, more: Partial<SanityAsk> = {}): Promise<SanityVerdict> {
  const routes = ['/v1/completions', '/v1/chat/completions'] as const
  const { signal } = new AbortController()
  const facts = {
    origin: engine.origin,
    engineKey: engine.key,
    alias: 'fake',
    routes,
    mode: 'strict',
    isCpu: false,
    signal,
  } as const
  return askSanity({ ...facts, ...more }, { clock: systemClock })
}

const countersOf = async (engine: FakeEngine) => (await engine.state()).counters as Readonly<Record<string, number>>

describe('the question of the sanity gate', () => {
  it('is answered rightly on both routes and counted apart, whatever waits or fails for others', async () => {
    const engine = await start({
      knobs: { hold_first: true, error_status: 500, answer: 'no', exit_after_requests: 1, total_slots: 1 },
    })
    expect(await ask(engine)).toEqual({ kind: 'passed' })
    expect(await ask(engine, { routes: ['/v1/chat/completions'] })).toEqual({ kind: 'passed' })
    const state = await engine.state()
    expect(await countersOf(engine)).toMatchObject({
      sanity_requests: 2,
      requests: 0,
      inference: 0,
      answered: 0,
      tokens: 0,
      prompt_tokens: 0,
      max_active: 0,
      aborts: 0,
    })
    expect([state.by_path, state.requests, state.last_request]).toEqual([{}, [], null])
  })

  it('is not what a client asks in the same words', async () => {
    const engine = await start()
    const body = chat('What is the capital of France?', { temperature: 0, seed: 1 })
    expect((await answerOf(await post(engine, body))).choices[0]?.message.content).toBe('Paris.')
    expect(await countersOf(engine)).toMatchObject({ sanity_requests: 0, inference: 1, answered: 1 })
  })

  it.each<[string, FakeKnobs, Partial<SanityVerdict>, number]>([
    ['says what it is told', { sanity_answer: 'Rome' }, { kind: 'failed', sample: 'Rome' }, 2],
    ['gibberish: empty', { gibberish: 'empty' }, { kind: 'failed', sample: '' }, 2],
    [
      'gibberish: control',
      { gibberish: 'control' },
      { kind: 'failed', why: 'it is full of control or replacement characters' },
      2,
    ],
    [
      'gibberish: replacement',
      { gibberish: 'replacement' },
      { kind: 'failed', why: 'it is full of control or replacement characters' },
      2,
    ],
    ['gibberish: repeated', { gibberish: 'repeated' }, { kind: 'failed', why: 'it is one token over and over' }, 2],
    ['gibberish: wrong', { gibberish: 'wrong' }, { kind: 'failed', why: 'it does not name Paris' }, 2],
    ['gibberish: huge', { gibberish: 'huge' }, { kind: 'failed' }, 2],
    ['chat-only', { missing_routes: ['/v1/completions'] }, { kind: 'passed' }, 1],
    ['chat-only, with 400', { missing_routes: ['/v1/completions'], missing_status: 400 }, { kind: 'passed' }, 1],
    ['no routes at all', { missing_routes: ['*'] }, { kind: 'unsupported' }, 0],
    ['overloaded', { sanity_knobs: { error_status: 503 } }, { kind: 'ambiguous' }, 1],
    ['breaks off at once', { sanity_knobs: { die_after_tokens: 0 } }, { kind: 'ambiguous' }, 1],
    [
      'a web page',
      { sanity_knobs: { garbage: 'html' } },
      { kind: 'failed', sample: '<html><body>It works!</body></html>' },
      2,
    ],
    ['a damaged stream after the answer', { sanity_knobs: { bad_chunking: true } }, { kind: 'passed' }, 1],
  ])('%s', async (_name, knobs, verdict, requests) => {
    const engine = await start({ knobs })
    expect(await ask(engine)).toMatchObject(verdict)
    expect(await countersOf(engine)).toMatchObject({ sanity_requests: requests, inference: 0, aborts: 0 })
  })

  it('finds an engine that is overloaded for a while', async () => {
    const engine = await start({ knobs: { sanity_knobs: { error_status: 503, error_count: 2 } } })
    const kinds = [await ask(engine), await ask(engine), await ask(engine)].map(({ kind }) => kind)
    expect(kinds).toEqual(['ambiguous', 'ambiguous', 'passed'])
  })

  it('waits as told, until the client leaves', async () => {
    const engine = await start({ knobs: { sanity_delay_ms: -1 } })
    const stop = new AbortController()
    const verdict = ask(engine, { signal: stop.signal })
    await expect.poll(async () => (await countersOf(engine))['sanity_requests']).toBe(1)
    stop.abort()
    expect((await verdict).kind).toBe('ambiguous')
    // The connection of whoever reads the state is one.
    await expect.poll(async () => (await countersOf(engine))['connections_open']).toBe(1)
    expect((await countersOf(engine))['aborts']).toBe(0)
  })

  it('goes on with what is held for it when the knob is turned', async () => {
    const engine = await start({ knobs: { sanity_knobs: { hold_first: true } } })
    const verdict = ask(engine)
    await expect.poll(async () => (await countersOf(engine))['sanity_requests']).toBe(1)
    await engine.setKnobs({ sanity_knobs: null })
    expect(await verdict).toEqual({ kind: 'passed' })
  })

  it('refuses misspelt knobs for it too', async () => {
    const engine = await start()
    await expect(engine.setKnobs({ sanity_knobs: { holdfirst: true } })).rejects.toThrow('sanity_knobs')
    await expect(engine.setKnobs({ sanity_knobs: true })).rejects.toThrow('an object of knobs')
    await expect(engine.setKnobs({ gibberish: 'bla' })).rejects.toThrow('gibberish')
  })
})

describe('an engine that stops being well while it lives', () => {
  const lookAt = async (engine: FakeEngine, timeoutMs?: number) => {
    const live = createLiveLook(engine.origin, { healthPath: '/health' }, engine.key, timeoutMs)
    const look = await live.look()
    await live.close()
    return look
  }

  it('has a health route that hangs, all else works', async () => {
    const engine = await start()
    expect(await lookAt(engine)).toBe('alive')
    await engine.setKnobs({ health_hang: true })
    expect(await lookAt(engine, 50)).toBe('silent')
    expect((await post(engine, chat('x'))).status).toBe(200)
    await engine.setKnobs({ health_hang: false, health_status: 500 })
    expect(await lookAt(engine)).toBe('silent')
    await engine.setKnobs({ health_status: 404 })
    expect(await lookAt(engine)).toBe('alive')
  })

  it('closes its listener for a while, and its pid stays', async () => {
    const engine = await start()
    await engine.setKnobs({ unlisten_ms: 100 })
    expect(await lookAt(engine)).toBe('refused')
    expect(engine.child.exitCode).toBeNull()
    await expect.poll(() => lookAt(engine)).toBe('alive')
    expect((await engine.state()).pid).toBe(engine.pid)
  })

  it('lists no model any more', async () => {
    const engine = await start()
    const listed = async () =>
      ((await (await fetch(`${engine.origin}/v1/models`)).json()) as { data: unknown[] }).data.length
    expect(await listed()).toBe(1)
    await engine.setKnobs({ models_empty: true })
    expect(await listed()).toBe(0)
  })

  it('dies when it has read its second request, before a byte of the answer', async () => {
    const engine = await start({ knobs: { exit_before_answer: 2, exit_code: 9 } })
    expect(await ask(engine)).toEqual({ kind: 'passed' })
    expect((await post(engine, chat('x'))).status).toBe(200)
    await expect(post(engine, chat('y'))).rejects.toThrow('fetch failed')
    expect((await engine.exited).code).toBe(9)
  })
})
