import type { LoadRecord } from '../../contract/load-record.ts'
import type { SlotFailure } from '../../contract/slot-state.ts'
import type { ErrorCode } from '../../kernel/error-registry.ts'
import { isoTime } from '../../kernel/units.ts'
import type { BreakerBook } from '../actor/breaker-book.ts'
import { announceFailure } from '../slot-failures.ts'
import type { LifeDeps } from './life-ports.ts'
import type { PhaseOf } from './phase.ts'
import type { StartedEngine } from './started-engine.ts'

/**
 * Failures that count against a launch: something of it ran, or could not be run. What a load finds wrong before (files, ports, memory) costs
 * nothing to find again, and is cured by whoever mends it. Source: SPEC 6.
 */
const COUNTED: ReadonlySet<string> = new Set<ErrorCode>([
  'slot.spawn_failed',
  'slot.health_failed',
  'slot.output_sanity_failed',
  'slot.image_missing',
  'internal',
])

/** What a slot's loads and deaths mean for its breaker, its history, the log and the bus. Belongs to the slot's actor. */
export class LifeReport {
  readonly #name: string
  readonly #deps: LifeDeps
  readonly #breaker: BreakerBook
  readonly #profileOf: () => string | undefined

  constructor(name: string, deps: LifeDeps, breaker: BreakerBook, profileOf: () => string | undefined) {
    this.#name = name
    this.#deps = deps
    this.#breaker = breaker
    this.#profileOf = profileOf
  }

  ready(phase: PhaseOf<'loading'>): void {
    this.#ended(phase, 'ready', null)
  }

  /** `code`: why it begins anew at once; absent = somebody wanted something else. */
  cancelled(phase: PhaseOf<'loading'>, code: ErrorCode | null = null): void {
    this.#ended(phase, 'cancelled', code)
  }

  /** Told as an event, as the state stays: whoever looks on would see an error without a reason. */
  portTaken(message: string): void {
    const slot = this.#name
    this.#deps.log.warn({ slot }, message)
    const source = `slot:${slot}`
    this.#deps.bus.publish({ type: 'slot.port_taken', severity: 'warning', source, message, data: { slot } })
  }

  /** It will serve nobody. */
  loadFailed(phase: PhaseOf<'loading'>, failure: SlotFailure): void {
    announceFailure(this.#deps, this.#name, 'slot.load_failed', failure)
    this.#ended(phase, 'failed', failure.code)
    if (!COUNTED.has(failure.code)) return
    this.#count(phase.modelId ?? '', phase.launch)
    this.#breaker.explained(phase.modelId ?? '', failure)
  }

  /** It came up without its model: as good as a failed load. */
  noModel(phase: PhaseOf<'loading'>): void {
    this.#ended(phase, 'failed', 'slot.not_ready')
    this.#count(phase.modelId ?? '', phase.launch)
  }

  /** It was given up before there was anything to fail: not enough memory became free in time. */
  gaveUp(phase: PhaseOf<'loading'>, code: string): void {
    this.#ended(phase, 'failed', code)
  }

  /** It died, or was found dead, while it was up. Why is told later. */
  died(engine: StartedEngine, readySinceMs: number | undefined): void {
    const { bound, fingerprint } = engine.binding
    const readyForMs = readySinceMs === undefined ? undefined : this.#deps.clock.monotonicMs() - readySinceMs
    this.#count(bound.modelId, fingerprint, readyForMs)
  }

  /** What it died of. `modelId`: what it had. */
  crashed(modelId: string, failure: SlotFailure): void {
    announceFailure(this.#deps, this.#name, 'slot.crashed', failure)
    this.#breaker.explained(modelId, failure)
  }

  #count(modelId: string, launch: string, readyForMs?: number): void {
    const nowMs = this.#deps.clock.nowMs()
    this.#breaker.failed(modelId, launch, nowMs, readyForMs)
    const view = this.#breaker.view(modelId, nowMs, false)
    if (view === null) return
    const { failures, state, retry_after_s: retryAfterS } = view
    this.#deps.log.warn({ slot: this.#name, model: modelId, failures, state, retryAfterS }, 'a failure counts')
    if (state === 'backoff') return
    const message = `slot ${this.#name} is parked after ${failures} failures in a row; requests start it again in ${retryAfterS} s, a person's load at once`
    this.#deps.bus.publish({
      type: 'slot.parked',
      severity: 'error',
      source: `slot:${this.#name}`,
      message,
      data: { slot: this.#name, model_id: modelId, failures, retry_after_s: retryAfterS },
    })
  }

  #ended(phase: PhaseOf<'loading'>, outcome: LoadRecord['outcome'], code: string | null): void {
    this.#deps.onLoadEnded({
      slot: this.#name,
      attempt_id: phase.attempt.id,
      model_id: phase.modelId || null,
      profile: this.#profileOf() ?? null,
      begun_at: isoTime(phase.begunAtMs),
      took_ms: Math.round(this.#deps.clock.monotonicMs() - phase.begunMs),
      phases: phase.took,
      outcome,
      code,
    })
  }
}
