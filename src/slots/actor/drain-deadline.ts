import type { CancelTimer, Clock } from '../../kernel/clock.ts'

/** Until when leases may end by themselves before the engine is stopped. Off = nothing is to be stopped. */
export class DrainDeadline {
  #atMs: number | undefined
  #cancelTimer: CancelTimer | undefined
  readonly #clock: Clock
  readonly #onElapsed: () => void

  constructor(clock: Clock, onElapsed: () => void) {
    this.#clock = clock
    this.#onElapsed = onElapsed
  }

  get isOn(): boolean {
    return this.#atMs !== undefined
  }

  /** On, unless it is on with less time already. */
  set(drainMs: number): void {
    const atMs = this.#clock.monotonicMs() + drainMs
    if (this.#atMs !== undefined && this.#atMs <= atMs) return
    this.off()
    this.#atMs = atMs
    this.#cancelTimer = this.#clock.setTimer(drainMs, this.#onElapsed)
  }

  off(): void {
    this.#cancelTimer?.()
    this.#atMs = undefined
    this.#cancelTimer = undefined
  }
}
