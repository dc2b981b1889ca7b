import { describe, expect, it } from 'vitest'
import { type ActorHarness, type HarnessOptions, openActor } from '../../../test/support/actor-harness.ts'
import { HeldDesk, HeldPulls } from '../../../test/support/actor-world.ts'

interface Waiting {
  readonly slot: ActorHarness
  readonly desk: HeldDesk
  readonly pulls: HeldPulls
}

/** A slot whose load waits for its files, or for memory. */
function openWaiting(what: 'files' | 'memory', options: HarnessOptions = {}): Waiting {
  const desk = new HeldDesk()
  desk.isHolding = what === 'memory'
  const pulls = new HeldPulls()
  if (what === 'files') pulls.missing.add('m')
  const slot = openActor({ ...options, desk, pull: pulls.fetch, isMissing: (modelId) => pulls.missing.has(modelId) })
  return { slot, desk, pulls }
}

describe('a load whose files are missing', () => {
  it('is pulling for as long as that takes, then gets the whole time of a load', async () => {
    const { slot, pulls } = openWaiting('files')
    const loaded = slot.load()
    await slot.settle()
    expect(slot.row()).toMatchObject({ state: 'pulling', message: 'fetching org/name' })
    await slot.clock.advance(7_200_000)
    pulls.answer('progress')
    await slot.settle()
    expect(slot.row()).toMatchObject({ state: 'pulling', message: 'fetching org/name, 0 %' })
    pulls.answer('done')
    await slot.clock.advance(899_999)
    expect(slot.row().state).toBe('warming')
    expect(slot.runtime.starts).toHaveLength(1)
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    expect((await loaded).state).toBe('ready')
    expect(slot.states()).toEqual(['starting', 'offline', 'pulling', 'starting', 'warming', 'ready'])
  })

  it('fails when the pull does; that counts for nothing, and the next request tries again', async () => {
    const { slot, pulls } = openWaiting('files')
    const request = slot.acquire()
    await slot.settle()
    pulls.answer('failed')
    await expect(request).rejects.toMatchObject({ code: 'slot.model_missing' })
    expect(slot.row()).toMatchObject({ state: 'error', breaker: null })
    void slot.acquire()
    await slot.settle()
    expect(slot.row().state).toBe('pulling')
  })

  it('a request hears after its wait that files are fetched; the load goes on', async () => {
    const { slot } = openWaiting('files')
    const request = slot.acquire({ waitMs: 10_000 })
    await slot.clock.advance(10_000)
    await expect(request).rejects.toMatchObject({ code: 'slot.loading', message: expect.stringContaining('fetching') })
    expect(slot.row().state).toBe('pulling')
  })
})

describe('a load that waits for memory', () => {
  it('says so, has no deadline of its own, and starts with the leave', async () => {
    const { slot, desk } = openWaiting('memory')
    void slot.load()
    await slot.clock.advance(3_600_000)
    expect(slot.row()).toMatchObject({ state: 'starting', message: 'waits for memory that slot x holds' })
    expect(slot.runtime.starts).toEqual([])
    desk.answer('admit')
    await slot.settle()
    expect(slot.row()).toMatchObject({ state: 'warming' })
    expect(desk.open.promises).toBe(1)
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    expect(desk.open.promises).toBe(0)
  })

  it.each([
    ['insufficient', 'slot.preload_evict_insufficient', 'error'],
    ['loading', 'slot.loading', 'offline'],
  ] as const)('refused as %s: who waits hears %s, the slot is %s, and nothing counts', async (how, code, state) => {
    const { slot, desk } = openWaiting('memory')
    const request = slot.acquire()
    const loaded = slot.load()
    await slot.settle()
    desk.answer(how)
    await expect(loaded).rejects.toMatchObject({ code })
    await expect(request).rejects.toMatchObject({ code })
    expect(slot.row()).toMatchObject({ state, breaker: null, queued: 0 })
    expect(slot.opened.ports).toBe(0)
    expect(slot.clock.pendingTimers).toBe(0)
  })

  it.each(['exit', 'stranger', 'unload'] as const)('gives its promise back when it ends by %s', async (how) => {
    const { slot, desk } = openWaiting('memory', { port: 8_081 })
    void slot.load()
    await slot.settle()
    desk.answer('admit')
    await slot.settle()
    if (how === 'exit') slot.engine().exit({ code: 1 })
    else if (how === 'stranger') slot.say({ kind: 'stranger', reason: 'x' })
    else void slot.unload()
    await slot.clock.advance(5)
    // A look that was on its way comes back with nothing.
    slot.say({ kind: 'silent' })
    await slot.settle()
    expect(desk.open).toEqual({ promises: 0, stops: 0 })
    expect(slot.opened).toEqual({ ports: 0, probers: 0, liveLooks: 0 })
  })
})

describe.each(['files', 'memory'] as const)('an unload of a load that waits for %s', (what) => {
  it('ends it at once, without a process, and answers everybody', async () => {
    const { slot, desk, pulls } = openWaiting(what)
    const request = slot.acquire()
    const loaded = slot.load()
    await slot.settle()
    const unloaded = slot.unload()
    await expect(loaded).rejects.toMatchObject({ code: 'slot.unloading' })
    await expect(request).rejects.toMatchObject({ code: 'slot.unloading' })
    expect((await unloaded).state).toBe('offline')
    expect(desk.waiting + pulls.waiting).toBe(0)
    expect(slot.runtime.starts).toEqual([])
    expect(slot.clock.pendingTimers).toBe(0)
  })
})
