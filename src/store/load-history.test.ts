import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { attempts, loadRecord, type StoreHome, storeHome } from '../../test/support/store-harness.ts'
import { FLUSH_AT, LOADS_KEPT_MS, LOADS_PER_SLOT, MAX_WAITING } from './load-history.ts'
import type { Store } from './open-store.ts'
import { FLUSH_AFTER_MS } from './write-later.ts'

let place: StoreHome
let store: Store
beforeEach(() => {
  place = storeHome()
  store = place.open()
})
afterEach(() => place.remove())

const written = () => store.db?.prepare('SELECT count(*) FROM loads').pluck().get()
const flush = () => place.clock.advance(FLUSH_AFTER_MS)

describe('what is told', () => {
  it('is there at once, and in the file a second later', async () => {
    const record = loadRecord('agent', 1, {
      outcome: 'failed',
      code: 'slot.spawn_failed',
      model_id: null,
      profile: null,
    })
    store.loads.record(record)
    expect(store.loads.recent('agent', 10)).toEqual([record])
    await place.clock.advance(FLUSH_AFTER_MS - 1)
    expect(written()).toBe(0)
    await place.clock.advance(1)
    expect(written()).toBe(1)
    expect(store.loads.recent('agent', 10)).toEqual([record])
    expect(place.clock.pendingTimers).toBe(0)
  })

  it('is written sooner when there is much of it, but not while it is told', async () => {
    for (let n = 0; n < FLUSH_AT; n++) store.loads.record(loadRecord('agent', n))
    expect(written()).toBe(0)
    await place.clock.advance(0)
    expect(written()).toBe(FLUSH_AT)
  })

  it('is written at close, and another daemon reads it', () => {
    store.loads.record(loadRecord('agent', 1))
    store.loads.record(loadRecord('coder', 2))
    store.close()
    store.close()
    expect(place.clock.pendingTimers).toBe(0)
    store.loads.record(loadRecord('agent', 3))
    const next = place.open()
    expect(attempts(next.loads.recent('agent', 10))).toEqual(['agent-1'])
    expect(attempts(next.loads.recent('coder', 10))).toEqual(['coder-2'])
  })

  it('comes newest first across file and memory, and no more than was asked for', async () => {
    for (const n of [1, 2, 3]) store.loads.record(loadRecord('agent', n))
    await flush()
    for (const n of [4, 5]) store.loads.record(loadRecord('agent', n))
    expect(attempts(store.loads.recent('agent', 4))).toEqual(['agent-5', 'agent-4', 'agent-3', 'agent-2'])
    expect(attempts(store.loads.recent('agent', 1))).toEqual(['agent-5'])
    expect(store.loads.recent('nobody', 5)).toEqual([])
  })

  it('is in the order of the ends, also when the wall clock was set back', async () => {
    store.loads.record(loadRecord('agent', 100))
    store.loads.record(loadRecord('agent', 50))
    await flush()
    expect(attempts(store.loads.recent('agent', 2))).toEqual(['agent-50', 'agent-100'])
  })

  it('does not hold up the rest when no file can hold it', async () => {
    store.loads.record(loadRecord('agent', 1, { begun_at: 'yesterday', took_ms: Number.NaN }))
    store.loads.record(loadRecord('agent', 2))
    await flush()
    expect(attempts(store.loads.recent('agent', 2))).toEqual(['agent-2', 'agent-1'])
    expect(store.problem).toBeUndefined()
  })

  it('is left out when somebody has spoilt its row', async () => {
    for (const n of [1, 2]) store.loads.record(loadRecord('agent', n))
    await flush()
    store.db?.exec("UPDATE loads SET phases = '{' WHERE attempt_id = 'agent-1'")
    expect(attempts(store.loads.recent('agent', 2))).toEqual(['agent-2'])
  })
})

describe('names', () => {
  const halves = [
    ['before it is written', 0],
    ['after', FLUSH_AFTER_MS],
  ] as const

  it.each(halves)('a renamed slot takes its history along, %s', async (_, waitMs) => {
    store.loads.record(loadRecord('old', 1))
    store.loads.record(loadRecord('new', 2))
    await place.clock.advance(waitMs)
    store.loads.renamed('old', 'new')
    store.loads.record(loadRecord('new', 3))
    for (let look = 0; look < 2; look++) {
      expect(store.loads.recent('new', 9).map((one) => [one.slot, one.attempt_id])).toEqual([
        ['new', 'new-3'],
        ['new', 'old-1'],
      ])
      expect(store.loads.recent('old', 9)).toEqual([])
      await flush()
    }
  })

  it.each(halves)('a deleted slot is forgotten, and one made anew begins afresh, %s', async (_, waitMs) => {
    store.loads.record(loadRecord('agent', 1))
    await place.clock.advance(waitMs)
    store.loads.forget('agent')
    expect(store.loads.recent('agent', 9)).toEqual([])
    store.loads.record(loadRecord('agent', 2))
    expect(attempts(store.loads.recent('agent', 9))).toEqual(['agent-2'])
    await flush()
    expect(attempts(store.loads.recent('agent', 9))).toEqual(['agent-2'])
  })

  it('may hold whatever a string holds', async () => {
    const name = 'o\'br"ien; DROP TABLE loads;\n\u{1f600}'
    store.loads.record(loadRecord(name, 1))
    await flush()
    expect(store.loads.recent(name, 1)).toMatchObject([{ slot: name }])
  })
})

describe('what is kept', () => {
  it('is so many of each slot', async () => {
    store.loads.record(loadRecord('coder', 1))
    for (let n = 1; n <= LOADS_PER_SLOT; n++) store.loads.record(loadRecord('agent', n))
    await flush()
    expect(written()).toBe(LOADS_PER_SLOT + 1)
    store.loads.record(loadRecord('agent', LOADS_PER_SLOT + 1))
    await flush()
    const kept = attempts(store.loads.recent('agent', 1_000))
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([LOADS_PER_SLOT, `agent-${LOADS_PER_SLOT + 1}`, 'agent-2'])
    expect(attempts(store.loads.recent('coder', 9))).toEqual(['coder-1'])
  })

  it.each([
    ['to the millisecond', 0, ['agent-2', 'agent-1']],
    ['and not longer', 1, ['agent-2']],
  ])('is so old at most, %s', async (_, olderMs, kept) => {
    const nowMs = place.clock.nowMs() + FLUSH_AFTER_MS
    store.loads.record(loadRecord('agent', 1, { begun_at: new Date(nowMs - LOADS_KEPT_MS - olderMs).toISOString() }))
    store.loads.record(loadRecord('agent', 2))
    await flush()
    expect(attempts(store.loads.recent('agent', 9))).toEqual(kept)
  })

  it('is bounded while it cannot be written: the oldest loads are given up', () => {
    store.db?.pragma('query_only = 1')
    for (let n = 0; n <= MAX_WAITING; n++) store.loads.record(loadRecord('agent', n))
    const kept = attempts(store.loads.recent('agent', MAX_WAITING * 2))
    expect([kept.length, kept.at(-1)]).toEqual([MAX_WAITING, 'agent-1'])
  })
})
