import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { Hal0Event, NewEvent } from '../contract/events.ts'
import { silentLog } from '../kernel/log.ts'
import { createEventBus, FOLD_WINDOW_MS, type MemoryBusOptions } from './memory-bus.ts'

const info = (message: string): NewEvent => ({
  type: 'slot.state',
  severity: 'info',
  source: 'slot:a',
  message,
  data: {},
})
const failure = (message: string, data = {}): NewEvent => ({
  ...info(message),
  type: 'slot.load_failed',
  severity: 'error',
  data,
})

function make(options: Partial<MemoryBusOptions> = {}) {
  const clock = new ManualClock()
  const bus = createEventBus({ clock, firstId: 1, ...options })
  const seen: Hal0Event[] = []
  const gaps: number[] = []
  const reader = { onEvent: (e: Hal0Event) => seen.push(e), onGap: (id: number) => gaps.push(id) }
  return { clock, bus, seen, gaps, reader, ids: () => seen.map((e) => e.id) }
}

describe('publishing', () => {
  it('has told every reader when publish returns, with rising ids and an ISO time', () => {
    const { bus, seen, reader } = make()
    bus.subscribe(reader)
    bus.publish(info('one'))
    bus.publish(info('two'))
    expect(seen).toMatchObject([
      { id: 1, message: 'one', ts: '2026-01-01T00:00:00.000Z' },
      { id: 2, message: 'two' },
    ])
  })

  it('goes on when a reader throws, and says so', () => {
    const { clock, reader, seen } = make()
    const lines: string[] = []
    const bus = createEventBus({ clock, log: { ...silentLog, error: (_, text) => lines.push(text) } })
    bus.subscribe({
      onEvent: () => {
        throw new Error('broken reader')
      },
    })
    bus.subscribe(reader)
    expect(() => bus.publish(info('one'))).not.toThrow()
    expect(seen).toHaveLength(1)
    expect(lines).toEqual(['a reader of the event bus failed'])
  })

  it('keeps one order for all readers when a reader publishes', () => {
    const { bus, seen, reader } = make()
    bus.subscribe({ onEvent: (e) => e.message === 'one' && bus.publish(info('answer')) })
    bus.subscribe(reader)
    bus.publish(info('one'))
    expect(seen.map((e) => e.message)).toEqual(['one', 'answer'])
  })

  it('delivers nothing after close, also when closed by another reader of the same event', () => {
    const { bus, seen, reader } = make()
    const closer = { close: () => {} }
    bus.subscribe({ onEvent: () => closer.close() })
    closer.close = bus.subscribe(reader).close
    bus.publish(info('one'))
    closer.close()
    expect(seen).toEqual([])
  })
})

