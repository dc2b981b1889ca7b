import type { LoadPhases } from '../../contract/slot-row.ts'

/** Before any load was measured: what a waiter is told to wait. */
const FIRST_LOAD_GUESS_MS = 5_000

/** How long the last loads of a slot took, and what that says about the one that runs. Source: SPEC 5 "Every load records the phases". */
export class LoadTimes {
  #last: LoadPhases | undefined
  #lastMs = FIRST_LOAD_GUESS_MS
  #stopMs: number | undefined
  #drainMs: number | undefined

  /** Of the last completed load. */
  get last(): LoadPhases | undefined {
    return this.#last
  }

  /** The phases of a load that begins now; the stop that it had to wait for is part of it. */
  begin(): LoadPhases {
    if (this.#stopMs === undefined) return {}
    return this.#drainMs === undefined ? { stop: this.#stopMs } : { drain: this.#drainMs, stop: this.#stopMs }
  }

  /** The leases of the engine that is being stopped took so long to end; undefined = there were none. */
  drained(drainMs: number | undefined): void {
    this.#drainMs = drainMs === undefined ? undefined : Math.round(drainMs)
  }

  completed(took: LoadPhases, wholeMs: number): void {
    this.#last = took
    this.#lastMs = wholeMs
  }

  /** `next` decides what comes after a stop; only a load that begins in it waited for that stop. */
  afterStop(tookMs: number, next: () => void): void {
    this.#stopMs = Math.round(tookMs)
    next()
    this.#stopMs = undefined
    this.#drainMs = undefined
  }

  /** What a load that has run for `elapsedMs` may still take; negative = it takes longer than the last one. */
  remainingMs(elapsedMs: number): number {
    return this.#lastMs - elapsedMs
  }
}
