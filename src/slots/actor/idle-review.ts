import type { CancelTimer, Clock } from '../../kernel/clock.ts'
import { type IdleDecision, type IdleFacts, nextIdle } from '../rules/next-idle.ts'

/** Looks at whether a slot is quiet for long enough, afresh each time something may have changed it, with one timer. Source: SPEC 7 "Idle". */
export class IdleReview {
  #cancelTimer: CancelTimer | undefined
  readonly #clock: Clock
  readonly #factsOf: () => IdleFacts
  readonly #onDue: () => void
  readonly #onAction: (decision: IdleDecision & { readonly action: 'go_idle' | 'unload' }) => void

  /** `onDue`: it is time to look; the owner calls `look` when it can. */
  constructor(
    clock: Clock,
    factsOf: () => IdleFacts,
    host: {
      readonly onDue: () => void
      readonly onAction: (decision: IdleDecision & { readonly action: 'go_idle' | 'unload' }) => void
    },
  ) {
    this.#clock = clock
    this.#factsOf = factsOf
    this.#onDue = host.onDue
    this.#onAction = host.onAction
  }

  /** A request has ended: a look that is due earlier anyway will see it. Costs no timer per request. */
  nudge(): void {
    if (this.#cancelTimer === undefined) this.look()
  }

  look(): void {
    this.stop()
    const nowMs = this.#clock.monotonicMs()
    const decision = nextIdle(this.#factsOf(), nowMs)
    if (decision.reviewAtMs !== undefined) {
      this.#cancelTimer = this.#clock.setTimer(decision.reviewAtMs - nowMs, this.#onDue)
    }
    const { action } = decision
    if (action !== 'none') this.#onAction({ ...decision, action })
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }
}
