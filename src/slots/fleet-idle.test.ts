import { describe, expect, it } from 'vitest'
import { type FleetSlot, openFleetHarness } from '../../test/support/fleet-harness.ts'
import { needOf, poolOf } from '../../test/support/memory-world.ts'
import { GIB, MINUTE_MS, SECOND_MS } from '../kernel/units.ts'

describe('a slot that nobody asks for', () => {
  const CARD = [poolOf('host', 64), poolOf('gpu0', 24)]
  const open = (slots: Readonly<Record<string, FleetSlot>>, settings = {}) =>
    openFleetHarness({ slots, pools: CARD, settings })

  it('is idle after its own time, or after the 300 s of the daemon, and serves on', async () => {
    const fleet = await open({ a: { gpuGib: 1, file: { idle_timeout_s: 20 } }, b: { gpuGib: 1 } })
    await fleet.up('a')
    await fleet.up('b')
    await fleet.until(Promise.all([fleet.ask('a', 10), fleet.ask('b', 10)]), 10)
    await fleet.advance(19 * SECOND_MS)
    expect(fleet.row('a').state).toBe('ready')
    // Whoever only looks does not use it.
    for (let i = 0; i < 20; i++) {
      await fleet.advance(100)
      expect(fleet.rows()).toHaveLength(2)
      await fleet.desk.capacity()
    }
    expect(fleet.row('a')).toMatchObject({ state: 'idle', idle_reason: 'quiet' })
    await fleet.advance(270 * SECOND_MS)
    expect(fleet.row('b').state).toBe('ready')
    await fleet.advance(10 * SECOND_MS)
    expect(fleet.row('b').state).toBe('idle')
    const asked = fleet.ask('a', 1000)
    await fleet.advance(100)
    expect(fleet.row('a').state).toBe('serving')
    expect(await fleet.until(asked)).toMatchObject({ how: 'served', waitedMs: 0 })
    expect(fleet.row('a')).toMatchObject({ state: 'ready', idle_reason: null })
    expect(fleet.starts()).toEqual(['a', 'b'])
  })

  it('is unloaded after unload_after_s, which starts anew with each request; a pinned one never', async () => {
    const file = { unload_after_s: 60 }
    const settings = { slots: { unload_after_s: 120 } }
    const fleet = await open(
      {
        a: { gpuGib: 1, file },
        agent: { gpuGib: 1, file },
        b: { gpuGib: 1 },
        never: { gpuGib: 1, file: { unload_after_s: 0 } },
      },
      settings,
    )
    for (const name of ['a', 'agent', 'b', 'never']) await fleet.up(name)
    await fleet.advance(50 * SECOND_MS)
    await fleet.until(fleet.ask('a', 1000))
    await fleet.advance(59 * SECOND_MS)
    expect(fleet.row('a').state).toBe('ready')
    await fleet.advance(2 * SECOND_MS)
    expect(fleet.running()).toEqual(['agent', 'b', 'never'])
    await fleet.advance(10 * SECOND_MS)
    expect(fleet.running()).toEqual(['agent', 'never'])
    await fleet.advance(60 * MINUTE_MS)
    expect(fleet.running()).toEqual(['agent', 'never'])
    expect(fleet.evicted()).toEqual([
      { slot: 'a', reason: 'idle' },
      { slot: 'b', reason: 'idle' },
    ])
    expect(fleet.row('a')).toMatchObject({ state: 'offline', breaker: null, failure: null })
    expect((await fleet.until(fleet.ask('a', 10))).how).toBe('served')
  })

  it('a stream longer than every limit is not cut, and the time counts from its end', async () => {
    const fleet = await open({ a: { gpuGib: 1, file: { unload_after_s: 60, idle_timeout_s: 10 } } })
    await fleet.up('a')
    const stream = fleet.ask('a', 10 * MINUTE_MS)
    await fleet.advance(9 * MINUTE_MS)
    expect(fleet.row('a').state).toBe('serving')
    expect((await fleet.until(stream)).how).toBe('served')
    await fleet.advance(50 * SECOND_MS)
    expect(fleet.row('a').state).toBe('idle')
    await fleet.advance(11 * SECOND_MS)
    expect(fleet.row('a').state).toBe('offline')
  })
})

describe('main memory is short', () => {
  const file = { device: 'cpu' }
  const slot = (hostGib: number, more = {}): FleetSlot => ({
    models: { m: needOf(0, hostGib) },
    file: { ...file, ...more },
  })
  const open = (slots: Readonly<Record<string, FleetSlot>>) =>
    openFleetHarness({ slots, pools: [poolOf('host', 64)], isPressureWatched: true })

  it('two samples in a row, then one slot at a time until it is enough; busy, pinned and fresh ones stay', async () => {
    const fleet = await open({
      agent: slot(8),
      busy: slot(4, { priority: 0 }),
      low: slot(4, { priority: 10 }),
      next: slot(4, { priority: 20 }),
      last: slot(4, { priority: 90 }),
      fresh: slot(4, { priority: 5 }),
    })
    for (const name of ['agent', 'busy', 'low', 'next', 'last', 'fresh']) await fleet.up(name)
    const stream = fleet.ask('busy', 10 * MINUTE_MS)
    await fleet.advance(2 * MINUTE_MS)
    // 64 − 28 = 36 free. The mark is 10 % of 64; somebody else takes 34.
    fleet.machine.others.set('host', 34 * GIB)
    expect(fleet.evicted()).toEqual([])
    // One sample that is short is not enough.
    await fleet.advance(30 * SECOND_MS)
    expect(fleet.evicted()).toEqual([])
    await fleet.until(fleet.ask('fresh', 10))
    await fleet.advance(31 * SECOND_MS)
    // 2 free: low gives 4 = 6, below 6.4; next gives 4 more.
    expect(fleet.evicted().map(({ slot: name, for: wantedBy, reason }) => [name, wantedBy, reason])).toEqual([
      ['low', null, 'pressure'],
      ['next', null, 'pressure'],
    ])
    await fleet.advance(5 * MINUTE_MS)
    expect(fleet.running()).toEqual(['agent', 'busy', 'last', 'fresh'])
    expect((await fleet.until(stream)).how).toBe('served')
  })

  it('a shortage that is over by the second sample costs nothing', async () => {
    const fleet = await open({ a: slot(4), b: slot(4) })
    await fleet.up('a')
    await fleet.up('b')
    for (let i = 0; i < 10; i++) {
      fleet.machine.others.set('host', (i % 2 === 0 ? 54 : 0) * GIB)
      await fleet.advance(30 * SECOND_MS)
    }
    expect(fleet.evicted()).toEqual([])
  })

  it('a full card is nobody else’s trouble', async () => {
    const fleet = await openFleetHarness({
      slots: { a: { gpuGib: 23 } },
      pools: [poolOf('host', 64), poolOf('gpu0', 24)],
      isPressureWatched: true,
    })
    await fleet.up('a')
    await fleet.advance(10 * MINUTE_MS)
    expect(fleet.running()).toEqual(['a'])
  })
})
