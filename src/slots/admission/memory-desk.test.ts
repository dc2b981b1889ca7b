import { describe, expect, it } from 'vitest'
import { MemoryWorld, needOf, poolOf } from '../../../test/support/memory-world.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { GIB } from '../../kernel/units.ts'

const gpu24 = () => new MemoryWorld([poolOf('host', 64), poolOf('gpu0', 24)])

function refusalOf(world: MemoryWorld, name: string): Hal0Error {
  const refusal = world.slot(name).refusals.at(-1)
  if (!(refusal instanceof Hal0Error)) throw new Error(`expected a refusal of ${name}, got ${String(refusal)}`)
  return refusal
}

describe('a load that fits', () => {
  it('is let in at once, without phases or a note', async () => {
    const world = gpu24()
    world.add('a', { gpuGib: 20 }).load()
    await world.clock.advance(0)
    expect(world.slot('a').admission).toMatchObject({ phases: {}, note: '' })
    await world.clock.advance(5000)
    expect(world.clock.pendingTimers).toBe(0)
  })

  it('does not get what is promised to a load that runs: it waits until that one is up and can be measured', async () => {
    const world = gpu24()
    world.add('a', { gpuGib: 16, pinned: true, loadMs: 3000 }).load()
    await world.clock.advance(10)
    // 8 GiB measured as taken, 16 promised: only the settled reading says that 8 are free.
    world.add('b', { gpuGib: 8 }).load()
    await world.clock.advance(2000)
    expect(world.slot('b').phase).toBe('asking')
    await world.clock.advance(3000)
    expect(world.slot('b').phase).toBe('up')
    expect(world.overdrawnBytes).toBe(0)
  })
})

