import { describe, expect, it } from 'vitest'
import { MemoryWorld, needOf, poolOf } from '../../../test/support/memory-world.ts'
import { GIB } from '../../kernel/units.ts'
import { watchPressure } from './watch-pressure.ts'

/** 64 GiB of main memory, the mark at 6.4 (10 %). */
function machine() {
  const world = new MemoryWorld([poolOf('host', 64), poolOf('gpu0', 24)])
  world.settings.evictPressureBytes = 8 * GIB
  const watcher = watchPressure({ ...world.parts(), desk: world.desk })
  const cpu = { device: 'cpu', hostGib: 2 } as const
  return { world, watcher, cpu }
}

describe('memory pressure', () => {
  it('two samples in a row unload one, then the next while it is still short; not the pinned, the busy, the fresh, nor a card', async () => {
    const { world, watcher, cpu } = machine()
    world.add('pinned', { ...cpu, pinned: true }).up(-100_000)
    world.add('card', { gpuGib: 10, priority: 0 }).up(-100_000)
    world.add('old', { ...cpu, lagMs: 2000 }).up(-90_000)
    world.add('older', cpu).up(-99_000)
    world.add('fresh', { ...cpu, priority: 0 }).up(59_000)
    void world
      .add('busy', { ...cpu, priority: 0 })
      .up(-99_000)
      .request(500_000)
    // 64 − 10 = 54 of slots and others; 3 GiB are free.
    world.others.set('host', 51 * GIB)
    await world.clock.advance(59_999)
    expect(world.evicted()).toEqual([])
    await world.clock.advance(10_000)
    expect(world.evicted()).toEqual(['older', 'old'])
    expect(world.events[0]?.data).toEqual({ slot: 'older', for: null, reason: 'pressure', freed_bytes: 2 * GIB })
    watcher.close()
  })

  it('one short sample, or one that is not in a row, unloads nobody', async () => {
    const { world, watcher, cpu } = machine()
    world.add('a', cpu).up(-100_000)
    for (let i = 0; i < 6; i++) {
      world.others.set('host', i % 2 === 0 ? 61 * GIB : 0)
      await world.clock.advance(30_000)
    }
    expect(world.evicted()).toEqual([])
    watcher.close()
    await world.clock.advance(0)
    expect(world.clock.pendingTimers).toBe(0)
  })

  it('waits for the release of one before it takes the next', async () => {
    const { world, watcher, cpu } = machine()
    world.add('a', { ...cpu, hostGib: 10, lagMs: 5000 }).up(-100_000)
    world.add('b', { ...cpu, hostGib: 10 }).up(-99_000)
    world.others.set('host', 40 * GIB)
    await world.clock.advance(75_000)
    expect(world.evicted()).toEqual(['a'])
    watcher.close()
  })

  it('takes the next at once when one refuses', async () => {
    const { world, watcher, cpu } = machine()
    world.add('a', cpu).up(-100_000).refusesOnce = true
    world.add('b', cpu).up(-99_000)
    world.others.set('host', 55 * GIB)
    await world.clock.advance(60_500)
    expect(world.evicted()).toEqual(['b'])
    watcher.close()
  })

  it('stands back while a load makes others go: only one of them is unloaded for the same shortage', async () => {
    const { world, watcher, cpu } = machine()
    world.add('a', { ...cpu, hostGib: 10, stopMs: 3000 }).up(-100_000)
    world.add('b', { ...cpu, hostGib: 10 }).up(-99_000)
    world.others.set('host', 40 * GIB)
    await world.clock.advance(59_000)
    world.add('c', { ...cpu, hostGib: 5 }).load()
    await world.clock.advance(10_000)
    expect(world.events.map(({ data }) => [data['slot'], data['for']])).toEqual([['a', 'c']])
    watcher.close()
  })

  it('counts a unified pool, and takes a GPU slot that lives in it', async () => {
    const world = new MemoryWorld([poolOf('host', 64), poolOf('gpu0', 60, { kind: 'unified', vendor: 'AMD' })])
    world.settings.evictPressureBytes = 8 * GIB
    const watcher = watchPressure({ ...world.parts(), desk: world.desk })
    world.add('a', { device: 'gpu-rocm', need: needOf(40, 1) }).up(-100_000)
    world.others.set('gpu0', 16 * GIB)
    await world.clock.advance(61_000)
    expect(world.evicted()).toEqual(['a'])
    watcher.close()
  })

  it.each([0])('is off with a mark of %i', async (mark) => {
    const { world, watcher, cpu } = machine()
    world.settings.evictPressureBytes = mark
    world.add('a', cpu).up(-100_000)
    world.others.set('host', 62 * GIB)
    await world.clock.advance(300_000)
    expect(world.evicted()).toEqual([])
    watcher.close()
  })
})
