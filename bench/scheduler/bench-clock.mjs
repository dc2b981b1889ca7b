// A clock that stands still until the bench moves it, so that what a timer does can be timed alone.

/** @typedef {{ dueMs: number, fire: () => void }} Timer */

export class BenchClock {
  #nowMs
  /** In the order in which they were set. @type {Set<Timer>} */
  #timers = new Set()

  /** @param {number} startMs epoch ms */
  constructor(startMs) {
    this.#nowMs = startMs
  }

  nowMs() {
    return this.#nowMs
  }

  monotonicMs() {
    return this.#nowMs
  }

  /** @param {number} delayMs @param {() => void} fire */
  setTimer(delayMs, fire) {
    const timer = { dueMs: this.#nowMs + Math.max(0, delayMs), fire }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  get pending() {
    return this.#timers.size
  }

  /** The timer that was set first fires a millisecond later, due or not: the next tick of the lane that has waited longest. */
  fireFirst() {
    const [timer] = this.#timers
    if (timer === undefined) throw new Error('no timer is set: no lane is alive')
    this.#nowMs += 1
    this.#timers.delete(timer)
    timer.fire()
  }

  /** Every timer that is set fires a millisecond later, due or not, all in one turn. */
  fireAll() {
    this.#nowMs += 1
    const timers = [...this.#timers]
    this.#timers.clear()
    for (const timer of timers) timer.fire()
  }

  /** Moves to that moment, and fires what is due by then, all in one turn. @param {number} atMs epoch ms */
  jumpTo(atMs) {
    this.#nowMs = Math.max(this.#nowMs, atMs)
    for (const timer of [...this.#timers]) {
      // One that fired before may have cancelled it.
      if (timer.dueMs <= this.#nowMs && this.#timers.delete(timer)) timer.fire()
    }
  }

  /** Goes on in small steps; what a timer sets in motion has happened before the next. @param {number} ms @param {number} stepMs */
  async run(ms, stepMs) {
    const endMs = this.#nowMs + ms
    while (this.#nowMs < endMs) {
      this.jumpTo(Math.min(this.#nowMs + stepMs, endMs))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}
