import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { requestRecord } from '../../test/support/request-record.ts'
import { loadRecord, type StoreHome, storeHome } from '../../test/support/store-harness.ts'
import type { RequestRecord, TokenUsage } from '../contract/request-record.ts'
import { USAGE_BY, type UsageBy, type UsageSummary } from '../contract/usage.ts'
import { HOUR_MS } from '../kernel/units.ts'
import type { Store } from './open-store.ts'
import { DAY_MS } from './rules/usage-sums.ts'
import { MAX_WAITING_SUMS, USAGE_KEPT_MS } from './usage-store.ts'
import { FLUSH_AFTER_MS, RETRY_AFTER_MS } from './write-later.ts'

let place: StoreHome
let store: Store
beforeEach(() => {
  place = storeHome()
  store = place.open()
})
afterEach(() => place.remove())

const START = Date.UTC(2026, 0, 1)
const flush = () => place.clock.advance(FLUSH_AFTER_MS)
const written = () => store.db?.prepare('SELECT count(*) FROM usage').pluck().get()
const types = () => place.events.map(({ type }) => type)

function add(more: Partial<RequestRecord> = {}, usage: Partial<TokenUsage> | null = null): void {
  const told = usage === null ? null : { promptTokens: null, completionTokens: null, cachedTokens: null, ...usage }
  store.usage.record([requestRecord(more)], [told])
}

const reportBy = (by: UsageBy, from = store) => from.usage.report({ fromMs: START, toMs: START + 2 * DAY_MS, by })
const counts = ({ groups }: UsageSummary) => Object.fromEntries(groups.map(({ key, requests }) => [key, requests]))

describe('what is told', () => {
  it('is summed at once, and in the file a second later, once', async () => {
    add({}, { promptTokens: 10, completionTokens: 20, cachedTokens: 5 })
    add({ elapsedMs: 99.6 }, { promptTokens: 1, completionTokens: 2 })
    const sums = {
      ...{ requests: 2, failed: 0, prompt_tokens: 11, completion_tokens: 22, cached_tokens: 5 },
      ...{ unknown: 0, busy_ms: 300 },
    }
    const report: UsageSummary = {
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-01-03T00:00:00.000Z',
      by: 'slot',
      total: sums,
      groups: [{ key: 'agent', ...sums }],
    }
    expect([reportBy('slot'), written()]).toEqual([report, 0])
    await flush()
    expect([reportBy('slot'), written(), place.clock.pendingTimers]).toEqual([report, 1, 0])
    add()
    await flush()
    expect([counts(reportBy('slot')), written()]).toEqual([{ agent: 3 }, 1])
  })

  it('is written at close, and another daemon adds to it', () => {
    add()
    store.close()
    expect(place.clock.pendingTimers).toBe(0)
    const next = place.open()
    next.usage.record([requestRecord()], [null])
    expect(counts(reportBy('slot', next))).toEqual({ agent: 2 })
  })

  it.each<[string, Partial<RequestRecord>, Partial<TokenUsage> | null, object]>([
    ['an engine that says nothing', {}, null, { failed: 0, unknown: 1 }],
    ['a route without usage', { route: '/v1/tokenize', path: '/v1/tokenize' }, null, { failed: 0, unknown: 0 }],
    ['an engine that says only what the prompt had', {}, { promptTokens: 7 }, { unknown: 0, prompt_tokens: 7 }],
    ['an error of an engine', { status: 400, failure: 'request.invalid' }, null, { failed: 1, unknown: 0 }],
    ['no engine was reached', { status: 404, firstByteMs: undefined }, null, { failed: 1, unknown: 0 }],
    ['a list, which no engine answers', { firstByteMs: undefined }, null, { failed: 0, unknown: 0 }],
    ['a client that left in the middle', { failure: 'client_gone' }, null, { failed: 1, unknown: 1 }],
    [
      'nonsense',
      { elapsedMs: Number.NaN },
      { promptTokens: -5, completionTokens: 0.5 },
      { busy_ms: 0, prompt_tokens: 0 },
    ],
  ])('%s', async (_, record, usage, expected) => {
    add(record, usage)
    await flush()
    expect(reportBy('slot').total).toMatchObject({ requests: 1, ...expected })
  })
})

