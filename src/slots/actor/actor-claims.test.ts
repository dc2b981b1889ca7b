import { describe, expect, it } from 'vitest'
import { type ActorHarness, openActor, openReadyActor } from '../../../test/support/actor-harness.ts'

/** What became of a promise so far. */
function watched<T>(promise: Promise<T>): { readonly is: () => T | 'open' } {
  let now: T | 'open' = 'open'
  promise.then(
    (value) => {
      now = value
    },
    () => undefined,
  )
  return { is: () => now }
}

async function setFile(slot: ActorHarness, keys: Readonly<Record<string, unknown>>): Promise<void> {
  slot.configure(keys)
  await slot.look()
}

describe('an eviction', () => {
  it('stops a quiet slot, and is answered when nothing of it is alive', async () => {
    const slot = await openReadyActor({ knobs: { termDelayMs: 3_000 } })
    const outcome = watched(slot.evict())
    await slot.clock.advance(2_999)
    expect(outcome.is()).toBe('open')
    await slot.clock.advance(1)
    expect(outcome.is()).toBe('evicted')
    expect(slot.runtime.running).toEqual([])
    expect(slot.row()).toMatchObject({ state: 'offline', failure: null, breaker: null })
  })

  it.each<[string, (slot: ActorHarness) => Promise<unknown> | void]>([
    ['is busy', (slot) => slot.acquire()],
    ['is pinned', (slot) => setFile(slot, { pinned: true })],
    ['belongs to a lane', (slot) => slot.setManagedBy('lane')],
    [
      'is to be stopped when its stream ends',
      async (slot) => {
        await slot.acquire()
        void slot.unload()
      },
    ],
    ['is being stopped already', (slot) => void slot.unload(0)],
    ['is down', (slot) => slot.unload(0)],
  ])('of a slot that %s does nothing', async (what, make) => {
    const slot = await openReadyActor({ knobs: { termDelayMs: 3_000 } })
    const made = make(slot)
    await slot.clock.advance(what === 'is down' ? 3_000 : 0)
    await made
    const before = slot.row()
    expect(await slot.evict()).toBe('refused')
    expect(slot.row()).toEqual(before)
  })

  it('of a slot that loads does nothing', async () => {
    const slot = openActor({})
    void slot.load()
    await slot.settle()
    expect(await slot.evict()).toBe('refused')
    expect(slot.row().state).toBe('warming')
  })

  it('who comes while it goes is served by the next load', async () => {
    const slot = await openReadyActor({})
    const outcome = slot.evict()
    const request = slot.acquire()
    expect(await outcome).toBe('evicted')
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    expect((await request).attemptId).toBe(slot.runtime.starts[1]?.options.attemptId)
  })
})

