import type { CancelTimer, Clock } from '../../src/kernel/clock.ts'

interface Timer {
  readonly dueMs: number
  readonly order: number
  readonly fire: () => void
}

/** Lets everything run that needs no time: all microtasks, and callbacks of I/O that is ready. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * A clock that moves only when the test says so. `advance` fires due timers one by one, by due time and then by the order in
 * which they were set, and settles before the first, after each and at the end: what a timer sets in motion (also
 * another timer that is due in the same stretch) has happened before time goes on.
 */
export class ManualClock implements Clock {
  #wallMs: number
  #monotonicMs = 0
  #order = 0
  readonly #timers = new Set<Timer>()

  /** `startMs`: the wall clock's first reading, epoch ms. */
  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#wallMs = startMs
  }

  nowMs(): number {
    return this.#wallMs
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  setTimer(delayMs: number, fire: () => void): CancelTimer {
    const timer: Timer = { dueMs: this.#monotonicMs + Math.max(0, delayMs), order: this.#order++, fire }
    this.#timers.add(timer)
    return () => {
      this.#timers.delete(timer)
    }
  }

  /** How many timers are set and have not fired. A component that was closed leaves 0. */
  get pendingTimers(): number {
    return this.#timers.size
  }

  /** Milliseconds from now to the next timer, undefined = none is set. */
  get nextTimerInMs(): number | undefined {
    const next = this.#next()
    return next === undefined ? undefined : next.dueMs - this.#monotonicMs
  }

  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms
    await settle()
    for (let next = this.#next(); next !== undefined && next.dueMs <= endMs; next = this.#next()) {
      this.#moveTo(next.dueMs)
      this.#timers.delete(next)
      next.fire()
      await settle()
    }
    this.#moveTo(endMs)
    await settle()
  }

  /** Suspend or NTP: the wall clock jumps, timers and the monotonic clock do not notice. */
  jumpWallClock(ms: number): void {
    this.#wallMs += ms
  }

  #moveTo(monotonicMs: number): void {
    // A callback may itself have advanced the clock: never go back.
    const stepMs = Math.max(0, monotonicMs - this.#monotonicMs)
    this.#monotonicMs += stepMs
    this.#wallMs += stepMs
  }

  #next(): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) {
      const earlier =
        next === undefined || timer.dueMs < next.dueMs || (timer.dueMs === next.dueMs && timer.order < next.order)
      if (earlier) next = timer
    }
    return next
  }
}