describe('ten slots', () => {
  /** 24 GiB: ten slots of 2 GiB each, 4 free. */
  function tenSlots() {
    const world = gpu24()
    const traits = [
      { name: 's0', priority: 90, lastUsedMs: -900 },
      { name: 's1', priority: 50, lastUsedMs: -100 },
      { name: 's2', priority: 50, lastUsedMs: -500 },
      { name: 's3', priority: 10, lastUsedMs: -50, pinned: true },
      { name: 's4', priority: 20, lastUsedMs: -10 },
      { name: 's5', priority: 50, lastUsedMs: -300 },
      { name: 's6', priority: 100, lastUsedMs: -990 },
      { name: 's7', priority: 0, lastUsedMs: -1, isLanes: true },
      { name: 's8', priority: 50, lastUsedMs: -400 },
      { name: 's9', priority: 50, lastUsedMs: -200 },
    ]
    for (const { name, lastUsedMs, ...rest } of traits) world.add(name, { gpuGib: 2, ...rest }).up(lastUsedMs)
    return world
  }

  it.each([
    { gib: 4, gone: [] },
    { gib: 5, gone: ['s4'] },
    { gib: 6, gone: ['s4'] },
    { gib: 8, gone: ['s4', 's2'] },
    { gib: 10, gone: ['s4', 's2', 's8'] },
    { gib: 14, gone: ['s4', 's2', 's8', 's5', 's9'] },
    { gib: 20, gone: ['s4', 's2', 's8', 's5', 's9', 's1', 's0', 's6'] },
  ])('for $gib GiB: lowest priority first, then least recently used: $gone', async ({ gib, gone }) => {
    const world = tenSlots()
    world.add('new', { gpuGib: gib }).load()
    await world.clock.advance(30_000)
    expect(world.evicted()).toEqual(gone)
    expect(world.slot('new').phase).toBe('up')
    expect(world.slot('s3').phase).toBe('up')
    expect(world.slot('s7').phase).toBe('up')
    expect(world.overdrawnBytes).toBe(0)
  })

  it('a busy one is passed over while quiet ones are enough', async () => {
    const world = tenSlots()
    void world.slot('s4').request(50_000)
    await world.clock.advance(0)
    world.add('new', { gpuGib: 8 }).load()
    await world.clock.advance(5000)
    expect(world.evicted()).toEqual(['s2', 's8'])
  })

  it('one that refuses at the last moment costs nothing but the next in order, at once', async () => {
    const world = tenSlots()
    world.slot('s4').refusesOnce = true
    world.add('new', { gpuGib: 6 }).load()
    await world.clock.advance(0)
    expect(world.slot('s2').phase).toBe('stopping')
    await world.clock.advance(5000)
    expect(world.evicted()).toEqual(['s2'])
    expect(world.slot('new').phase).toBe('up')
  })

  it('what can never fit is refused at once with exact numbers, and nobody is unloaded for it', async () => {
    const world = tenSlots()
    world.add('new', { gpuGib: 21 }).load()
    await world.clock.advance(0)
    const refusal = refusalOf(world, 'new')
    expect(refusal.code).toBe('slot.preload_evict_insufficient')
    expect(refusal.details).toMatchObject({
      evicted: [],
      freed_bytes: 0,
      free_bytes: 4 * GIB,
      needed_bytes: 21 * GIB,
      evictable_bytes: 16 * GIB,
      shortfall_bytes: 1 * GIB,
      pinned: [
        { slot: 's3', held_bytes: 2 * GIB },
        { slot: 's7', held_bytes: 2 * GIB },
      ],
    })
    expect(refusal.message).toContain('needs 21.0 GiB of gpu0, 4.0 GiB are free')
    // Said once: whoever shows the message shows the remedy beside it.
    expect(refusal.details?.['remedy']).toContain('hal0 slot unload s3')
    expect(refusal.message).not.toContain('hal0 slot unload')
    expect(world.evicted()).toEqual([])
  })

  it('says who would go first, in /api/capacity', async () => {
    const world = tenSlots()
    void world.slot('s2').request(50_000)
    await world.clock.advance(0)
    const { pools, slots } = await world.desk.capacity()
    expect(pools[1]).toEqual({
      id: 'gpu0',
      kind: 'vram',
      total_bytes: 24 * GIB,
      free_bytes: 4 * GIB,
      promised_bytes: 0,
    })
    const order = Object.fromEntries(slots.map((row) => [row.slot, row.eviction_order]))
    expect(order).toEqual({ s4: 1, s8: 2, s5: 3, s9: 4, s1: 5, s0: 6, s6: 7, s2: null, s3: null, s7: null })
    expect(slots.find((row) => row.slot === 's2')).toMatchObject({ in_flight: 1, held_bytes: 2 * GIB, pools: ['gpu0'] })
  })
})

describe('memory that stays away', () => {
  it('is waited for after an eviction, bounded, before the next start and before another victim', async () => {
    const world = gpu24()
    world.add('a', { gpuGib: 12, lagMs: 3000 }).up(-2)
    world.add('b', { gpuGib: 12 }).up(-1)
    world.add('c', { gpuGib: 12 }).load()
    await world.clock.advance(3000)
    expect(world.slot('c').phase).toBe('asking')
    await world.clock.advance(3000)
    expect(world.slot('c').phase).toBe('up')
    expect(world.evicted()).toEqual(['a'])
    expect(world.slot('c').admission?.phases).toMatchObject({ evict: 200, release: 3000 })
    expect(world.overdrawnBytes).toBe(0)
  })

  it.each(['off', 'warn'] as const)('is waited for with admission = %s too, for 10 s at most', async (mode) => {
    const world = gpu24()
    world.add('a', { gpuGib: 12, lagMs: 60_000 }).up()
    await Promise.all([world.slot('a').stop(), world.clock.advance(200)])
    world.add('c', { gpuGib: 12, mode }).load()
    await world.clock.advance(9000)
    expect(world.slot('c').phase).toBe('asking')
    await world.clock.advance(2000)
    expect(world.slot('c').phase).toBe('up')
  })

  it('is nothing to wait for where the estimate says that next to nothing comes back', async () => {
    const world = new MemoryWorld([poolOf('host', 64)])
    const need = needOf(0, 6, { mappedBytes: 5 * GIB, overheadBytes: GIB })
    world.add('a', { device: 'cpu', need }).up()
    world.others.set('host', GIB)
    await Promise.all([world.slot('a').stop(), world.clock.advance(200)])
    world.others.set('host', 2 * GIB)
    world.slot('a').load()
    await world.clock.advance(0)
    expect(world.slot('a').phase).toBe('loading')
  })

  it('of another card is not waited for', async () => {
    const world = new MemoryWorld([poolOf('host', 64), poolOf('gpu0', 24), poolOf('gpu1', 24)])
    world.add('a', { gpuGib: 12, gpuIndex: 0, lagMs: 60_000 }).up()
    await Promise.all([world.slot('a').stop(), world.clock.advance(200)])
    world.add('c', { gpuGib: 12, gpuIndex: 1 }).load()
    await world.clock.advance(0)
    expect(world.slot('c').phase).toBe('loading')
  })
})

