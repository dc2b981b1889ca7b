import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { NewEvent } from '../contract/events.ts'
import type { LaneRow } from '../contract/lane.ts'
import type { LoadRecord } from '../contract/load-record.ts'
import { isDispatchable, LOAD_PHASES, type SlotRow } from '../contract/slot-row.ts'
import { SLOT_STATES } from '../contract/slot-state.ts'
import type { RequestReader } from '../contract/usage.ts'
import { SECOND_MS } from '../kernel/units.ts'
import { EVICTED_EVENT, EVICTION_REASONS } from '../slots/admission/residents.ts'
import { createRequestMetrics } from './request-metrics.ts'
import { breakerValue } from './rules/measure-slot.ts'

/** What a scrape is answered with. */
export interface MetricsText {
  readonly contentType: string
  readonly body: string
}

/** The daemon's own counts and states as Prometheus reads them. Listening never throws; reading wakes nothing. Source: SPEC 17. */
export interface Metrics {
  /** A load has ended. */
  onLoad(record: LoadRecord): void
  /** Any event of the bus; `slot.evicted` with `data.reason` counts. */
  onEvent(event: Pick<NewEvent, 'type' | 'data'>): void
  /** Requests are over: a reader of the ledger. */
  readonly onRequests: RequestReader
  /** Text format 0.0.4. */
  render(): Promise<MetricsText>
}

export interface MetricsDeps {
  /** All slots, asked at each scrape: a slot that is gone has no series any more. */
  readonly rows: () => readonly SlotRow[]
  /** All lanes, asked at each scrape. Absent = there are none. */
  readonly lanes?: () => readonly LaneRow[]
  /** What a slot ran before this daemon was started, so that its first load with another model counts as a swap. */
  readonly loads?: { recent(slot: string, limit: number): readonly LoadRecord[] }
}

const OUTCOMES = ['ready', 'failed', 'cancelled'] as const satisfies readonly LoadRecord['outcome'][]

/** Seconds: a process is spawned in hundredths, a large model warms for minutes, and at 900 s a load is given up (SPEC 5). */
const PHASE_BUCKETS_S = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 180, 360, 900]

/** How far back the model that a slot ran before is looked for. */
const LOOK_BACK = 20

export function createMetrics({ rows, lanes = () => [], loads }: MetricsDeps): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name, help, labelNames: [...labelNames], registers })
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames: [...labelNames], registers })

  const up = gauge('hal0_slot_up', '1 when the slot serves without a load.', ['slot'])
  const state = gauge('hal0_slot_state', '1 for the state that the slot is in, 0 for the others.', ['slot', 'state'])
  const ready = gauge('hal0_slots_ready_total', 'Slots that serve without a load.')
  const inFlight = gauge('hal0_inflight', 'Requests that the slot serves now.', ['slot'])
  const queued = gauge('hal0_queue_depth', 'Requests that wait for the slot: for a load or for a place.', ['slot'])
  const breaker = gauge('hal0_breaker_state', '0 closed, 1 backoff, 2 parked, 3 half_open.', ['slot'])
  const phases = new Histogram({
    name: 'hal0_load_phase_seconds',
    help: 'Time of each phase of a load, of loads that failed too.',
    labelNames: ['phase'],
    buckets: PHASE_BUCKETS_S,
    registers,
  })
  const ended = counter('hal0_loads_total', 'Loads that have ended.', ['slot', 'outcome'])
  const swaps = counter('hal0_swaps_total', 'Loads that put another model into the slot than it ran before.', ['slot'])
  const evictions = counter('hal0_evictions_total', 'Slots unloaded to make room, by reason.', ['reason'])

  // Without lanes neither has a series: nothing is targeted, nothing is reserved.
  const target = gauge('hal0_lane_target_info', '1 for what the lane is to run now, and why.', [
    'lane',
    'model',
    'profile',
    'reason',
  ])
  const reserved = gauge('hal0_lane_reserved', '1 while a booking of the lane is active.', ['lane'])
  const requests = createRequestMetrics(registry, rows)

  for (const phase of LOAD_PHASES) phases.zero({ phase })
  for (const reason of EVICTION_REASONS) evictions.inc({ reason }, 0)

  /** Slots that have counters. */
  const counted = new Set<string>()
  /** What each slot ran last; null = unknown. */
  const lastModel = new Map<string, string | null>()

  function begin(slot: string): void {
    if (counted.has(slot)) return
    counted.add(slot)
    for (const outcome of OUTCOMES) ended.inc({ slot, outcome }, 0)
    swaps.inc({ slot }, 0)
  }

  function drop(slot: string): void {
    counted.delete(slot)
    lastModel.delete(slot)
    for (const outcome of OUTCOMES) ended.remove({ slot, outcome })
    swaps.remove({ slot })
  }

  /** The model of the last load before `record` that became ready. */
  function modelBefore({ slot, attempt_id }: LoadRecord): string | null {
    const known = lastModel.get(slot)
    if (known !== undefined || loads === undefined) return known ?? null
    const before = loads.recent(slot, LOOK_BACK).find((one) => one.outcome === 'ready' && one.attempt_id !== attempt_id)
    return before?.model_id ?? null
  }

  function collect(): void {
    const now = rows()
    const names = new Set(now.map(({ name }) => name))
    for (const slot of [...counted]) if (!names.has(slot)) drop(slot)
    requests.look(now)
    for (const one of [up, state, inFlight, queued, breaker, target, reserved]) one.reset()
    for (const lane of lanes()) {
      const { model = '', profile = '' } = lane.target.kind === 'model' ? lane.target : {}
      target.set({ lane: lane.name, model, profile, reason: lane.reason }, 1)
      reserved.set({ lane: lane.name }, lane.active === null ? 0 : 1)
    }
    ready.set(now.filter(isDispatchable).length)
    for (const row of now) {
      const slot = row.name
      begin(slot)
      up.set({ slot }, isDispatchable(row) ? 1 : 0)
      for (const word of SLOT_STATES) state.set({ slot, state: word }, row.state === word ? 1 : 0)
      inFlight.set({ slot }, row.in_flight)
      queued.set({ slot }, row.queued)
      breaker.set({ slot }, breakerValue(row))
    }
  }

  return {
    onLoad(record) {
      const { slot, outcome, model_id: modelId } = record
      begin(slot)
      ended.inc({ slot, outcome })
      for (const phase of LOAD_PHASES) {
        const ms = record.phases[phase]
        if (ms !== undefined && Number.isFinite(ms)) phases.observe({ phase }, ms / SECOND_MS)
      }
      if (outcome !== 'ready' || modelId === null) return
      const before = modelBefore(record)
      if (before !== null && before !== modelId) swaps.inc({ slot })
      lastModel.set(slot, modelId)
    },
    onRequests: requests.onRequests,
    onEvent({ type, data }) {
      if (type !== EVICTED_EVENT) return
      const reason = data['reason']
      const known = EVICTION_REASONS.find((one) => one === reason)
      if (known !== undefined) evictions.inc({ reason: known })
    },
    async render() {
      collect()
      return { contentType: registry.contentType, body: await registry.metrics() }
    },
  }
}
