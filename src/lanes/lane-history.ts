import type { LanePhase, LaneTarget, TargetReason } from '../contract/lane.ts'
import type { TargetFailure } from './rules/decision.ts'

/** One change of what a lane did. Until the next one it held. */
export interface PastStep {
  /** Epoch ms. */
  readonly atMs: number
  readonly phase: LanePhase
  readonly target: LaneTarget
  readonly reason: TargetReason
  /** What was wanted, where `target` was only its stand-in. */
  readonly inPlaceOf: LaneTarget | undefined
}

/** A load that failed then. */
export interface PastFailure {
  readonly target: LaneTarget
  readonly failure: TargetFailure
}

/** A week of a busy lane. */
const MAX_STEPS = 2_000

/** What one lane really did in the life of this daemon. */
export class LaneHistory {
  readonly #steps: PastStep[] = []
  readonly #failures: PastFailure[] = []

  add(step: PastStep): void {
    if (this.#steps.length >= MAX_STEPS) this.#steps.shift()
    this.#steps.push(step)
  }

  addFailure(one: PastFailure): void {
    if (this.#failures.length >= MAX_STEPS) this.#failures.shift()
    this.#failures.push(one)
  }

  /** Those of the half-open window, oldest first. */
  failuresWithin({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }): readonly PastFailure[] {
    return this.#failures.filter(({ failure: { failedAtMs } }) => fromMs <= failedAtMs && failedAtMs < toMs)
  }

  /** What held or changed within the half-open window, oldest first. */
  within({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }): readonly PastStep[] {
    return this.#steps.filter(({ atMs }, nth) => {
      const endMs = this.#steps[nth + 1]?.atMs ?? Number.POSITIVE_INFINITY
      return atMs < toMs && endMs > fromMs
    })
  }
}
