import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { type Family, parseMetrics } from '../../test/support/parse-metrics.ts'
import { requestRecord } from '../../test/support/request-record.ts'
import { seriesOf } from '../../test/support/series.ts'
import type { RequestRecord, TokenUsage } from '../contract/request-record.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import { createRequestMetrics } from './request-metrics.ts'

type Row = Pick<SlotRow, 'name' | 'type'>
const AGENT: Row = { name: 'agent', type: 'llm' }
const EMBED: Row = { name: 'embed', type: 'embedding' }

function make(first: readonly Row[] = [AGENT]) {
  const registry = new Registry()
  let rows = first
  const metrics = createRequestMetrics(registry, () => rows)
  return {
    add: (more: Partial<RequestRecord> = {}, usage: TokenUsage | null = null) =>
      metrics.onRequests([requestRecord(more)], [usage]),
    set: (next: readonly Row[]) => {
      rows = next
    },
    async scrape() {
      metrics.look(rows)
      return parseMetrics(await registry.metrics())
    },
  }
}

const requestsOf = (families: ReadonlyMap<string, Family>) => seriesOf(families, 'hal0_requests_total')
const NOBODY = 'slot=,route=other,code=404'
const sum = (series: Record<string, number>) => Object.values(series).reduce((all, one) => all + one, 0)

describe('before any request', () => {
  it('each slot has its series at zero, for the route of its type', async () => {
    const families = await make([AGENT, EMBED]).scrape()
    expect(requestsOf(families)).toEqual({
      [NOBODY]: 0,
      'slot=agent,route=/v1/chat/completions,code=200': 0,
      'slot=embed,route=/v1/embeddings,code=200': 0,
    })
    expect(seriesOf(families, 'hal0_request_duration_seconds', '_count')).toEqual({
      'slot=,route=other': 0,
      'slot=agent,route=/v1/chat/completions': 0,
      'slot=embed,route=/v1/embeddings': 0,
    })
    expect(seriesOf(families, 'hal0_ttft_seconds', '_count')).toEqual({ 'slot=agent': 0, 'slot=embed': 0 })
    expect(seriesOf(families, 'hal0_tokens_total')).toMatchObject({
      'slot=agent,kind=prompt': 0,
      'slot=agent,kind=completion': 0,
      'slot=agent,kind=cached': 0,
    })
  })

  it('without slots the names are there', async () => {
    expect([...(await make([]).scrape()).keys()].toSorted()).toEqual([
      'hal0_request_duration_seconds',
      'hal0_requests_total',
      'hal0_tokens_total',
      'hal0_ttft_seconds',
    ])
  })
})

describe('requests', () => {
  it('are counted by slot, route and status; times are in seconds', async () => {
    const { add, scrape } = make()
    add()
    add({ elapsedMs: 1_000, firstByteMs: 500 })
    add({ status: 499, elapsedMs: 10, firstByteMs: undefined, failure: 'client_gone' })
    add({ route: '/v1/messages', status: 502, elapsedMs: 10, firstByteMs: 5 })
    const families = await scrape()
    expect(requestsOf(families)).toEqual({
      [NOBODY]: 0,
      'slot=agent,route=/v1/chat/completions,code=200': 2,
      'slot=agent,route=/v1/chat/completions,code=499': 1,
      'slot=agent,route=/v1/messages,code=502': 1,
    })
    const route = 'slot=agent,route=/v1/chat/completions'
    expect(seriesOf(families, 'hal0_request_duration_seconds', '_sum')[route]).toBeCloseTo(1.2104)
    // An error is no first byte of an answer.
    expect(seriesOf(families, 'hal0_ttft_seconds', '_count')).toEqual({ 'slot=agent': 2 })
    expect(seriesOf(families, 'hal0_ttft_seconds', '_sum')['slot=agent']).toBeCloseTo(0.5306)
  })

  it('add up: one series or another has each of them', async () => {
    const { add, scrape } = make([AGENT, EMBED])
    for (const slot of ['agent', 'embed', 'nobody', undefined])
      for (const route of ['/v1/models', '/upstream', 'other'])
        for (const status of [200, 404, 499, 503]) add({ slot, route, status })
    const families = await scrape()
    expect(sum(requestsOf(families))).toBe(48)
    expect(sum(seriesOf(families, 'hal0_request_duration_seconds', '_count'))).toBe(48)
  })

  it.each<[string, TokenUsage | null, number[]]>([
    ['all three', { promptTokens: 3, completionTokens: 4, cachedTokens: 2 }, [3, 4, 2]],
    ['only some', { promptTokens: 3, completionTokens: null, cachedTokens: null }, [3, 0, 0]],
    ['none', null, [0, 0, 0]],
    ['nonsense', { promptTokens: -3, completionTokens: Number.NaN, cachedTokens: 0.5 }, [0, 0, 0]],
  ])('tokens: the engine told %s', async (_, usage, expected) => {
    const { add, scrape } = make()
    add({}, usage)
    expect(Object.values(seriesOf(await scrape(), 'hal0_tokens_total'))).toEqual(expected)
  })

  it('times that no clock gave are none', async () => {
    const { add, scrape } = make()
    add({ elapsedMs: Number.NaN, firstByteMs: -5 })
    const families = await scrape()
    expect(sum(seriesOf(families, 'hal0_request_duration_seconds', '_sum'))).toBe(0)
    expect(sum(seriesOf(families, 'hal0_ttft_seconds', '_sum'))).toBe(0)
  })
})

describe('a slot', () => {
  it('made since the last scrape has its own series; a name that no slot has is no label', async () => {
    const { add, set, scrape } = make([AGENT])
    await scrape()
    set([AGENT, EMBED])
    add({ slot: 'embed' })
    add({ slot: 'invented' })
    expect(requestsOf(await scrape())).toMatchObject({
      'slot=embed,route=/v1/chat/completions,code=200': 1,
      'slot=,route=/v1/chat/completions,code=200': 1,
    })
  })

  it('that is deleted takes all of its series along, also one that no scrape has seen', async () => {
    const { add, set, scrape } = make([AGENT, EMBED])
    for (const status of [200, 404, 503]) add({ slot: 'embed', status }, USAGE)
    add({ slot: 'embed', route: '/v1/rerank' }, USAGE)
    set([AGENT])
    expect(await scrape()).toEqual(await make([AGENT]).scrape())
    set([AGENT, EMBED])
    expect(await scrape()).toEqual(await make([AGENT, EMBED]).scrape())
  })
})

const USAGE: TokenUsage = { promptTokens: 3, completionTokens: 4, cachedTokens: 2 }