describe('a world that changes meanwhile', () => {
  it('another program takes the memory that an eviction freed: decided again, and the refusal names what was done', async () => {
    const world = gpu24()
    world.add('a', { gpuGib: 12 }).up()
    world.add('b', { gpuGib: 20 }).load()
    await world.clock.advance(100)
    world.others.set('gpu0', 10 * GIB)
    await world.clock.advance(20_000)
    const { details } = refusalOf(world, 'b')
    expect(details).toMatchObject({
      evicted: ['a'],
      freed_bytes: 12 * GIB,
      free_bytes: 14 * GIB,
      needed_bytes: 20 * GIB,
      shortfall_bytes: 6 * GIB,
      pinned: [],
    })
  })

  it('another program ends: who waited for a busy slot is let in, and the claim is given up', async () => {
    const world = gpu24()
    world.others.set('gpu0', 12 * GIB)
    const a = world.add('a', { gpuGib: 12 }).up()
    void a.request(50_000)
    await world.clock.advance(0)
    world.add('b', { gpuGib: 12 }).load()
    await world.clock.advance(1000)
    expect(a.claims.size).toBe(1)
    world.others.clear()
    await world.clock.advance(1000)
    expect(world.slot('b').phase).toBe('loading')
    expect(a.claims.size).toBe(0)
    expect(a.phase).toBe('up')
  })

  it('the limit of the wait is lowered: it ends by the new one', async () => {
    const world = gpu24()
    void world.add('a', { gpuGib: 20 }).up().request(100_000)
    await world.clock.advance(0)
    world.add('b', { gpuGib: 20 }).load()
    await world.clock.advance(5000)
    world.settings.loadWaitMs = 8000
    await world.clock.advance(3500)
    expect(refusalOf(world, 'b')).toMatchObject({ code: 'slot.loading', retryAfterS: 5, details: { waits_for: ['a'] } })
    expect(world.slot('a').claims.size).toBe(0)
  })

  it('a meter that breaks is a check that is skipped and said', async () => {
    const world = gpu24()
    world.pools = [poolOf('host', 64), poolOf('gpu0', 24, { freeBytes: undefined })]
    world.add('a', { gpuGib: 30 }).load()
    await world.clock.advance(0)
    expect(world.slot('a').admission?.note).toBe('memory was not checked: free memory of gpu0 cannot be read')
  })
})

