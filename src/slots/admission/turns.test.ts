import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MemoryWorld, poolOf } from '../../../test/support/memory-world.ts'
import { GIB } from '../../kernel/units.ts'

const gpu24 = () => new MemoryWorld([poolOf('host', 64), poolOf('gpu0', 24)])

describe('two that do not fit together', () => {
  it('A streams, B is asked for: the stream ends by itself, later requests for A wait, B is next, then A again', async () => {
    const world = gpu24()
    const a = world.add('a', { gpuGib: 20 }).up()
    const b = world.add('b', { gpuGib: 20 })
    const order: string[] = []
    const asks = [a.request(10_000).then((how) => order.push(`stream ${how}`))]
    await world.clock.advance(100)
    asks.push(b.request(500).then((how) => order.push(`b ${how}`)))
    await world.clock.advance(100)
    expect(a.claims.size).toBe(1)
    asks.push(a.request(10).then((how) => order.push(`a ${how}`)))
    await world.clock.advance(5000)
    expect(order).toEqual([])
    expect(a.leases).toBe(1)
    await world.clock.advance(20_000)
    await Promise.all(asks)
    expect(order).toEqual(['stream served', 'b served', 'a served'])
    expect(world.loads).toEqual(['b', 'a'])
    expect(b.admission?.phases).toMatchObject({ drain: 9900, evict: 200 })
    expect(world.overdrawnBytes).toBe(0)
  })

  it('1,000 requests in turn: nobody starves, and each switch serves all who wait', async () => {
    const world = gpu24()
    const slots = [world.add('a', { gpuGib: 20 }), world.add('b', { gpuGib: 20 })]
    let served = 0
    let longestMs = 0
    for (let i = 0; i < 1000; i++) {
      const beganMs = world.clock.monotonicMs()
      void slots[i % 2]?.request(20).then((how) => {
        if (how === 'served') served += 1
        longestMs = Math.max(longestMs, world.clock.monotonicMs() - beganMs)
      })
      await world.clock.advance(50)
    }
    await world.clock.advance(30_000)
    expect(served).toBe(1000)
    // A switch costs 1.2 s (stop and load); in the 50 s in which requests come there is room for 42, and one more for the last ones.
    expect(world.loads.length).toBeLessThanOrEqual(43)
    expect(longestMs).toBeLessThan(4000)
    expect(world.overdrawnBytes).toBe(0)
    expect(world.clock.pendingTimers).toBe(0)
  })

  it('1,000 at once: one switch for each slot', async () => {
    const world = gpu24()
    world.add('a', { gpuGib: 20 })
    world.add('b', { gpuGib: 20 })
    const answers = Array.from({ length: 1000 }, (_, i) => world.slot(i % 2 === 0 ? 'a' : 'b').request(20))
    await world.clock.advance(10_000)
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['served']))
    expect(world.loads).toEqual(['a', 'b'])
  })

  it('A, B, A, C, A, B: at most one switch for each of them', async () => {
    const world = gpu24()
    const asked = ['a', 'b', 'a', 'c', 'a', 'b']
    for (const name of ['a', 'b', 'c']) world.add(name, { gpuGib: 20 })
    const answers: Promise<string>[] = []
    for (const name of asked) {
      answers.push(world.slot(name).request(300))
      await world.clock.advance(10)
    }
    await world.clock.advance(20_000)
    expect(await Promise.all(answers)).toEqual(asked.map(() => 'served'))
    expect(world.loads).toEqual(['a', 'b', 'c'])
  })
})

