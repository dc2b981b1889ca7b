import type { ArbiterMode, ArbiterPass } from './ports.ts'

/** A request that waits for its mode. */
export interface Waiter {
  readonly slot: string
  readonly group: ArbiterMode
  /** It waits no longer than until then. Monotonic ms. */
  readonly untilMs: number
  readonly resolve: (pass: ArbiterPass) => void
  readonly reject: (reason: unknown) => void
}

/** The pass of a slot that takes no turns. */
export const FREE_PASS: ArbiterPass = { leave: () => {} }

/** Requests that wait for their mode, in order of arrival, and those that have its memory. */
export class RequestBook {
  readonly #waiting = new Set<Waiter>()
  /** Running requests by slot. */
  readonly #running: Record<ArbiterMode, Map<string, number>> = { llm: new Map(), img: new Map() }
  readonly #onLeave: (group: ArbiterMode) => void

  constructor(onLeave: (group: ArbiterMode) => void) {
    this.#onLeave = onLeave
  }

  running(group: ArbiterMode): number {
    let sum = 0
    for (const count of this.#running[group].values()) sum += count
    return sum
  }

  /** Slots with running requests of the group. */
  busySlots(group: ArbiterMode): readonly string[] {
    return [...this.#running[group].keys()]
  }

  /** Those of one group, oldest first. */
  waiters(group: ArbiterMode): readonly Waiter[] {
    return [...this.#waiting].filter((waiter) => waiter.group === group)
  }

  countWaiting(group: ArbiterMode): number {
    let count = 0
    for (const waiter of this.#waiting) if (waiter.group === group) count++
    return count
  }

  /** Begins at once. */
  begin(slot: string, group: ArbiterMode, loadWaitMs?: number): ArbiterPass {
    const running = this.#running[group]
    running.set(slot, (running.get(slot) ?? 0) + 1)
    let isOver = false
    const leave = () => {
      if (isOver) return
      isOver = true
      const left = (running.get(slot) ?? 1) - 1
      if (left === 0) running.delete(slot)
      else running.set(slot, left)
      this.#onLeave(group)
    }
    return loadWaitMs === undefined ? { leave } : { leave, loadWaitMs }
  }

  add(waiter: Waiter): void {
    this.#waiting.add(waiter)
  }

  /** False when it has been answered already. */
  withdraw(waiter: Waiter): boolean {
    return this.#waiting.delete(waiter)
  }

  grant(waiter: Waiter, nowMs: number): void {
    if (!this.#waiting.delete(waiter)) return
    const loadWaitMs = waiter.group === 'llm' ? Math.max(0, waiter.untilMs - nowMs) : undefined
    waiter.resolve(this.begin(waiter.slot, waiter.group, loadWaitMs))
  }

  /** It takes no turns any more. */
  free(waiter: Waiter): void {
    if (this.#waiting.delete(waiter)) waiter.resolve(FREE_PASS)
  }

  refuse(waiters: Iterable<Waiter>, errorOf: (waiter: Waiter) => unknown): void {
    for (const waiter of waiters) if (this.#waiting.delete(waiter)) waiter.reject(errorOf(waiter))
  }
}
