import type { LoadRecord } from '../../contract/load-record.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { listNames } from '../../kernel/list-names.ts'
import { isoTime } from '../../kernel/units.ts'
import { LoadTimes } from '../load-times.ts'
import type { ModelBook } from '../model-facts.ts'
import { estimateLoad } from '../rules/estimate-load.ts'
import type { Scenario, ScenarioModel } from './read-scenario.ts'
import { type SimulatedFailure, SimulatedSlot } from './simulated-slot.ts'

/** The models of a scenario: what lanes know of them, and how their engines behave. */
export interface SimulatedModels {
  readonly book: Pick<ModelBook, 'refresh' | 'targetOf' | 'fingerprintOf'>
  readonly times: LoadTimes
  /** Somebody has broken its file, or mended it. */
  setBroken(model: string, isBroken: boolean): void
  /** A slot of this lane. `onLoad`: told of each load that ended as it was to. */
  openSlot(lane: string, onLoad: (isReady: boolean) => void): SimulatedSlot
}

export function createSimulatedModels(
  { models, scheduler, startMs, stopMs }: Pick<Scenario, 'models' | 'scheduler' | 'startMs' | 'stopMs'>,
  clock: Clock,
): SimulatedModels {
  const records = new Map<string, LoadRecord[]>()
  const loaded = new Map<string, number>()
  const broken = new Set<string>()
  for (const [model, { failsWithin }] of models) {
    if (failsWithin !== undefined && failsWithin.fromMs <= startMs && startMs < failsWithin.untilMs) broken.add(model)
  }
  const times = new LoadTimes({
    loads: { recent: (lane, limit) => (records.get(lane) ?? []).slice(0, limit) },
    sizeBytes: (model) => models.get(model)?.sizeBytes,
    settings: () => scheduler,
  })

  function need(model: string): ScenarioModel {
    const known = models.get(model)
    if (known !== undefined) return known
    const list = models.size === 0 ? 'there are none' : `there are: ${listNames(models.keys())}`
    throw Hal0Error.of('model.not_found', `the scenario has no model "${model}"; ${list}`, { param: 'model' })
  }

  function loadMs(model: string, profile: string): number {
    const { loadMs: saidMs, sizeBytes: fileBytes } = need(model)
    const target = { kind: 'model', model, profile } as const
    return saidMs ?? estimateLoad({ target, recentMs: [], fileBytes, ...scheduler }).ms
  }

  /** Asked at the end of each load. */
  function failureOf(model: string): SimulatedFailure | undefined {
    const { failsFirst, failMessage } = need(model)
    const nth = (loaded.get(model) ?? 0) + 1
    loaded.set(model, nth)
    return nth <= failsFirst || broken.has(model) ? { message: failMessage, cause: null } : undefined
  }

  return {
    times,
    book: {
      refresh: async () => {},
      targetOf(model, profile) {
        const known = need(model)
        return { kind: 'model', model, profile: profile ?? known.profile }
      },
      fingerprintOf: (target) => (target.kind === 'model' && broken.has(target.model) ? 'broken' : 'whole'),
    },
    setBroken(model, isBroken) {
      if (isBroken) broken.add(model)
      else broken.delete(model)
    },
    openSlot: (lane, onLoad) =>
      new SimulatedSlot(clock, {
        stopMs,
        loadMs: ({ model, profile }) => loadMs(model, profile),
        failureOf: ({ model }) => failureOf(model),
        onLoad({ target: { model, profile }, begunMs, isReady }) {
          const tookMs = clock.nowMs() - begunMs
          const record: LoadRecord = {
            slot: lane,
            attempt_id: '',
            model_id: model,
            profile,
            begun_at: isoTime(begunMs),
            took_ms: Math.max(0, Math.round(tookMs)),
            phases: { spawn: loadMs(model, profile) },
            outcome: isReady ? 'ready' : 'failed',
            code: null,
          }
          records.set(lane, [record, ...(records.get(lane) ?? [])])
          times.loadEnded(lane)
          onLoad(isReady)
        },
      }),
  }
}