describe('the order of turns', () => {
  it('is that of the oldest request, not of the loads', async () => {
    const world = gpu24()
    const a = world.add('a', { gpuGib: 20, loadMs: 100 }).up()
    void a.request(3000)
    await world.clock.advance(0)
    world.add('first', { gpuGib: 20 }).load()
    await world.clock.advance(10)
    world.add('person', { gpuGib: 20 }).load()
    await world.clock.advance(10)
    // Its request has waited since before the person's load, for example at another model of the slot.
    const old = world.add('old', { gpuGib: 20 })
    void world.desk.admit({
      slot: 'old',
      device: 'gpu-cuda',
      gpus: undefined,
      need: old.need,
      mode: 'enforce',
      signal: new AbortController().signal,
      oldestWaiterMs: () => 5,
      onWaiting: () => {},
    })
    await world.clock.advance(10)
    expect((await world.desk.capacity()).waiting).toEqual([
      { slot: 'first', needed_bytes: 20 * GIB, waits_for: ['a'] },
      { slot: 'old', needed_bytes: 20 * GIB, waits_for: ['first'] },
      { slot: 'person', needed_bytes: 20 * GIB, waits_for: ['first', 'old'] },
    ])
    world.desk.close()
  })

  it('a small load passes a big one that waits when both plans come out', async () => {
    const world = gpu24()
    void world.add('a', { gpuGib: 10 }).up().request(30_000)
    await world.clock.advance(0)
    world.add('big', { gpuGib: 20 }).load()
    await world.clock.advance(10)
    world.add('small', { gpuGib: 4 }).load()
    await world.clock.advance(10)
    expect(world.slot('small').phase).toBe('loading')
    world.add('more', { gpuGib: 1 }).load()
    await world.clock.advance(5000)
    // 24 − 4 leaves exactly what the big one needs.
    expect(world.slot('more').phase).toBe('asking')
    await world.clock.advance(40_000)
    expect(world.loads).toEqual(['small', 'big', 'more'])
    // The last one makes the least recently used go, and only that one.
    expect(world.evicted()).toEqual(['a', 'small'])
    expect(world.overdrawnBytes).toBe(0)
  })

  it('another card does not wait for this one', async () => {
    const world = new MemoryWorld([poolOf('host', 64), poolOf('gpu0', 24), poolOf('gpu1', 24)])
    void world.add('a', { gpuGib: 20, hostGib: 1, gpuIndex: 0 }).up().request(30_000)
    world.add('q', { gpuGib: 20, hostGib: 1, gpuIndex: 1 }).up()
    await world.clock.advance(0)
    world.add('b', { gpuGib: 20, hostGib: 1, gpuIndex: 0 }).load()
    await world.clock.advance(10)
    world.add('c', { gpuGib: 20, hostGib: 1, gpuIndex: 1 }).load()
    await world.clock.advance(3000)
    expect(world.slot('c').phase).toBe('up')
    expect(world.slot('b').phase).toBe('asking')
    expect(world.slot('b').waitingFor).toEqual(['waits for a: 20.0 GiB of gpu0 needed, 4.0 GiB free'])
    world.desk.close()
  })

  it('members of one group come one after the other', async () => {
    const world = gpu24()
    world.settings.groups = { one: ['a', 'b'] }
    const answers = [world.add('a', { gpuGib: 1 }).request(100), world.add('b', { gpuGib: 1 }).request(100)]
    await world.clock.advance(10)
    expect([world.slot('a').phase, world.slot('b').phase]).toEqual(['loading', 'asking'])
    await world.clock.advance(5000)
    expect(await Promise.all(answers)).toEqual(['served', 'served'])
    expect(world.slot('a').phase).toBe('offline')
  })
})

describe('whatever happens', () => {
  const traits = fc.record({
    gpuGib: fc.integer({ min: 1, max: 22 }),
    priority: fc.integer({ min: 0, max: 100 }),
    loadMs: fc.integer({ min: 10, max: 3000 }),
    stopMs: fc.integer({ min: 1, max: 1500 }),
    lagMs: fc.integer({ min: 0, max: 4000 }),
  })
  const step = fc.record({
    nth: fc.nat(5),
    serveMs: fc.integer({ min: 1, max: 4000 }),
    afterMs: fc.integer({ min: 0, max: 1500 }),
    what: fc.constantFrom('request', 'request', 'request', 'load', 'abort', 'look'),
  })

  it('no memory is given out twice, everybody gets an answer, and no claim is left over', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(traits, { minLength: 6, maxLength: 6 }),
        fc.nat(5),
        fc.array(step, { minLength: 1, maxLength: 25 }),
        async (all, pinnedNth, steps) => {
          const world = gpu24()
          world.settings.loadWaitMs = 20_000
          const slots = all.map((each, i) => world.add(`s${i}`, { ...each, pinned: i === pinnedNth }))
          const answers: Promise<string>[] = []
          for (const { nth, serveMs, afterMs, what } of steps) {
            const slot = slots[nth]
            if (slot === undefined) continue
            if (what === 'request') answers.push(slot.request(serveMs))
            else if (what === 'load') slot.load()
            else if (what === 'look') world.desk.look()
            else {
              slot.controller.abort(new Error('left'))
              slot.controller = new AbortController()
            }
            await world.clock.advance(afterMs)
          }
          await world.clock.advance(300_000)
          const ends = await Promise.all(answers)
          expect(ends).toHaveLength(answers.length)
          expect(world.overdrawnBytes).toBe(0)
          expect(world.evicted()).not.toContain(`s${pinnedNth}`)
          expect(slots.map((slot) => slot.claims.size)).toEqual(slots.map(() => 0))
          expect(slots.map((slot) => slot.phase).filter((phase) => phase !== 'up' && phase !== 'offline')).toEqual([])
          expect((await world.desk.capacity()).waiting).toEqual([])
          expect(world.clock.pendingTimers).toBe(0)
        },
      ),
      { numRuns: 60 },
    )
  })
})
