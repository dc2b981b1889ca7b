import type { LaneTarget } from '../contract/lane.ts'
import type { LoadHistory } from '../store/load-history.ts'
import { estimateLoad, type LoadEstimate, loadMsOfPhases } from './rules/estimate-load.ts'
import { targetKey } from './rules/lane-target.ts'

export interface LoadTimesDeps {
  readonly loads: Pick<LoadHistory, 'recent'>
  readonly sizeBytes: (model: string) => number | undefined
  readonly settings: () => { readonly diskReadMbps: number; readonly stopTimeoutMs: number }
}

/** How long do loads take on each lane? From memory; the history is read once per lane and again after each load. Source: SPEC 12 "Estimate". */
export class LoadTimes {
  readonly #deps: LoadTimesDeps
  readonly #recent = new Map<string, ReadonlyMap<string, readonly number[]>>()

  constructor(deps: LoadTimesDeps) {
    this.#deps = deps
  }

  estimate(lane: string, target: LaneTarget): LoadEstimate {
    const { sizeBytes, settings } = this.#deps
    const { diskReadMbps, stopTimeoutMs } = settings()
    return estimateLoad({
      target,
      recentMs: this.#of(lane).get(targetKey(target)) ?? [],
      fileBytes: target.kind === 'model' ? sizeBytes(target.model) : undefined,
      diskReadMbps,
      stopTimeoutMs,
    })
  }

  /** A load of this lane has ended. */
  loadEnded(lane: string): void {
    this.#recent.delete(lane)
  }

  #of(lane: string): ReadonlyMap<string, readonly number[]> {
    const known = this.#recent.get(lane)
    if (known !== undefined) return known
    const byTarget = new Map<string, number[]>()
    for (const { model_id: model, profile, outcome, phases } of this.#deps.loads.recent(lane, LOADS_LOOKED_AT)) {
      if (outcome !== 'ready' || model === null || profile === null) continue
      const key = targetKey({ kind: 'model', model, profile })
      byTarget.set(key, [...(byTarget.get(key) ?? []), loadMsOfPhases(phases)])
    }
    this.#recent.set(lane, byTarget)
    return byTarget
  }
}

/** All that the history keeps of one slot. */
const LOADS_LOOKED_AT = 200
