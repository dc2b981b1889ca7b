import type { CancelTimer, Clock } from '../../../src/kernel/clock.ts'

/** Pauses between attempts are shorter, limits of patience longer. */
const LONG_MS = 30_000

/**
 * A clock for tests that speak over real sockets: short waits pass at once, and the time with them; long ones pass when the test says so.
 * Nothing depends on how fast the machine is.
 */
export class HurriedClock implements Clock {
  /** Of the short waits that passed, in order. */
  readonly passedMs: number[] = []
  readonly #startMs = Date.UTC(2026, 0, 1)
  readonly #long = new Map<() => void, number>()
  #nowMs = 0

  nowMs(): number {
    return this.#startMs + this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  setTimer(delayMs: number, fire: () => void): CancelTimer {
    if (delayMs > LONG_MS) {
      this.#long.set(fire, this.#nowMs + delayMs)
      return () => void this.#long.delete(fire)
    }
    const timer = setImmediate(() => {
      this.#nowMs += delayMs
      this.passedMs.push(delayMs)
      fire()
    })
    return () => clearImmediate(timer)
  }

  /** Long waits that are under way, in milliseconds from now. */
  get longWaitsMs(): readonly number[] {
    return [...this.#long.values()].map((dueMs) => dueMs - this.#nowMs)
  }

  /** Lets time pass; what is due fires. */
  pass(ms: number): void {
    this.#nowMs += ms
    for (const [fire, dueMs] of [...this.#long]) {
      if (dueMs > this.#nowMs) continue
      this.#long.delete(fire)
      fire()
    }
  }
}
