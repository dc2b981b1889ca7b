import { describe, expect, it } from 'vitest'
import { type FleetHarness, openFleetHarness } from '../../test/support/fleet-harness.ts'
import { poolOf } from '../../test/support/memory-world.ts'
import { GIB } from '../kernel/units.ts'

const SLOT = { gpuGib: 20, loadMs: 1000, stopMs: 200 }

/** A streams for `streamMs`; B and C want its memory. */
async function streaming(streamMs = 10_000, traits: { readonly lagMs?: number; readonly stopMs?: number } = {}) {
  const fleet = await openFleetHarness({
    slots: { a: { ...SLOT, ...traits }, b: SLOT, c: SLOT },
    pools: [poolOf('host', 64), poolOf('gpu0', 24)],
  })
  await fleet.up('a')
  const stream = fleet.ask('a', streamMs)
  await fleet.advance(100)
  return { fleet, stream }
}

const claimed = (fleet: FleetHarness) =>
  fleet.desk.capacity().then(({ waiting }) => waiting.flatMap(({ waits_for: holders }) => holders))

describe('who waits for the memory of a busy slot', () => {
  it('tells for what, callers of the busy slot queue, and is served as soon as the stream ends', async () => {
    const { fleet, stream } = await streaming()
    const order: string[] = []
    const note = (name: string) => (answer: { readonly how: string }) => order.push(`${name} ${answer.how}`)
    const b = fleet.ask('b', 500).then(note('b'))
    await fleet.advance(200)
    const waiting = 'waits for a: 20.0 GiB of gpu0 needed, 4.0 GiB free'
    expect(fleet.row('b')).toMatchObject({ state: 'starting', message: waiting })
    const late = fleet.ask('a', 10).then(note('late'))
    await fleet.advance(200)
    expect(fleet.row('a')).toMatchObject({ state: 'serving', in_flight: 1, queued: 1 })
    expect((await fleet.desk.capacity()).waiting).toEqual([{ slot: 'b', needed_bytes: 20 * GIB, waits_for: ['a'] }])
    await fleet.until(Promise.all([stream.then(note('stream')), b, late]))
    expect(order).toEqual(['stream served', 'b served', 'late served'])
    expect(fleet.starts()).toEqual(['a', 'b', 'a'])
    expect(fleet.evicted().map(({ slot, for: wantedBy, reason }) => [slot, wantedBy, reason])).toEqual([
      ['a', 'b', 'preload'],
      ['b', 'a', 'preload'],
    ])
  })

  it('the load records what of its wait was what: the stream, the stop, the memory that came back late', async () => {
    const { fleet, stream } = await streaming(10_000, { lagMs: 3000 })
    const b = fleet.ask('b', 500)
    await fleet.advance(100)
    const c = fleet.ask('c', 10)
    await fleet.until(Promise.all([stream, b, c]))
    const [ofB, ofC] = ['b', 'c'].map((name) => fleet.loads.find(({ slot }) => slot === name)?.phases)
    // Asked 100 ms after the stream began, which lasts 10 s; A stops in 200 ms, and its memory comes back 3 s later.
    expect(ofB).toMatchObject({ drain: 9900 })
    expect(ofB?.evict).toBeGreaterThanOrEqual(200)
    expect(ofB?.evict).toBeLessThanOrEqual(300)
    expect(ofB?.release).toBeGreaterThanOrEqual(2900)
    expect(ofB?.release).toBeLessThanOrEqual(3100)
    // C waits its turn behind B, for the same memory to come back, for B's load and its request.
    expect(ofC).toMatchObject({ queue: 10_000, release: 3000 })
    expect(ofC?.drain).toBeGreaterThanOrEqual(1500)
    expect(ofC?.drain).toBeLessThanOrEqual(1600)
    expect(ofC?.evict).toBeGreaterThanOrEqual(200)
    expect(fleet.row('b').phases).toEqual(ofB)
    expect(fleet.starts()).toEqual(['a', 'b', 'c'])
    expect(fleet.machine.overdrawnBytes).toBe(0)
  })

  it('all its clients leave: it is not loaded for nobody, and the busy slot goes on at once', async () => {
    const { fleet, stream } = await streaming()
    const leaving = new AbortController()
    const gone = [fleet.ask('b', 500, { signal: leaving.signal }), fleet.ask('b', 500, { signal: leaving.signal })]
    await fleet.advance(100)
    expect(await claimed(fleet)).toEqual(['a'])
    const late = fleet.ask('a', 10)
    await fleet.advance(100)
    expect(fleet.row('a').queued).toBe(1)
    leaving.abort(new Error('left'))
    await fleet.advance(100)
    expect(await late).toMatchObject({ how: 'served' })
    expect((await Promise.all(gone)).map(({ how }) => how)).toEqual(['left', 'left'])
    expect(fleet.row('b')).toMatchObject({ state: 'offline', message: '', breaker: null })
    expect(fleet.rows().map(({ queued }) => queued)).toEqual([0, 0, 0])
    await fleet.until(stream)
    await fleet.advance(60_000)
    expect(fleet.starts()).toEqual(['a'])
    expect(fleet.loads.map(({ slot, outcome }) => [slot, outcome])).toEqual([
      ['a', 'ready'],
      ['b', 'cancelled'],
    ])
  })

  it('one of its clients leaves: the others are served', async () => {
    const { fleet, stream } = await streaming()
    const leaving = new AbortController()
    const first = fleet.ask('b', 500, { signal: leaving.signal })
    const second = fleet.ask('b', 500)
    await fleet.advance(100)
    leaving.abort(new Error('left'))
    expect((await fleet.until(Promise.all([stream, first, second]))).map(({ how }) => how)).toEqual([
      'served',
      'left',
      'served',
    ])
  })

  it("a person's load stays when the clients that joined it leave", async () => {
    const { fleet, stream } = await streaming()
    const loaded = fleet.load('b')
    const leaving = new AbortController()
    const asked = fleet.ask('b', 500, { signal: leaving.signal })
    await fleet.advance(100)
    leaving.abort(new Error('left'))
    expect((await fleet.until(Promise.all([stream, asked]))).map(({ how }) => how)).toEqual(['served', 'left'])
    expect((await fleet.until(loaded)).state).toBe('ready')
  })

  it('a client comes in the moment in which the last one leaves: it is served', async () => {
    const { fleet, stream } = await streaming()
    const leaving = new AbortController()
    const first = fleet.ask('b', 500, { signal: leaving.signal })
    await fleet.advance(100)
    leaving.abort(new Error('left'))
    const second = fleet.ask('b', 500)
    expect((await fleet.until(Promise.all([stream, first, second]))).map(({ how }) => how)).toEqual([
      'served',
      'left',
      'served',
    ])
    expect(fleet.starts()).toEqual(['a', 'b'])
  })

  it('load_wait_s passes: 503 slot.loading with Retry-After, and the busy slot goes on', async () => {
    const { fleet, stream } = await streaming(200_000)
    const asked = fleet.ask('b', 500)
    const loaded = fleet.load('b').catch((cause: unknown) => cause)
    await fleet.advance(59_000)
    const late = fleet.ask('a', 10)
    await fleet.advance(500)
    expect(fleet.row('a').queued).toBe(1)
    const { how, error } = await fleet.until(asked)
    expect(how).toBe('slot.loading')
    expect(error).toMatchObject({ status: 503, retryAfterS: expect.any(Number) })
    expect(await fleet.until(loaded)).toMatchObject({ code: 'slot.loading', details: { slot: 'b', waits_for: ['a'] } })
    expect(await fleet.until(late)).toMatchObject({ how: 'served' })
    // Nothing is wrong with it: the breaker does not count, the next request tries again.
    expect(fleet.row('b')).toMatchObject({ state: 'offline', breaker: null, failure: null })
    expect(fleet.row('a').state).toBe('serving')
    expect((await fleet.until(stream)).how).toBe('served')
    expect(fleet.loads.at(-1)).toMatchObject({ slot: 'b', outcome: 'failed', code: 'slot.loading' })
    expect(await fleet.until(fleet.ask('b', 10))).toMatchObject({ how: 'served' })
  })

  it('the busy slot crashes: its memory is taken at once, its own callers hear of the crash', async () => {
    const { fleet, stream } = await streaming()
    const b = fleet.ask('b', 500)
    await fleet.advance(100)
    const late = fleet.ask('a', 10)
    await fleet.advance(100)
    fleet.engine('a').exit({ code: 1 })
    const ends = await fleet.until(Promise.all([stream, b, late]))
    expect(ends.map(({ how }) => how)).toEqual(['dispatch.upstream_unavailable', 'served', 'slot.crash_looping'])
    // The dead process holds nothing: there was no wait for its memory.
    expect(fleet.loads.find(({ slot }) => slot === 'b')?.phases).not.toHaveProperty('release')
    expect(fleet.starts()).toEqual(['a', 'b'])
    expect(fleet.evicted()).toEqual([])
  })
})

