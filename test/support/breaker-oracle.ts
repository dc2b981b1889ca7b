import assert from 'node:assert/strict'
import type { NewEvent } from '../../src/contract/events.ts'
import type { LoadRecord } from '../../src/contract/load-record.ts'

/** SPEC 6, by hand: what the n-th failure in a row makes everybody but a person wait, in s; the last one for all after it. */
const WAIT_S = [5, 10, 20, 40, 300, 600, 1_200, 2_400, 3_600]
const RECOVERED_MS = 60_000

const COUNTED = new Set([
  'slot.spawn_failed',
  'slot.health_failed',
  'slot.output_sanity_failed',
  'slot.not_ready',
  'slot.image_missing',
  'internal',
])

/**
 * What the breaker must allow at least to hold back, learnt only from what the slot tells the world. It never counts more than SPEC 6 does,
 * so a start that it does not allow is a fault. Times in ms: `nowMs` wall clock, `monotonicMs` for how long something was ready.
 */
export class BreakerOracle {
  readonly #failures = new Map<string, { n: number; atMs: number }>()
  #readyMs: { readonly modelId: string; readonly sinceMs: number } | undefined
  /** Wishes of people that have no answer yet: until then they may have counted as a pardon at any moment. */
  #persons = 0
  #diedAtMs = 0
  /** A lane drives it: its own retry counts, and nothing here. */
  #isLanes = false
  #diedAsLanes = false
  #build = 0
  /** When the start that runs was decided upon: what is spawned for it comes later. */
  #decided = { nowMs: 0, isPersons: false, build: 0 }
  readonly #clock: { nowMs(): number; monotonicMs(): number }

  constructor(clock: { nowMs(): number; monotonicMs(): number }) {
    this.#clock = clock
  }

  /** A person wants it started; call what is returned when they were answered. */
  person(): () => void {
    this.#persons++
    this.#failures.clear()
    return () => {
      this.#persons--
      this.#failures.clear()
    }
  }

  /** The wall clock has jumped: what failed in a future that is over now counts as of now, at the latest. */
  jumped(): void {
    const nowMs = this.#clock.nowMs()
    for (const entry of this.#failures.values()) entry.atMs = Math.min(entry.atMs, nowMs)
    this.#diedAtMs = Math.min(this.#diedAtMs, nowMs)
  }

  /** A request was answered. */
  answered(): void {
    this.#failures.clear()
  }

  /** A start is another launch from now on; what runs of the one before counts for nothing. */
  newBuild(): void {
    this.#build++
    this.#failures.clear()
  }

  laneIs(isLanes: boolean): void {
    this.#isLanes = isLanes
  }

  /** `loadedModelId`: what ran last. */
  hear(event: NewEvent, loadedModelId: string | undefined): void {
    const { from, to } = event.data
    // Why is told later than that.
    if (event.type === 'slot.crashed' && !this.#diedAsLanes) this.#failed(loadedModelId ?? '', this.#diedAtMs)
    if (event.type !== 'slot.state') return
    if (to === 'error') {
      this.#diedAtMs = this.#clock.nowMs()
      this.#diedAsLanes = this.#isLanes
    }
    if ((to === 'starting' || to === 'pulling') && (from === 'offline' || from === 'error'))
      this.#decided = { nowMs: this.#clock.nowMs(), isPersons: this.#persons > 0, build: this.#build }
    if (to === 'ready' && (from === 'warming' || from === 'idle') && loadedModelId !== undefined)
      this.#readyMs ??= { modelId: loadedModelId, sinceMs: this.#clock.monotonicMs() }
    // A crash is told after the state: its recovery has to be known then.
    if (to === 'unloading' || to === 'starting' || to === 'error') this.#lookAtRecovery()
    if (to === 'unloading' || to === 'starting' || to === 'error') this.#readyMs = undefined
  }

  /** A load has ended. */
  ended({ outcome, code, model_id: modelId }: LoadRecord): void {
    if (!this.#isLanes && outcome === 'failed' && COUNTED.has(code ?? '')) this.#failed(modelId ?? '')
  }

  /** Something is spawned: may it be? */
  check(modelId: string): void {
    this.#lookAtRecovery()
    const entry = this.#failures.get(modelId)
    if (entry === undefined || this.#decided.isPersons) return
    const waitMs = (WAIT_S[entry.n - 1] ?? 3_600) * 1_000
    const sinceMs = this.#decided.nowMs - entry.atMs
    assert.ok(sinceMs >= waitMs, `${modelId} is started ${sinceMs} ms after failure ${entry.n}`)
  }

  #failed(modelId: string, atMs = this.#clock.nowMs()): void {
    if (this.#decided.build !== this.#build) return void this.#failures.delete(modelId)
    const n = this.#persons > 0 ? 0 : (this.#failures.get(modelId)?.n ?? 0)
    this.#failures.set(modelId, { n: n + 1, atMs })
  }

  #lookAtRecovery(): void {
    if (this.#readyMs === undefined) return
    const { modelId, sinceMs } = this.#readyMs
    if (this.#clock.monotonicMs() - sinceMs >= RECOVERED_MS) this.#failures.delete(modelId)
  }
}