describe('replay', () => {
  it.each([
    ['everything kept', 0, [1, 2, 3], []],
    ['the rest', 2, [3], []],
    ['nothing when up to date', 3, [], []],
    ['an id that was never given', 4, [], [1]],
  ])('after id: %s', (_, afterId, ids, expectedGaps) => {
    const { bus, reader, ids: seenIds, gaps } = make()
    for (const text of ['one', 'two', 'three']) bus.publish(info(text))
    bus.subscribe({ ...reader, afterId })
    expect([seenIds(), gaps]).toEqual([ids, expectedGaps])
  })

  it('then follows without a hole and without a repeat', () => {
    const { bus, reader, ids } = make()
    bus.publish(info('one'))
    bus.subscribe({ ...reader, afterId: 0 })
    bus.publish(info('two'))
    expect(ids()).toEqual([1, 2])
  })

  it('without afterId tells nothing old', () => {
    const { bus, reader, seen } = make()
    bus.publish(info('one'))
    bus.subscribe(reader)
    expect(seen).toEqual([])
  })

  it.each([
    ['one below the oldest kept: complete', 7, [8, 9, 10], []],
    ['two below: a gap', 6, [], [8]],
  ])('keep 3 of 10; %s', (_, afterId, ids, expectedGaps) => {
    const { bus, reader, ids: seenIds, gaps } = make({ keep: 3 })
    for (let n = 1; n <= 10; n++) bus.publish(info(`n${n}`))
    expect(bus.recent(100).map((e) => e.id)).toEqual([8, 9, 10])
    bus.subscribe({ ...reader, afterId })
    expect([seenIds(), gaps]).toEqual([ids, expectedGaps])
  })

  it('calls an id of an earlier life a gap, however many events either life has', async () => {
    const { clock, reader, gaps, seen } = make()
    const before = createEventBus({ clock })
    before.publish(info('one'))
    const lastId = before.recent(1)[0]?.id ?? 0
    await clock.advance(1)
    const after = createEventBus({ clock })
    after.subscribe({ ...reader, afterId: lastId })
    for (let n = 0; n < 5; n++) after.publish(info(`n${n}`))
    after.subscribe({ ...reader, onEvent: () => {}, afterId: lastId })
    expect(gaps).toHaveLength(2)
    expect(seen).toHaveLength(5)
  })

  it('recent gives the newest, oldest of them first', () => {
    const { bus } = make()
    for (const text of ['one', 'two', 'three']) bus.publish(info(text))
    expect(bus.recent(2).map((e) => e.message)).toEqual(['two', 'three'])
    expect(bus.recent(0)).toEqual([])
  })
})

describe('folding of identical errors', () => {
  it('is one row with a count and the newest data', () => {
    const { bus } = make()
    for (let n = 1; n <= 3; n++) bus.publish(failure('it broke', { pid: n }))
    expect(bus.recent(10)).toMatchObject([{ id: 1, message: 'it broke', data: { pid: 3, count: 3 } }])
  })

  it('shows live readers the row again at 2, 4, 8, … under the same id', () => {
    const { bus, seen, reader } = make()
    bus.subscribe(reader)
    for (let n = 0; n < 9; n++) bus.publish(failure('it broke'))
    expect(seen.map((e) => [e.id, e.data['count']])).toEqual([
      [1, undefined],
      [1, 2],
      [1, 4],
      [1, 8],
    ])
  })

  it('tells of every state change, also a folded one: readers follow a slot by them', () => {
    const { bus, seen, reader } = make()
    bus.subscribe(reader)
    for (let n = 0; n < 3; n++) bus.publish({ ...failure('warming → error'), type: 'slot.state' })
    expect(seen.map((e) => [e.id, e.data['count']])).toEqual([
      [1, undefined],
      [1, 2],
      [1, 3],
    ])
    expect(bus.recent(10)).toHaveLength(1)
  })

  it.each([
    ['one ms before the window ends', FOLD_WINDOW_MS - 1, 1],
    ['when it ends', FOLD_WINDOW_MS, 2],
  ])('%s', async (_, laterMs, rows) => {
    const { bus, clock } = make()
    bus.publish(failure('it broke'))
    await clock.advance(laterMs)
    bus.publish(failure('it broke'))
    expect(bus.recent(10)).toHaveLength(rows)
  })

  it.each([
    ['another message', { message: 'other' }],
    ['another source', { source: 'slot:b' }],
    ['another type', { type: 'other' }],
  ])('does not fold %s', (_, difference) => {
    const { bus } = make()
    bus.publish(failure('it broke'))
    bus.publish({ ...failure('it broke'), ...difference })
    expect(bus.recent(10)).toHaveLength(2)
  })

  it('folds errors only', () => {
    const { bus } = make()
    bus.publish(info('same'))
    bus.publish(info('same'))
    expect(bus.recent(10)).toHaveLength(2)
  })

  it('begins a new row when the first is no longer kept', () => {
    const { bus } = make({ keep: 1 })
    bus.publish(failure('it broke'))
    bus.publish(info('pushes it out'))
    bus.publish(failure('it broke'))
    expect(bus.recent(10)).toMatchObject([{ id: 3, data: {} }])
  })
})
