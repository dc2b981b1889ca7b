import { describe, expect, it } from 'vitest'
import { type FleetOptions, type FleetSlot, openFleetHarness } from '../../test/support/fleet-harness.ts'
import { needOf, poolOf } from '../../test/support/memory-world.ts'
import { GIB } from '../kernel/units.ts'

const CARD = [poolOf('host', 64), poolOf('gpu0', 24)]

const open = (slots: Readonly<Record<string, FleetSlot>>, more: Partial<FleetOptions> = {}) =>
  openFleetHarness({ slots, pools: CARD, ...more })

/** Ten slots; `keep…` never go, the others in the order of the numbers in their names. */
async function ten() {
  const file = (priority: number, more = {}) => ({ gpuGib: 2, file: { priority, ...more } })
  const fleet = await open({
    agent: file(0),
    utility: file(0),
    'keep-pinned': file(0, { pinned: true }),
    'keep-busy': file(0),
    'go-1': file(10),
    'go-2': file(10),
    'go-3': file(50),
    'go-4': file(50),
    'go-5': file(100),
    big: { gpuGib: 7, file: { priority: 50 } },
  })
  for (const name of ['go-5', 'go-3', 'go-1', 'agent', 'utility', 'keep-pinned', 'keep-busy', 'go-2', 'go-4']) {
    await fleet.up(name)
  }
  return fleet
}

describe('ten slots on one card', () => {
  it('lowest priority first, then the least recently used; pinned and busy ones never', async () => {
    const fleet = await ten()
    // go-3 was used last of its priority: it goes after go-4.
    await fleet.until(fleet.ask('go-3', 10))
    const order = (await fleet.desk.capacity()).slots
      .filter(({ eviction_order: nth }) => nth !== null)
      .toSorted((a, b) => (a.eviction_order ?? 0) - (b.eviction_order ?? 0))
    expect(order.map(({ slot }) => slot)).toEqual(['keep-busy', 'go-1', 'go-2', 'go-4', 'go-3', 'go-5'])
    const busy = fleet.ask('keep-busy', 60_000)
    await fleet.advance(10)
    // 24 − 9 × 2 = 6 free: 7 needs one of them, 24 − 2 × 2 leaves room for all others.
    await fleet.up('big')
    expect(fleet.evicted()).toEqual([{ slot: 'go-1', for: 'big', reason: 'preload', freed_bytes: 2 * GIB }])
    await fleet.until(busy)
    expect(fleet.machine.overdrawnBytes).toBe(0)
  })

  it('as many as needed, in order; the one of priority 100 last, but it is no pin', async () => {
    const fleet = await ten()
    const busy = fleet.ask('keep-busy', 120_000)
    await fleet.advance(10)
    fleet.machine.others.set('gpu0', 6 * GIB)
    // Nothing is free: 7 GiB are four slots of 2.
    await fleet.up('big')
    expect(fleet.evicted().map(({ slot }) => slot)).toEqual(['go-1', 'go-2', 'go-3', 'go-4'])
    fleet.machine.others.set('gpu0', 7 * GIB)
    const again = fleet.until(fleet.ask('go-1', 10))
    expect((await again).how).toBe('served')
    expect(fleet.evicted().at(-1)).toMatchObject({ for: 'go-1' })
    expect((await fleet.until(busy)).how).toBe('served')
    expect(
      fleet
        .rows()
        .filter(({ pinned }) => pinned)
        .map(({ name, state }) => [name, state]),
    ).toEqual([
      ['agent', 'ready'],
      ['keep-pinned', 'ready'],
      ['utility', 'ready'],
    ])
  })

  it('what pinned slots hold cannot be had: 507 with the numbers, nobody is evicted for nothing', async () => {
    const fleet = await open({
      agent: { gpuGib: 10 },
      utility: { gpuGib: 6 },
      plain: { gpuGib: 3 },
      unpinned: { gpuGib: 2, file: { priority: 0 } },
      big: { gpuGib: 12 },
    })
    for (const name of ['agent', 'utility', 'plain', 'unpinned']) await fleet.up(name)
    const { how, error } = await fleet.until(fleet.ask('big', 10))
    expect(how).toBe('slot.preload_evict_insufficient')
    expect(error).toMatchObject({
      status: 507,
      details: {
        slot: 'big',
        needed_bytes: 12 * GIB,
        free_bytes: 3 * GIB,
        evictable_bytes: 5 * GIB,
        freed_bytes: 0,
        evicted: [],
        shortfall_bytes: 4 * GIB,
        pinned: [
          { slot: 'agent', held_bytes: 10 * GIB },
          { slot: 'utility', held_bytes: 6 * GIB },
        ],
      },
    })
    expect(fleet.evicted()).toEqual([])
    expect(fleet.row('big')).toMatchObject({ state: 'error', breaker: null })
    // An explicit value wins: nobody is pinned by name alone.
    await fleet.until(fleet.slots.unload('agent', { drainMs: 0, force: true }))
    expect((await fleet.until(fleet.ask('big', 10))).how).toBe('served')
    expect(fleet.running()).not.toContain('agent')
  })

  it('pinned = false takes the pin from agent', async () => {
    const fleet = await open({ agent: { gpuGib: 20, file: { pinned: false } }, b: { gpuGib: 20 } })
    await fleet.up('agent')
    expect((await fleet.until(fleet.ask('b', 10))).how).toBe('served')
    expect(fleet.evicted()).toEqual([{ slot: 'agent', for: 'b', reason: 'preload', freed_bytes: 20 * GIB }])
  })

  it('a victim is asked for the moment it is to go: the next one goes, and the request is served', async () => {
    const fleet = await open({ a: { gpuGib: 10, file: { priority: 1 } }, b: { gpuGib: 10 }, c: { gpuGib: 12 } })
    await fleet.up('a')
    await fleet.up('b')
    // The request is in the mailbox before the eviction is.
    const loaded = fleet.load('c')
    const asked = fleet.ask('a', 5000)
    expect((await fleet.until(loaded)).state).toBe('ready')
    expect(fleet.evicted().map(({ slot }) => slot)).toEqual(['b'])
    expect(await fleet.until(asked)).toMatchObject({ how: 'served', waitedMs: 0 })
  })
})

