import { describe, expect, it } from 'vitest'
import { BASE_ROW } from '../../test/support/base-row.ts'
import { parseMetrics } from '../../test/support/parse-metrics.ts'
import { seriesOf } from '../../test/support/series.ts'
import type { LoadRecord } from '../contract/load-record.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import { createMetrics } from './metrics.ts'

const row = (name: string, more: Partial<SlotRow> = {}): SlotRow => ({ ...BASE_ROW, name, ...more })
let attempts = 0
const load = (slot: string, more: Partial<LoadRecord> = {}): LoadRecord => ({
  slot,
  attempt_id: `a${attempts++}`,
  model_id: 'hello',
  profile: 'chat',
  begun_at: '2026-01-01T00:00:00.000Z',
  took_ms: 1_000,
  phases: {},
  outcome: 'ready',
  code: null,
  ...more,
})

function make(first: readonly SlotRow[], history: readonly LoadRecord[] = []) {
  let rows = first
  const recent = (slot: string, limit: number) => history.filter((one) => one.slot === slot).slice(0, limit)
  const metrics = createMetrics({ rows: () => rows, loads: { recent } })
  return {
    metrics,
    set: (next: readonly SlotRow[]) => {
      rows = next
    },
    scrape: async () => parseMetrics((await metrics.render()).body),
  }
}

describe('from the start', () => {
  it('every metric is there, and what can be counted is at zero', async () => {
    const families = await make([row('agent', { state: 'offline' })]).scrape()
    expect([...families].map(([name, { type }]) => `${name} ${type}`).toSorted()).toEqual([
      'hal0_breaker_state gauge',
      'hal0_evictions_total counter',
      'hal0_inflight gauge',
      'hal0_lane_reserved gauge',
      'hal0_lane_target_info gauge',
      'hal0_load_phase_seconds histogram',
      'hal0_loads_total counter',
      'hal0_queue_depth gauge',
      'hal0_request_duration_seconds histogram',
      'hal0_requests_total counter',
      'hal0_slot_state gauge',
      'hal0_slot_up gauge',
      'hal0_slots_ready_total gauge',
      'hal0_swaps_total counter',
      'hal0_tokens_total counter',
      'hal0_ttft_seconds histogram',
    ])
    expect(seriesOf(families, 'hal0_evictions_total')).toEqual({
      'reason=preload': 0,
      'reason=pressure': 0,
      'reason=group': 0,
      'reason=idle': 0,
      'reason=arbiter': 0,
    })
    expect(seriesOf(families, 'hal0_loads_total')).toEqual({
      'slot=agent,outcome=ready': 0,
      'slot=agent,outcome=failed': 0,
      'slot=agent,outcome=cancelled': 0,
    })
    const counts = families.get('hal0_load_phase_seconds')?.samples.filter(({ name }) => name.endsWith('_count')) ?? []
    expect(counts.map(({ labels, value }) => [labels['phase'], value])).toEqual(
      ['queue', 'evict', 'drain', 'stop', 'release', 'spawn', 'warm', 'sanity'].map((phase) => [phase, 0]),
    )
    for (const name of ['slot_up', 'inflight', 'queue_depth', 'swaps_total', 'breaker_state']) {
      expect(seriesOf(families, `hal0_${name}`)).toEqual({ 'slot=agent': 0 })
    }
  })

  it('without slots they are there too', async () => {
    const families = await make([]).scrape()
    expect(families.size).toBe(16)
    expect(seriesOf(families, 'hal0_slots_ready_total')).toEqual({ '': 0 })
  })
})

