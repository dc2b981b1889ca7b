import type { CancelTimer, Clock } from '../../kernel/clock.ts'

interface Timer {
  readonly dueMs: number
  readonly fire: () => void
}

/**
 * A clock without waiting: time goes from one timer to the next. Those that are due at the same moment fire in the order in which they were set, and
 * what one sets in motion has happened before the next fires. Nothing else may wait for the outside world meanwhile.
 */
export class SimulatedClock implements Clock {
  #wallMs: number
  #monotonicMs = 0
  readonly #timers = new Set<Timer>()

  /** `startMs`: epoch ms. */
  constructor(startMs: number) {
    this.#wallMs = startMs
  }

  nowMs(): number {
    return this.#wallMs
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  setTimer(delayMs: number, fire: () => void): CancelTimer {
    const timer: Timer = { dueMs: this.#monotonicMs + Math.max(0, delayMs), fire }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** Lets everything happen until the wall clock shows this (epoch ms), timers that are due then included. A moment that has passed is now. */
  async runUntil(wallMs: number): Promise<void> {
    const endMs = this.#monotonicMs + Math.max(0, wallMs - this.#wallMs)
    await settled()
    for (let next = this.#next(); next !== undefined && next.dueMs <= endMs; next = this.#next()) {
      this.#moveTo(next.dueMs)
      this.#timers.delete(next)
      next.fire()
      await settled()
    }
    this.#moveTo(endMs)
  }

  /** Suspend or NTP: the wall clock shows another time, timers do not notice. */
  jump(ms: number): void {
    this.#wallMs += ms
  }

  #moveTo(monotonicMs: number): void {
    this.#wallMs += monotonicMs - this.#monotonicMs
    this.#monotonicMs = monotonicMs
  }

  /** Few are set at a time: one a lane, one a load or a request. */
  #next(): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) if (next === undefined || timer.dueMs < next.dueMs) next = timer
    return next
  }
}

/** All that needs no time has happened. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