describe('a report', () => {
  beforeEach(() => {
    add({ slot: 'agent', keyId: 'k1', userId: 'ada' })
    add({ slot: 'coder', route: '/v1/embeddings', endedMs: START + HOUR_MS })
    add({ slot: 'coder', endedMs: START + DAY_MS, keyId: 'k2', userId: 'ada', reservationId: 'b1' })
    add({ slot: undefined, route: 'other', endedMs: START + HOUR_MS - 1 })
  })

  it.each<[UsageBy, Record<string, number>]>([
    ['slot', { coder: 2, agent: 1, null: 1 }],
    ['route', { '/v1/chat/completions': 2, '/v1/embeddings': 1, other: 1 }],
    ['key', { null: 2, k1: 1, k2: 1 }],
    ['user', { ada: 2, null: 2 }],
    ['reservation', { null: 3, b1: 1 }],
    ['day', { '2026-01-01T00:00:00.000Z': 3, '2026-01-02T00:00:00.000Z': 1 }],
    ['hour', { '2026-01-01T00:00:00.000Z': 2, '2026-01-01T01:00:00.000Z': 1, '2026-01-02T00:00:00.000Z': 1 }],
  ])('by %s is the same before and after it is written', async (by, expected) => {
    expect(counts(reportBy(by))).toEqual(expected)
    await flush()
    expect(counts(reportBy(by))).toEqual(expected)
    expect(reportBy(by).total.requests).toBe(4)
  })

  it.each<[UsageBy, string, Record<string, number>]>([
    ['slot', 'ada', { agent: 1, coder: 1 }],
    ['user', 'ada', { ada: 2 }],
    ['reservation', 'ada', { b1: 1, null: 1 }],
    ['slot', 'bob', {}],
  ])('by %s of %s alone, before and after it is written', async (by, userId, expected) => {
    for (let look = 0; look < 2; look++) {
      const report = store.usage.report({ fromMs: START, toMs: START + 2 * DAY_MS, by, userId })
      const requests = Object.values(expected).reduce((sum, count) => sum + count, 0)
      expect([counts(report), report.total.requests]).toEqual([expected, requests])
      await flush()
    }
  })

  it('comes in an order: times from old to new, else most requests first', async () => {
    await flush()
    const keys = (by: UsageBy) => reportBy(by).groups.map(({ key }) => key)
    expect(keys('slot')).toEqual(['coder', null, 'agent'])
    expect(keys('hour')).toEqual(['2026-01-01T00:00:00.000Z', '2026-01-01T01:00:00.000Z', '2026-01-02T00:00:00.000Z'])
  })

  it.each([
    ['the first millisecond of its last hour is enough', START, START + 1, 2, '2026-01-01T01:00:00.000Z'],
    ['an end on the hour is not in it', START, START + HOUR_MS, 2, '2026-01-01T01:00:00.000Z'],
    ['one millisecond more', START, START + HOUR_MS + 1, 3, '2026-01-01T02:00:00.000Z'],
    ['the last millisecond of its first hour', START + HOUR_MS - 1, START + HOUR_MS, 2, '2026-01-01T01:00:00.000Z'],
    ['the hour after', START + HOUR_MS, START + DAY_MS, 1, '2026-01-02T00:00:00.000Z'],
  ])('is of whole hours: %s', async (_, fromMs, toMs, requests, to) => {
    for (let look = 0; look < 2; look++) {
      const report = store.usage.report({ fromMs, toMs, by: 'slot' })
      expect([report.total.requests, report.to]).toEqual([requests, to])
      await flush()
    }
  })
})

describe('what is kept', () => {
  it('is 400 days', async () => {
    const nowMs = place.clock.nowMs() + FLUSH_AFTER_MS
    const oldest = Math.ceil((nowMs - USAGE_KEPT_MS) / HOUR_MS) * HOUR_MS
    add({ endedMs: oldest })
    add({ endedMs: oldest - 1 })
    await flush()
    const report = store.usage.report({ fromMs: 0, toMs: nowMs, by: 'hour' })
    expect(report.groups.map(({ key }) => key)).toEqual([new Date(oldest).toISOString()])
  })

  it('is bounded while it cannot be written: the oldest sums are given up', () => {
    store.db?.pragma('query_only = 1')
    for (let n = 0; n <= MAX_WAITING_SUMS; n++) add({ keyId: `k${n}` })
    const { total, groups } = reportBy('key')
    expect([total.requests, groups.some(({ key }) => key === 'k0')]).toEqual([MAX_WAITING_SUMS, false])
  })
})

describe('a database that cannot be used', () => {
  it('full: told once, and all of it is written when it can be', async () => {
    store.db?.pragma('query_only = 1')
    add()
    store.loads.record(loadRecord('agent', 1))
    await flush()
    expect([types(), place.clock.nextTimerInMs, store.problem]).toEqual([
      ['store.off'],
      RETRY_AFTER_MS,
      expect.stringContaining('readonly'),
    ])
    add()
    expect(counts(reportBy('slot'))).toEqual({ agent: 2 })
    store.db?.pragma('query_only = 0')
    await place.clock.advance(RETRY_AFTER_MS)
    expect([types(), store.problem, written()]).toEqual([['store.off', 'store.on'], undefined, 1])
    expect(counts(reportBy('slot'))).toEqual({ agent: 2 })
  })

  it('its table is gone: usage lives in memory, loads are still written, and the problem stays told', async () => {
    store.close()
    const hand = new Sqlite(place.path)
    hand.exec('DROP TABLE usage')
    hand.close()
    store = place.open()
    add()
    store.loads.record(loadRecord('agent', 1))
    await flush()
    expect([types(), store.problem]).toEqual([['store.off'], expect.stringContaining('no such table: usage')])
    expect(counts(reportBy('slot'))).toEqual({ agent: 1 })
    expect(store.db?.prepare('SELECT count(*) FROM loads').pluck().get()).toBe(1)
  })

  it('its table is taken away while it is used: what is not written is still told', async () => {
    store.db?.exec('DROP TABLE usage')
    add()
    for (const by of USAGE_BY) expect(reportBy(by).total.requests).toBe(1)
    await flush()
    expect(types()).toEqual(['store.off'])
    expect(reportBy('slot').total.requests).toBe(1)
  })
})