describe('a scrape', () => {
  it.each<[Partial<SlotRow>, number]>([
    [{ state: 'ready' }, 1],
    [{ state: 'serving' }, 1],
    [{ state: 'idle', idle_reason: 'quiet' }, 1],
    [{ state: 'idle', idle_reason: 'no_model' }, 0],
    [{ state: 'warming' }, 0],
    [{ state: 'unloading' }, 0],
    [{ state: 'error' }, 0],
  ])('%j: up %i', async (more, up) => {
    const families = await make([row('agent', more)]).scrape()
    expect(seriesOf(families, 'hal0_slot_up')).toEqual({ 'slot=agent': up })
    expect(seriesOf(families, 'hal0_slots_ready_total')).toEqual({ '': up })
    const states = Object.entries(seriesOf(families, 'hal0_slot_state'))
    expect(states).toHaveLength(9)
    expect(states.filter(([, value]) => value === 1)).toEqual([[`slot=agent,state=${more.state}`, 1]])
  })

  it.each<[SlotRow['breaker'], number]>([
    [null, 0],
    [{ state: 'backoff', failures: 1, retry_after_s: 5 }, 1],
    [{ state: 'parked', failures: 5, retry_after_s: 300 }, 2],
    [{ state: 'half_open', failures: 5, retry_after_s: 0 }, 3],
  ])('breaker %j: %i', async (breaker, value) => {
    const families = await make([row('agent', { breaker })]).scrape()
    expect(seriesOf(families, 'hal0_breaker_state')).toEqual({ 'slot=agent': value })
  })

  it('shows the slots of this moment, and forgets one that is deleted', async () => {
    const { metrics, set, scrape } = make([row('agent', { in_flight: 2, queued: 3 }), row('coder')])
    metrics.onLoad(load('coder'))
    const before = await scrape()
    expect(seriesOf(before, 'hal0_inflight')).toEqual({ 'slot=agent': 2, 'slot=coder': 0 })
    expect(seriesOf(before, 'hal0_queue_depth')).toEqual({ 'slot=agent': 3, 'slot=coder': 0 })
    set([row('agent')])
    const after = await make([row('agent')]).scrape()
    expect(await scrape()).toEqual(after)
    set([row('agent'), row('coder')])
    expect(seriesOf(await scrape(), 'hal0_loads_total')).toMatchObject({ 'slot=coder,outcome=ready': 0 })
  })

  it('can be read whatever a slot is called', async () => {
    const names = ['plain', 'quo"te', 'back\\slash', 'new\nline', 'end\\', '{}=,', 'ünï😀']
    const families = await make(names.map((name) => row(name))).scrape()
    expect(families.get('hal0_slot_up')?.samples.map(({ labels }) => labels['slot'])).toEqual(names)
  })

  it('says what it is', async () => {
    expect((await make([]).metrics.render()).contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
  })
})

describe('loads', () => {
  it('are counted by outcome, with the phases that happened in seconds', async () => {
    const { metrics, scrape } = make([row('agent')])
    metrics.onLoad(load('agent', { phases: { spawn: 40, warm: 3_000 } }))
    metrics.onLoad(load('agent', { outcome: 'failed', code: 'slot.health_failed', phases: { warm: 900_000 } }))
    metrics.onLoad(load('agent', { outcome: 'cancelled', phases: { queue: Number.NaN } }))
    const families = await scrape()
    expect(seriesOf(families, 'hal0_loads_total')).toEqual({
      'slot=agent,outcome=ready': 1,
      'slot=agent,outcome=failed': 1,
      'slot=agent,outcome=cancelled': 1,
    })
    const samples = families.get('hal0_load_phase_seconds')?.samples ?? []
    const of = (phase: string, suffix: string) =>
      samples.find(({ name, labels }) => name.endsWith(suffix) && labels['phase'] === phase)?.value
    expect([of('warm', '_count'), of('warm', '_sum'), of('spawn', '_sum'), of('queue', '_count')]).toEqual([
      2, 903, 0.04, 0,
    ])
  })

  const swaps = async (records: readonly LoadRecord[], history: readonly LoadRecord[] = []) => {
    const { metrics, scrape } = make([row('agent')], history)
    for (const record of records) metrics.onLoad(record)
    return seriesOf(await scrape(), 'hal0_swaps_total')['slot=agent']
  }
  const ready = (modelId: string) => load('agent', { model_id: modelId })

  it.each<[string, LoadRecord[], LoadRecord[], number]>([
    ['the first load', [ready('a')], [], 0],
    ['the same model again', [ready('a'), ready('a')], [], 0],
    ['there and back', [ready('a'), ready('b'), ready('a')], [], 2],
    ['a failed one in between', [ready('a'), load('agent', { model_id: 'b', outcome: 'failed' }), ready('a')], [], 0],
    ['another than before this daemon', [ready('b'), ready('b')], [ready('a')], 1],
    [
      'the same as before this daemon',
      [ready('a')],
      [load('agent', { model_id: 'b', outcome: 'failed' }), ready('a')],
      0,
    ],
  ])('swaps: %s', async (_, records, history, expected) => {
    expect(await swaps(records, history)).toBe(expected)
  })

  it('a load that the history knows already is not its own predecessor', async () => {
    const now = ready('b')
    expect(await swaps([now], [now, ready('a')])).toBe(1)
  })
})

describe('evictions', () => {
  it('are counted by reason; what is no eviction, or gives none, is not', async () => {
    const { metrics, scrape } = make([])
    metrics.onEvent({ type: 'slot.evicted', data: { reason: 'pressure' } })
    metrics.onEvent({ type: 'slot.evicted', data: { reason: 'pressure' } })
    metrics.onEvent({ type: 'slot.evicted', data: { reason: 'whim' } })
    metrics.onEvent({ type: 'slot.evicted', data: {} })
    metrics.onEvent({ type: 'slot.state', data: { reason: 'group' } })
    const counts = seriesOf(await scrape(), 'hal0_evictions_total')
    expect(Object.entries(counts).filter(([, value]) => value > 0)).toEqual([['reason=pressure', 2]])
  })
})
