import { type Clock, sleep } from '../../kernel/clock.ts'

/** When a stop stops asking. Only ever moves closer. */
export class StopDeadline {
  readonly #clock: Clock
  /** Monotonic ms. */
  #atMs: number
  #waker = new AbortController()

  /** `graceMs` from now; 0 or less has passed already. */
  constructor(clock: Clock, graceMs: number) {
    this.#clock = clock
    this.#atMs = clock.monotonicMs() + graceMs
  }

  get hasPassed(): boolean {
    return this.#clock.monotonicMs() >= this.#atMs
  }

  /** `graceMs` from now if that is earlier than what holds. */
  shorten(graceMs: number): void {
    const atMs = this.#clock.monotonicMs() + graceMs
    if (atMs >= this.#atMs) return
    this.#atMs = atMs
    this.wake()
  }

  /** Ends the running pause. */
  wake(): void {
    this.#waker.abort()
    this.#waker = new AbortController()
  }

  /** Waits `ms`, or until the deadline if that lies ahead, or until woken. */
  pause(ms: number): Promise<void> {
    const leftMs = this.#atMs - this.#clock.monotonicMs()
    return sleep(this.#clock, leftMs > 0 ? Math.min(ms, leftMs) : ms, this.#waker.signal)
  }
}
