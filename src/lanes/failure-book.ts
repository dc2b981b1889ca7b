import type { LaneTarget } from '../contract/lane.ts'
import type { FailureCause } from '../contract/slot-state.ts'
import { HOUR_MS } from '../kernel/units.ts'
import type { TargetFailure } from './rules/decision.ts'
import { targetKey } from './rules/lane-target.ts'
import { isPermanentFailure, nextFailure } from './rules/next-failure.ts'

/** The next booking of a model that failed so long ago begins anew. */
const FORGOTTEN_AFTER_MS = HOUR_MS

interface Entry {
  readonly target: LaneTarget
  readonly failure: TargetFailure
  /** Of model and profile, when it failed. */
  readonly fingerprint: string
  /** It is up again; only another failure soon makes it count. */
  readonly isOver: boolean
}

/** What could not be loaded on one lane, by target; in place of the breaker. Source: SPEC 12 "Failure". */
export class FailureBook {
  readonly #entries = new Map<string, Entry>()
  readonly #fingerprintOf: (target: LaneTarget) => string

  constructor(fingerprintOf: (target: LaneTarget) => string) {
    this.#fingerprintOf = fingerprintOf
  }

  /** What stands against a load; undefined = nothing. */
  of(target: LaneTarget): TargetFailure | undefined {
    const entry = this.#entries.get(targetKey(target))
    return entry === undefined || entry.isOver ? undefined : entry.failure
  }

  all(): readonly { readonly target: LaneTarget; readonly failure: TargetFailure }[] {
    return [...this.#entries.values()].filter(({ isOver }) => !isOver)
  }

  failed(
    target: LaneTarget,
    what: {
      readonly nowMs: number
      readonly code: string
      readonly message: string
      readonly cause: FailureCause | null
    },
  ): TargetFailure {
    const key = targetKey(target)
    const fingerprint = this.#fingerprintOf(target)
    const known = this.#entries.get(key)?.failure
    const before = known !== undefined && what.nowMs - known.failedAtMs < FORGOTTEN_AFTER_MS ? known : undefined
    const isPermanent = isPermanentFailure(what.code, what.message, what.cause ?? undefined)
    const failure = nextFailure(before, { ...what, isPermanent, fingerprint })
    this.#entries.set(key, { target, failure, fingerprint, isOver: false })
    return failure
  }

  /** It is up. What was before counts only if it fails again soon. */
  succeeded(target: LaneTarget): void {
    const key = targetKey(target)
    const entry = this.#entries.get(key)
    if (entry !== undefined) this.#entries.set(key, { ...entry, isOver: true })
  }

  /** It has been up for long enough. */
  proven(target: LaneTarget): void {
    this.#entries.delete(targetKey(target))
  }

  /** Is one waiting for another model or profile? */
  get hasPermanent(): boolean {
    return [...this.#entries.values()].some(({ isOver, failure }) => !isOver && failure.retry.kind === 'never')
  }

  /** Failures of a model or profile that is another by now are over; those of the future are of a clock that was set back. */
  review(nowMs: number): void {
    for (const [key, entry] of this.#entries) {
      const { target, failure, fingerprint } = entry
      if (fingerprint !== this.#fingerprintOf(target)) this.#entries.delete(key)
      else if (failure.failedAtMs > nowMs) {
        this.#entries.set(key, { ...entry, failure: { ...failure, failedAtMs: nowMs } })
      }
    }
  }

  forgetAll(): void {
    this.#entries.clear()
  }
}