describe('admission', () => {
  it.each([
    { where: 'slot', mode: 'warn' },
    { where: 'slot', mode: 'off' },
    { where: 'daemon', mode: 'warn' },
    { where: 'daemon', mode: 'off' },
  ])(
    '$mode for the $where: loaded although it does not fit, nobody is evicted, and it is said',
    async ({ where, mode }) => {
      const file = where === 'slot' ? { admission: mode } : {}
      const settings = where === 'daemon' ? { slots: { admission: mode } } : {}
      const fleet = await open({ a: { gpuGib: 20 }, b: { gpuGib: 20, file } }, { settings })
      await fleet.up('a')
      expect((await fleet.up('b')).state).toBe('ready')
      expect(fleet.evicted()).toEqual([])
      expect(fleet.machine.overdrawnBytes).toBe(16 * GIB)
      const said = fleet.events
        .filter(({ type }) => type.startsWith('slot.admission_'))
        .map(({ type, data }) => [type, data['slot']])
      expect(said).toEqual(mode === 'warn' ? [['slot.admission_warned', 'b']] : [])
    },
  )

  it('a slot that says enforce is checked although the daemon says off', async () => {
    const settings = { slots: { admission: 'off' } }
    const fleet = await open({ a: { gpuGib: 20 }, b: { gpuGib: 20, file: { admission: 'enforce' } } }, { settings })
    await fleet.up('a')
    await fleet.up('b')
    expect(fleet.evicted().map(({ slot }) => slot)).toEqual(['a'])
    expect(fleet.machine.overdrawnBytes).toBe(0)
  })

  it('what is not known is not checked, and that is said once', async () => {
    const models = { m: { kind: 'unknown', reason: 'made up' } } as const
    const fleet = await open({ a: { gpuGib: 20 }, b: { models } })
    await fleet.up('a')
    await fleet.up('b')
    await fleet.until(fleet.slots.unload('b', { drainMs: 0 }))
    await fleet.up('b')
    const said = fleet.events.filter(({ type }) => type === 'slot.admission_skipped')
    expect(said.map(({ data }) => [data['slot'], String(data['reason'])])).toEqual([
      ['b', expect.stringContaining('made up')],
    ])
  })

  it('slots of a group exclude each other although both would fit; a busy member is waited for', async () => {
    const fleet = await open(
      { a: { gpuGib: 1 }, b: { gpuGib: 1 }, c: { gpuGib: 1 } },
      { desk: { groups: { one: ['a', 'b'] } } },
    )
    await fleet.up('a')
    await fleet.up('c')
    const stream = fleet.ask('a', 5000)
    await fleet.advance(10)
    const b = fleet.ask('b', 10)
    await fleet.advance(100)
    expect(fleet.row('b').message).toMatch(/^waits for a/)
    expect((await fleet.until(Promise.all([stream, b]))).map(({ how }) => how)).toEqual(['served', 'served'])
    expect(fleet.evicted()).toEqual([{ slot: 'a', for: 'b', reason: 'group', freed_bytes: GIB }])
    expect(fleet.running()).toEqual(['c', 'b'])
  })
})

describe('the on-demand slot', () => {
  it('asks for memory with the model it is to load, and makes way like any other', async () => {
    const models = { small: needOf(4), large: needOf(16), huge: needOf(40) }
    const fleet = await open({ a: { gpuGib: 12 }, scratch: { models, file: { model: { default: '' } } } })
    await fleet.up('a')
    const ask = (modelId: string, serveMs: number) => fleet.ask('scratch', serveMs, { modelId })
    expect((await fleet.until(ask('small', 10))).how).toBe('served')
    expect(fleet.evicted()).toEqual([])
    expect((await fleet.until(ask('large', 10))).how).toBe('served')
    expect(fleet.evicted()).toEqual([{ slot: 'a', for: 'scratch', reason: 'preload', freed_bytes: 12 * GIB }])
    const { how, error } = await fleet.until(ask('huge', 10))
    expect([how, error?.details]).toEqual([
      'slot.preload_evict_insufficient',
      expect.objectContaining({ needed_bytes: 40 * GIB, pinned: [] }),
    ])
    expect((await fleet.until(ask('large', 10))).how).toBe('served')
    expect((await fleet.until(fleet.ask('a', 10))).how).toBe('served')
    expect(fleet.evicted().at(-1)).toMatchObject({ slot: 'scratch', for: 'a' })
    expect(fleet.machine.overdrawnBytes).toBe(0)
  })
})
