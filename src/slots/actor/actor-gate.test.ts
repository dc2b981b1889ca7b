import { describe, expect, it } from 'vitest'
import { type ActorHarness, openActor, openReadyActor } from '../../../test/support/actor-harness.ts'
import { Hal0Error } from '../../kernel/errors.ts'

const WRONG = { kind: 'failed', sample: '????', why: 'only one token' } as const

/** Up as far as the question that is asked of it. */
async function openAsked(): Promise<ActorHarness> {
  const slot = openActor({ gated: true })
  void slot.load()
  await slot.settle()
  slot.say({ kind: 'ready', parallel: 2 })
  await slot.settle()
  expect(slot.asked()).toBe(1)
  return slot
}

describe('an engine whose answers are looked at', () => {
  it.each(['passed', 'unsupported'] as const)('serves nobody before; %s: from then on', async (kind) => {
    const slot = await openAsked()
    const request = slot.acquire()
    await slot.settle()
    expect(slot.row()).toMatchObject({ state: 'warming', message: 'looking at what it answers', in_flight: 0 })
    slot.judge({ kind })
    await slot.settle()
    expect((await request).attemptId).toBe(slot.runtime.starts[0]?.options.attemptId)
  })

  it('that answers nonsense is stopped, before anybody was served; who waited hears the sample', async () => {
    const slot = await openAsked()
    const request = slot.acquire()
    slot.judge(WRONG)
    await slot.settle()
    await expect(request).rejects.toMatchObject({ code: 'slot.output_sanity_failed' })
    expect(slot.runtime.running).toEqual([])
    expect(slot.row()).toMatchObject({
      state: 'error',
      failure: { code: 'slot.output_sanity_failed', message: expect.stringContaining('????') },
      breaker: { failures: 1 },
    })
  })

  it('that does not answer in time stays warming and is asked again every 5 s', async () => {
    const slot = await openAsked()
    for (let i = 0; i < 3; i++) {
      slot.judge({ kind: 'ambiguous', why: 'no answer within 20 s' })
      await slot.settle()
      expect(slot.row()).toMatchObject({ state: 'warming', message: expect.stringContaining('no answer within 20 s') })
      await slot.clock.advance(4_999)
      expect(slot.asked()).toBe(0)
      await slot.clock.advance(1)
      expect(slot.asked()).toBe(1)
    }
    slot.judge({ kind: 'passed' })
    await slot.settle()
    expect(slot.row().state).toBe('ready')
  })

  it('that dies while it is asked leaves no question behind', async () => {
    const slot = await openAsked()
    slot.engine().exit({ code: 1 })
    await slot.settle()
    expect(slot.asked()).toBe(0)
    expect(slot.row().state).toBe('error')
    expect(slot.clock.pendingTimers).toBe(0)
  })

  it('that found its model late is asked then, and stopped when it answers nonsense', async () => {
    const slot = openActor({ gated: true })
    const loaded = slot.load()
    await slot.settle()
    slot.say({ kind: 'no_model' })
    await expect(loaded).rejects.toMatchObject({ code: 'slot.not_ready' })
    slot.say({ kind: 'ready', parallel: 2 })
    await slot.clock.advance(100)
    expect(slot.row()).toMatchObject({ state: 'idle', idle_reason: 'no_model' })
    slot.judge(WRONG)
    await slot.settle()
    expect(slot.row()).toMatchObject({ state: 'error', failure: { code: 'slot.output_sanity_failed' } })
    expect(slot.runtime.running).toEqual([])
  })

  it.each([
    ['passed', 0],
    [undefined, 1],
  ] as const)('from an earlier daemon that had found %s is asked %i times', async (known, asked) => {
    const slot = openActor({ gated: true })
    await slot.adopt(known)
    slot.say({ kind: 'ready', parallel: 2 })
    await slot.settle()
    expect(slot.asked()).toBe(asked)
    expect(slot.row().state).toBe(asked === 0 ? 'ready' : 'warming')
    slot.judge({ kind: 'passed' })
    await slot.settle()
    expect(slot.row().state).toBe('ready')
    expect(slot.runtime.starts).toHaveLength(1)
  })
})

describe('the live watch', () => {
  it.each([
    ['refused', 2_000],
    ['silent', 10_000],
  ] as const)('%s: given up after %i ms, stopped, and its streams are cut', async (look, afterMs) => {
    const slot = await openReadyActor({})
    const stream = await slot.acquire()
    slot.lookLive(look)
    await slot.clock.advance(afterMs - 1)
    expect(stream.revoked.aborted).toBe(false)
    await slot.clock.advance(1)
    expect(stream.revoked.aborted).toBe(true)
    expect(slot.row()).toMatchObject({ state: 'error', breaker: { failures: 1 }, in_flight: 0 })
    expect(slot.runtime.running).toEqual([])
    expect(slot.opened).toMatchObject({ liveLooks: 0, probers: 0 })
  })

  it('silence does not count while bytes move', async () => {
    const slot = await openReadyActor({})
    const stream = await slot.acquire()
    slot.lookLive('silent')
    for (let i = 0; i < 60; i++) {
      stream.moved()
      await slot.clock.advance(2_000)
    }
    expect(slot.row().state).toBe('serving')
  })

  it('sees nothing of an engine that is stopped on purpose', async () => {
    const slot = await openReadyActor({ knobs: { termDelayMs: 15_000 } })
    const stopped = slot.unload(0)
    slot.lookLive('refused')
    await slot.clock.advance(15_000)
    await stopped
    expect(slot.row()).toMatchObject({ state: 'offline', failure: null, breaker: null })
  })
})

