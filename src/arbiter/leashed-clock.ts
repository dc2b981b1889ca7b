import type { CancelTimer, Clock } from '../kernel/clock.ts'

/** A clock whose timers end with whoever set them: after `close` none fires, and none keeps the process alive. */
export class LeashedClock implements Clock {
  readonly #clock: Clock
  readonly #timers = new Set<CancelTimer>()
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  setTimer(delayMs: number, fire: () => void): CancelTimer {
    if (this.#isClosed) return () => {}
    const cancel = this.#clock.setTimer(delayMs, () => {
      this.#timers.delete(cancel)
      fire()
    })
    this.#timers.add(cancel)
    return () => {
      this.#timers.delete(cancel)
      cancel()
    }
  }

  close(): void {
    this.#isClosed = true
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
  }
}