type Wish = 'unload' | 'restart' | 'close'

/** What a wait for memory goes through, and how the fleet is brought there. */
const WAITS: Readonly<Record<string, (fleet: FleetHarness) => Promise<void>>> = {
  drain: async (fleet) => {
    await fleet.advance(100)
    expect(fleet.row('b').message).toMatch(/^waits for a/)
  },
  evict: async (fleet) => {
    await fleet.advance(1000)
    expect(fleet.row('a').state).toBe('unloading')
  },
  release: async (fleet) => {
    await fleet.advance(1600)
    expect(fleet.row('b').message).toBe('waits until the memory of a stopped engine is back')
  },
  loading: async (fleet) => {
    await fleet.advance(5000)
    expect(fleet.row('b')).toMatchObject({ state: 'warming', message: 'the engine reads the model' })
  },
}

async function waitingIn(phase: string, isLoadSlow: boolean) {
  const slot = { ...SLOT, lagMs: 3000, stopMs: 500, loadMs: isLoadSlow ? 5000 : 1000 }
  const pools = [poolOf('host', 64), poolOf('gpu0', 24)]
  const fleet = await openFleetHarness({ slots: { a: slot, b: slot }, pools })
  await fleet.up('a')
  const stream = fleet.ask('a', 1000)
  await fleet.advance(100)
  const asked = fleet.ask('b', 500)
  await WAITS[phase]?.(fleet)
  return { fleet, stream, asked }
}