describe('what counts against a launch', () => {
  /** Model n has failed once; then m is up. */
  async function failedOther(): Promise<ActorHarness> {
    const slot = openActor({})
    const first = slot.acquire({ modelId: 'n' })
    await slot.settle()
    slot.engine().exit({ code: 1 })
    await expect(first).rejects.toMatchObject({ code: 'slot.spawn_failed' })
    void slot.load()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    return slot
  }

  it('costs no working engine: a request for a model that may not start yet is refused', async () => {
    const slot = await failedOther()
    await expect(slot.acquire({ modelId: 'n' })).rejects.toMatchObject({ code: 'slot.crash_looping' })
    expect(slot.row()).toMatchObject({ state: 'ready', model_id: 'm' })
    expect(slot.runtime.starts).toHaveLength(2)
  })

  it('is over when its time is: then the turn changes', async () => {
    const slot = await failedOther()
    await slot.clock.advance(5_000)
    const request = slot.acquire({ modelId: 'n' })
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    expect(slot.modelOf((await request).attemptId)).toBe('n')
  })

  it('a load of the daemon behind the stop of what crashed is refused; a restart of a person is not', async () => {
    const slot = await openReadyActor({ knobs: { leavesGrandchild: true, termDelayMs: 500 } })
    slot.engine().exit({ code: 1 })
    await slot.settle()
    const byDaemon = slot.load('daemon')
    await slot.clock.advance(1_000)
    await expect(byDaemon).rejects.toMatchObject({ code: 'slot.crash_looping' })
    expect(slot.runtime.starts).toHaveLength(1)
    void slot.restart()
    await slot.settle()
    expect(slot.runtime.starts).toHaveLength(2)
  })

  it('a crash while a person waits for the restart does not refuse it', async () => {
    const slot = await openReadyActor({})
    await slot.acquire()
    const restarted = slot.restart()
    await slot.settle()
    slot.engine().exit({ code: 1 })
    await slot.clock.advance(1_000)
    expect(slot.runtime.starts).toHaveLength(2)
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    expect((await restarted).state).toBe('ready')
  })

  it('60 s up without a model are not 60 s of ready', async () => {
    const slot = openActor({})
    const loaded = slot.load()
    await slot.settle()
    slot.say({ kind: 'no_model' })
    await expect(loaded).rejects.toMatchObject({ code: 'slot.not_ready' })
    await slot.clock.advance(50_000)
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.clock.advance(100)
    expect(slot.row()).toMatchObject({ state: 'ready', breaker: { failures: 1 } })
    await slot.clock.advance(59_000)
    expect(slot.row().breaker).toMatchObject({ failures: 1 })
    await slot.clock.advance(1_000)
    expect(slot.row().breaker).toBeNull()
  })

  it('a load of the daemon leaves an engine without a model to people', async () => {
    const slot = openActor({})
    const loaded = slot.load()
    await slot.settle()
    slot.say({ kind: 'no_model' })
    await expect(loaded).rejects.toMatchObject({ code: 'slot.not_ready' })
    await slot.clock.advance(10_000)
    await expect(slot.load('daemon')).rejects.toMatchObject({ code: 'slot.not_ready' })
    expect(slot.runtime.running).toHaveLength(1)
    void slot.load('person')
    await slot.settle()
    expect(slot.runtime.starts).toHaveLength(2)
  })
})

describe('while nothing may start', () => {
  const IMAGES = Hal0Error.of('gpu.image_mode', 'the GPU makes images', { retryAfterS: 5 })

  it('everybody hears why, nothing counts, and it works when that is over', async () => {
    const slot = openActor({})
    slot.refuseStarts(IMAGES)
    await expect(slot.load('person')).rejects.toBe(IMAGES)
    await expect(slot.load('daemon')).rejects.toBe(IMAGES)
    await expect(slot.acquire()).rejects.toBe(IMAGES)
    await expect(slot.restart()).rejects.toBe(IMAGES)
    expect(slot.runtime.starts).toEqual([])
    expect(slot.row()).toMatchObject({ state: 'offline', breaker: null })
    slot.refuseStarts(undefined)
    const request = slot.acquire()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    await expect(request).resolves.toBeDefined()
  })

  it('a restart, or a load of what was edited, stops nothing that could not start again', async () => {
    const slot = await openReadyActor({})
    slot.refuseStarts(IMAGES)
    await expect(slot.restart()).rejects.toBe(IMAGES)
    slot.setFiles('changed')
    await expect(slot.load()).rejects.toBe(IMAGES)
    slot.setFiles('same')
    await expect(slot.load()).resolves.toMatchObject({ state: 'ready' })
    expect(slot.runtime.starts).toHaveLength(1)
  })

  it('a model whose turn it would be does not cost the engine that serves', async () => {
    const slot = await openReadyActor({})
    slot.refuseStarts(IMAGES)
    await expect(slot.acquire({ modelId: 'n' })).rejects.toBe(IMAGES)
    expect(slot.row().state).toBe('ready')
    await expect(slot.acquire()).resolves.toBeDefined()
  })
})
