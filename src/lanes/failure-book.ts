import type { LaneTarget } from '../contract/lane.ts'
import type { TargetFailure } from './rules/decision.ts'
import { targetKey } from './rules/lane-target.ts'
import { isPermanentFailure, nextFailure } from './rules/next-failure.ts'

interface Entry {
  readonly target: LaneTarget
  readonly failure: TargetFailure
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
    what: { readonly nowMs: number; readonly code: string; readonly message: string },
  ): TargetFailure {
    const key = targetKey(target)
    const isPermanent = isPermanentFailure(what.code, what.message)
    const failure = nextFailure(this.#entries.get(key)?.failure, {
      ...what,
      isPermanent,
      fingerprint: this.#fingerprintOf(target),
    })
    this.#entries.set(key, { target, failure, isOver: false })
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

  /** Failures of a model or profile that is another by now are over. */
  review(): void {
    for (const [key, { target, failure }] of this.#entries) {
      if (failure.retry.kind === 'never' && failure.retry.fingerprint !== this.#fingerprintOf(target))
        this.#entries.delete(key)
    }
  }

  forgetAll(): void {
    this.#entries.clear()
  }
}