describe.each(Object.keys(WAITS))('in the phase %s of a wait', (phase) => {
  it.each<{ wish: Wish; drainMs: number }>([
    { wish: 'unload', drainMs: 30_000 },
    { wish: 'unload', drainMs: 0 },
    { wish: 'restart', drainMs: 30_000 },
    { wish: 'restart', drainMs: 0 },
    { wish: 'close', drainMs: 0 },
  ])('$wish of the one that waits ($drainMs ms)', async ({ wish, drainMs }) => {
    const { fleet, stream, asked } = await waitingIn(phase, phase === 'loading')
    if (wish === 'close') await fleet.close()
    else {
      const ended = await fleet.until(fleet.slots[wish]('b', { drainMs }))
      expect(ended.state).toEqual(wish === 'unload' ? 'offline' : expect.stringMatching(/ready|serving/))
      // The same launch is begun afresh: who waits is served by that.
      expect((await fleet.until(asked)).how).toBe(wish === 'unload' ? 'slot.unloading' : 'served')
      // Whoever was to make way and has not yet goes on.
      if (phase === 'drain' && wish === 'unload') expect(fleet.row('a').state).not.toBe('offline')
      expect((await fleet.until(stream)).how).toBe('served')
      expect((await fleet.until(fleet.ask('a', 10))).how).toBe('served')
      expect((await fleet.until(fleet.ask('b', 10))).how).toBe('served')
      expect(fleet.machine.overdrawnBytes).toBe(0)
    }
    await fleet.until(Promise.all([asked, stream]))
    expect((await fleet.desk.capacity()).waiting).toEqual([])
  })

  it.each<{ wish: Wish; drainMs: number }>([
    { wish: 'unload', drainMs: 30_000 },
    { wish: 'unload', drainMs: 0 },
    { wish: 'restart', drainMs: 30_000 },
    { wish: 'restart', drainMs: 0 },
  ])('$wish of the one that makes way ($drainMs ms)', async ({ wish, drainMs }) => {
    if (wish === 'close') return
    const { fleet, stream, asked } = await waitingIn(phase, phase === 'loading')
    const ended = fleet.slots[wish]('a', { drainMs })
    expect((await fleet.until(asked)).how).toBe('served')
    expect((await fleet.until(stream)).how).toBe(phase === 'drain' && drainMs === 0 ? 'slot.unloading' : 'served')
    expect((await fleet.until(ended)).state).toBe(wish === 'unload' ? 'offline' : 'ready')
    expect((await fleet.until(fleet.ask('b', 10))).how).toBe('served')
    expect(fleet.machine.overdrawnBytes).toBe(0)
    expect((await fleet.desk.capacity()).waiting).toEqual([])
  })
})
