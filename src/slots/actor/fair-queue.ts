import { chooseNext, chooseRefused } from '../rules/choose-next.ts'
import type { Lease } from '../slots.ts'

/** A request that waits for the slot: for a load, or for a place at the engine. */
export interface Waiter {
  /** Ends the wait with a lease or an error; the book calls one of them once. */
  resolve(lease: Lease): void
  reject(reason: unknown): void
  readonly waitMs: number
  /** The model that must be loaded; undefined = whatever the slot has. */
  readonly modelId?: string | undefined
  /** Whose it is; all without one are one. */
  readonly key?: string | undefined
  /** Its place in the order of arrival; set by the book. */
  nth?: number
  /** Monotonic ms at which it came; set by the book. */
  cameMs?: number
  /** Cancels the timer that bounds the wait for a load. */
  stopTimer?: (() => void) | undefined
}

/** The requests that wait for one slot, in the order of arrival and by key. Source: SPEC 11 "Queues". */
export class FairQueue {
  readonly #waiting = new Set<Waiter>()
  /** Those of them that want a certain model; nearly always none. */
  readonly #choosy = new Set<Waiter>()
  /** The line whose turn is next comes first. */
  readonly #lines = new Map<string | undefined, Set<Waiter>>()

  get size(): number {
    return this.#waiting.size
  }

  get oldest(): Waiter | undefined {
    for (const waiter of this.#waiting) return waiter
    return undefined
  }

  /** In order of arrival. */
  all(): Iterable<Waiter> {
    return this.#waiting
  }

  /** Those that want a certain model, in order of arrival. */
  choosy(): Iterable<Waiter> {
    return this.#choosy
  }

  add(waiter: Waiter): void {
    this.#waiting.add(waiter)
    if (waiter.modelId !== undefined) this.#choosy.add(waiter)
    const line = this.#lines.get(waiter.key)
    if (line === undefined) this.#lines.set(waiter.key, new Set([waiter]))
    else line.add(waiter)
  }

  /** False when it waits no longer. */
  remove(waiter: Waiter): boolean {
    if (!this.#waiting.delete(waiter)) return false
    this.#choosy.delete(waiter)
    const line = this.#lines.get(waiter.key)
    line?.delete(waiter)
    if (line?.size === 0) this.#lines.delete(waiter.key)
    return true
  }

  /** Takes out who is next of those that may have a place; the turn of its key is over. Undefined = nobody may. */
  takeNext(mayHave: (waiter: Waiter) => boolean): Waiter | undefined {
    const next = chooseNext(this.#lines, mayHave)
    if (next === undefined) return undefined
    this.remove(next)
    const line = this.#lines.get(next.key)
    if (line !== undefined && this.#lines.delete(next.key)) this.#lines.set(next.key, line)
    return next
  }

  /** There is no place for one more since `newcomer` waits: who has to go? Nobody is taken out. */
  refusedFor(newcomer: Waiter): Waiter {
    return chooseRefused(this.#lines, newcomer)
  }
}
