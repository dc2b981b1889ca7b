import type { LaneRow } from '../../contract/lane.ts'
import { MINUTE_MS } from '../../kernel/units.ts'
import { type LaneTarget, NOTHING, sameTarget } from '../rules/lane-target.ts'
import type { LaneSummary } from './simulation.ts'

type Standing = Pick<LaneRow, 'phase' | 'reason' | 'current' | 'is_fallback'>
type Minutes = 'ready_for_holders_min' | 'on_fallback_min' | 'holders_waited_min' | 'exclusive_min'
type Count = Exclude<keyof LaneSummary, Minutes | 'lane'>

/** Adds up one lane's day. */
export class LaneTally {
  readonly #lane: string
  readonly #ms: Record<Minutes, number> = {
    ready_for_holders_min: 0,
    on_fallback_min: 0,
    holders_waited_min: 0,
    exclusive_min: 0,
  }
  readonly #counts: Record<Count, number> = { switches: 0, loads: 0, failed_loads: 0, served: 0, refused: 0, cut: 0 }
  #standing: Standing | undefined
  #sinceMs = 0
  #current: LaneTarget = NOTHING

  constructor(lane: string) {
    this.#lane = lane
  }

  count(what: Count): void {
    this.#counts[what] += 1
  }

  /** So it stands from now on; `nowMs` of the monotonic clock, which no jump disturbs. */
  stands(standing: Standing, nowMs: number): void {
    this.#add(nowMs)
    this.#standing = standing
    if (sameTarget(standing.current, this.#current)) return
    this.#current = standing.current
    this.count('switches')
  }

  summary(nowMs: number): LaneSummary {
    this.#add(nowMs)
    const minutes = (key: Minutes) => Math.round((this.#ms[key] / MINUTE_MS) * 10) / 10
    return {
      lane: this.#lane,
      ready_for_holders_min: minutes('ready_for_holders_min'),
      on_fallback_min: minutes('on_fallback_min'),
      holders_waited_min: minutes('holders_waited_min'),
      exclusive_min: minutes('exclusive_min'),
      ...this.#counts,
    }
  }

  #add(nowMs: number): void {
    const tookMs = nowMs - this.#sinceMs
    this.#sinceMs = nowMs
    if (this.#standing === undefined) return
    const { phase, reason, is_fallback: isFallback } = this.#standing
    if (reason === 'exclusive') this.#ms[phase === 'off' ? 'exclusive_min' : 'holders_waited_min'] += tookMs
    if (reason !== 'reserved') return
    this.#ms[phase === 'ready' ? 'ready_for_holders_min' : 'holders_waited_min'] += tookMs
    if (phase === 'ready' && isFallback) this.#ms.on_fallback_min += tookMs
  }
}