describe('modes', () => {
  it('an unknown need is let in with a note; the event comes once per slot and reason', async () => {
    const world = gpu24()
    const need = { kind: 'unknown', reason: 'the profile sets -ot' } as const
    const a = world.add('a', { need })
    for (let i = 0; i < 3; i++) {
      a.load()
      await world.clock.advance(2000)
      await Promise.all([a.stop(), world.clock.advance(200)])
    }
    expect(a.admission?.note).toBe('memory was not checked: the profile sets -ot')
    expect(world.events.map(({ type, data }) => [type, data['slot']])).toEqual([['slot.admission_skipped', 'a']])
  })

  it('warn lets it in with a note and an event, and unloads nobody', async () => {
    const world = gpu24()
    world.add('a', { gpuGib: 20 }).up()
    world.add('b', { gpuGib: 20, mode: 'warn' }).load()
    await world.clock.advance(0)
    expect(world.slot('b').admission?.note).toBe('20.0 GiB of gpu0 needed, 4.0 GiB free; admission = warn')
    expect(world.events.map(({ type }) => type)).toEqual(['slot.admission_warned'])
    expect(world.slot('a').phase).toBe('up')
  })

  it.each(['off', 'warn', 'enforce'] as const)('groups hold with admission = %s', async (mode) => {
    const world = gpu24()
    world.settings.groups = { one: ['a', 'b'], two: ['b', 'c'] }
    world.add('a', { gpuGib: 1 }).up()
    world.add('c', { gpuGib: 1 }).up()
    world.add('d', { gpuGib: 1 }).up()
    world.add('b', { gpuGib: 1, mode }).load()
    await world.clock.advance(3000)
    expect(world.events.map(({ data }) => [data['slot'], data['for'], data['reason']])).toEqual([
      ['a', 'b', 'group'],
      ['c', 'b', 'group'],
    ])
    expect(world.slot('b').phase).toBe('up')
  })

  it('a pinned member that runs is in the way for good', async () => {
    const world = gpu24()
    world.settings.groups = { one: ['a', 'b'] }
    world.add('a', { gpuGib: 1, pinned: true }).up()
    world.add('b', { gpuGib: 1, mode: 'off' }).load()
    await world.clock.advance(0)
    expect(refusalOf(world, 'b').details).toMatchObject({ pinned: [{ slot: 'a', held_bytes: GIB }] })
    expect(refusalOf(world, 'b').status).toBe(507)
  })
})

describe('giving up', () => {
  const moments = Array.from({ length: 24 }, (_, i) => i * 150)
  it.each(moments)('a load that nobody wants any more after %i ms leaves no claim and no timer', async (afterMs) => {
    const world = gpu24()
    const a = world.add('a', { gpuGib: 12, lagMs: 500 }).up(-1)
    const q = world.add('q', { gpuGib: 12, lagMs: 500 }).up(-2)
    void a.request(1000)
    await world.clock.advance(0)
    const b = world.add('b', { gpuGib: 24 })
    b.load()
    await world.clock.advance(afterMs)
    b.controller.abort(new Error('nobody wants it'))
    await world.clock.advance(0)
    if (b.admission === undefined) expect(String(b.refusals[0])).toContain('nobody wants it')
    await world.clock.advance(20_000)
    expect(a.claims.size + q.claims.size).toBe(0)
    expect(world.clock.pendingTimers).toBe(0)
    expect((await world.desk.capacity()).waiting).toEqual([])
    // Both can be had again.
    expect(await Promise.all([a.request(10), q.request(10), world.clock.advance(120_000)])).toContain('served')
  })

  it('close answers those who wait, and those who come later', async () => {
    const world = gpu24()
    void world.add('a', { gpuGib: 20 }).up().request(50_000)
    await world.clock.advance(0)
    world.add('b', { gpuGib: 20 }).load()
    await world.clock.advance(1000)
    world.desk.close()
    world.add('c', { gpuGib: 1 }).load()
    await world.clock.advance(0)
    expect([refusalOf(world, 'b').code, refusalOf(world, 'c').code]).toEqual(['slot.unloading', 'slot.unloading'])
    expect(world.slot('a').claims.size).toBe(0)
    expect(world.clock.nextTimerInMs).toBeGreaterThan(10_000)
  })
})
