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

/** A running request's pass. */
class Pass implements ArbiterPass {
  readonly loadWaitMs?: number
  readonly #slot: string
  readonly #group: ArbiterMode
  /** Undefined = the request is over. */
  #end: ((slot: string, group: ArbiterMode) => void) | undefined

  constructor(
    slot: string,
    group: ArbiterMode,
    loadWaitMs: number | undefined,
    end: (slot: string, group: ArbiterMode) => void,
  ) {
    if (loadWaitMs !== undefined) this.loadWaitMs = loadWaitMs
    this.#slot = slot
    this.#group = group
    this.#end = end
  }

  leave(): void {
    const end = this.#end
    this.#end = undefined
    end?.(this.#slot, this.#group)
  }
}

/** Requests that wait for their mode, in order of arrival, and those that have its memory. */
export class RequestBook {
  readonly #waiting = new Set<Waiter>()
  readonly #waitingOf: Record<ArbiterMode, number> = { llm: 0, img: 0 }
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
    return this.#waitingOf[group]
  }

  /** Begins at once. */
  begin(slot: string, group: ArbiterMode, loadWaitMs?: number): ArbiterPass {
    const running = this.#running[group]
    running.set(slot, (running.get(slot) ?? 0) + 1)
    return new Pass(slot, group, loadWaitMs, this.#end)
  }

  readonly #end = (slot: string, group: ArbiterMode): void => {
    const running = this.#running[group]
    const left = (running.get(slot) ?? 1) - 1
    if (left === 0) running.delete(slot)
    else running.set(slot, left)
    this.#onLeave(group)
  }

  add(waiter: Waiter): void {
    if (!this.#waiting.has(waiter)) this.#waitingOf[waiter.group]++
    this.#waiting.add(waiter)
  }

  /** False when it has been answered already. */
  withdraw(waiter: Waiter): boolean {
    if (!this.#waiting.delete(waiter)) return false
    this.#waitingOf[waiter.group]--
    return true
  }

  grant(waiter: Waiter, nowMs: number): void {
    if (!this.withdraw(waiter)) return
    const loadWaitMs = waiter.group === 'llm' ? Math.max(0, waiter.untilMs - nowMs) : undefined
    waiter.resolve(this.begin(waiter.slot, waiter.group, loadWaitMs))
  }

  /** It takes no turns any more. */
  free(waiter: Waiter): void {
    if (this.withdraw(waiter)) waiter.resolve(FREE_PASS)
  }

  refuse(waiters: Iterable<Waiter>, errorOf: (waiter: Waiter) => unknown): void {
    for (const waiter of waiters) if (this.withdraw(waiter)) waiter.reject(errorOf(waiter))
  }
}