describe('a claim', () => {
  it('lets the stream end, serves who came before, not who came later, then the slot goes and comes back', async () => {
    const slot = await openReadyActor({ parallel: 1 })
    const stream = await slot.acquire()
    const earlier = watched(slot.acquire())
    const { gone } = slot.claim()
    const end = watched(gone)
    const later = watched(slot.acquire())
    await slot.settle()
    stream.release('answered')
    await slot.settle()
    const second = earlier.is()
    expect(second).not.toBe('open')
    expect(later.is()).toBe('open')
    expect(end.is()).toBe('open')
    if (second !== 'open') second.release('answered')
    await slot.settle()
    expect(end.is()).toBe('evicted')
    expect(later.is()).toBe('open')
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    expect(later.is()).not.toBe('open')
    expect(slot.runtime.starts).toHaveLength(2)
  })

  it('that is given up lets those go on who waited for it, at once', async () => {
    const slot = await openReadyActor({ parallel: 2 })
    await slot.acquire()
    const claim = slot.claim()
    const later = watched(slot.acquire())
    await slot.settle()
    expect(later.is()).toBe('open')
    claim.giveUp()
    claim.giveUp()
    expect(await claim.gone).toBe('refused')
    expect(later.is()).not.toBe('open')
    expect(slot.runtime.starts).toHaveLength(1)
  })

  it('of two keeps the slot claimed while one is left', async () => {
    const slot = await openReadyActor({ parallel: 2 })
    const stream = await slot.acquire()
    const first = slot.claim()
    const second = slot.claim()
    const later = watched(slot.acquire())
    first.giveUp()
    await slot.settle()
    expect(later.is()).toBe('open')
    stream.release('answered')
    await slot.settle()
    expect(await second.gone).toBe('evicted')
    expect(await first.gone).toBe('refused')
  })

  it('of a quiet slot makes it go at once, pinned or not', async () => {
    const slot = await openReadyActor({})
    await setFile(slot, { pinned: true })
    expect(await slot.claim().gone).toBe('evicted')
  })

  it('who waits because of it is told so when the wait is over', async () => {
    const slot = await openReadyActor({})
    await slot.acquire()
    slot.claim()
    const later = slot.acquire({ waitMs: 1_000 })
    await slot.clock.advance(1_000)
    await expect(later).rejects.toMatchObject({ code: 'slot.loading', message: expect.stringContaining('makes way') })
  })

  it('a stream that never ends is not cut by it', async () => {
    const slot = await openReadyActor({})
    const stream = await slot.acquire()
    slot.claim()
    await slot.clock.advance(3_600_000)
    expect(stream.revoked.aborted).toBe(false)
    expect(slot.row().state).toBe('serving')
  })

  it.each([true, false])(
    'of a slot that loads: with untilReady (%s) it waits for it, else it is refused',
    async (until) => {
      const slot = openActor({})
      const before = watched(slot.acquire())
      await slot.settle()
      const claim = watched(slot.claim(until).gone)
      const meanwhile = watched(slot.acquire())
      await slot.settle()
      expect(claim.is()).toBe(until ? 'open' : 'refused')
      slot.say({ kind: 'ready', parallel: 4 })
      await slot.settle()
      const leases = [before.is(), meanwhile.is()]
      expect(leases).not.toContain('open')
      const later = watched(slot.acquire())
      await slot.settle()
      expect(later.is() === 'open').toBe(until)
      for (const lease of leases) if (lease !== 'open') lease.release('answered')
      await slot.settle()
      expect(claim.is()).toBe(until ? 'evicted' : 'refused')
    },
  )

  it('of a slot that is down has nothing to wait for', async () => {
    expect(await openActor({}).claim(true).gone).toBe('refused')
  })

  it('of an engine that the daemon leaves behind is refused: it keeps its memory', async () => {
    const slot = await openReadyActor({})
    const stream = await slot.acquire()
    const { gone } = slot.claim()
    const closed = slot.close({ drainMs: 30_000, keepEngine: true })
    stream.release('answered')
    await closed
    expect(await gone).toBe('refused')
    expect(slot.runtime.running).toHaveLength(1)
  })

  it.each([
    ['arbiter', 1],
    ['preload', 0],
  ] as const)('for %s tells of %i eviction: others tell for themselves', async (reason, count) => {
    const slot = await openReadyActor({})
    await slot.claim(false, reason).gone
    expect(slot.events.filter(({ type }) => type === 'slot.evicted')).toHaveLength(count)
  })
})

describe('a slot that nobody asks for', () => {
  it('is idle 300 s after its last answer, unloaded when its own file says so, and a pin keeps it', async () => {
    const slot = await openReadyActor({})
    const lease = await slot.acquire()
    await slot.clock.advance(600_000)
    expect(slot.row().state).toBe('serving')
    lease.release('answered')
    await slot.clock.advance(299_999)
    expect(slot.row().state).toBe('ready')
    await slot.clock.advance(1)
    expect(slot.row()).toMatchObject({ state: 'idle', idle_reason: 'quiet' })
    await setFile(slot, { unload_after_s: 400, pinned: true })
    await slot.clock.advance(3_600_000)
    expect(slot.row().state).toBe('idle')
    await setFile(slot, { unload_after_s: 400 })
    await slot.settle()
    expect(slot.row().state).toBe('offline')
    expect(slot.events.find(({ type }) => type === 'slot.evicted')?.data).toMatchObject({ reason: 'idle' })
  })

  it('looks do not count as use, and a look leaves no second timer', async () => {
    const slot = await openReadyActor({ unloadAfterMs: 10_000 })
    const timers = slot.clock.pendingTimers
    for (let i = 0; i < 9; i++) {
      await slot.look()
      await slot.clock.advance(1_000)
    }
    expect(slot.clock.pendingTimers).toBe(timers)
    expect(slot.row().state).toBe('ready')
    await slot.clock.advance(1_000)
    expect(slot.row().state).toBe('offline')
  })
})

describe('an unload', () => {
  it('of a pinned slot needs force; of one that is off it does nothing', async () => {
    const slot = await openReadyActor()
    await setFile(slot, { pinned: true })
    await expect(slot.unload(0)).rejects.toMatchObject({ code: 'slot.pinned' })
    expect(slot.row()).toMatchObject({ state: 'ready' })
    await expect(slot.unloadByForce(0)).resolves.toMatchObject({ state: 'offline', message: '' })
    await expect(slot.unload(0)).resolves.toMatchObject({ state: 'offline' })
  })

  it('that nobody asked for says why, until the next start', async () => {
    const slot = await openReadyActor({ unloadAfterMs: 400_000 })
    await slot.clock.advance(400_000)
    expect(slot.row()).toMatchObject({ state: 'offline', message: 'unloaded: no request for 400 s' })
    const loaded = slot.load()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await loaded
    expect(slot.row().message).toBe('')
    await slot.evict()
    expect(slot.row()).toMatchObject({ state: 'offline', message: 'made room for another slot' })
  })
})
