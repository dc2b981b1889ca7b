import type { Hal0Error } from '../../kernel/errors.ts'
import type { EngineEndpoint, Lease } from '../slots.ts'

/** A request that waits for the slot: for a load, or for a place at the engine. */
export interface Waiter {
  /** Ends the wait with a lease or an error; the book calls one of them once. */
  resolve(lease: Lease): void
  reject(reason: unknown): void
  readonly waitMs: number
  /** The model that must be loaded; undefined = whatever the slot has. */
  readonly modelId?: string | undefined
  /** Its place in the order of arrival; set by the book. */
  nth?: number
  /** Monotonic ms at which it came; set by the book. */
  cameMs?: number
  /** Cancels the timer that bounds the wait for a load. */
  stopTimer?: (() => void) | undefined
}

/** Who grants leases: the engine that is up. */
export interface Grantor {
  readonly slot: string
  readonly attemptId: string
  readonly endpoint: EngineEndpoint
  /** Leases at once; null = the engine queues for itself. */
  readonly parallel: number | null
}

/**
 * The leases and the queue of one slot, first come first served. Belongs to the slot's actor; nobody else touches it.
 * Source: SPEC 1 "lease", 11 "Queues".
 */
export class LeaseBook {
  readonly #active = new Map<Lease, AbortController>()
  readonly #waiting = new Set<Waiter>()
  /** Those of them that want a certain model; nearly always none. */
  readonly #choosy = new Set<Waiter>()
  #arrived = 0
  readonly #onReleased: (lease: Lease, isAnswered: boolean) => void
  readonly #nowMs: () => number
  /** Monotonic ms at which an engine last sent something for a lease. */
  lastMovedMs = Number.NEGATIVE_INFINITY
  /** Monotonic ms at which the last lease ended. */
  lastReleasedMs = Number.NEGATIVE_INFINITY

  /** `nowMs`: monotonic. */
  constructor(nowMs: () => number, onReleased: (lease: Lease, isAnswered: boolean) => void) {
    this.#nowMs = nowMs
    this.#onReleased = onReleased
  }

  get inFlight(): number {
    return this.#active.size
  }

  get queued(): number {
    return this.#waiting.size
  }

  /** How many have arrived so far: the `nth` of the next one. */
  get arrived(): number {
    return this.#arrived
  }

  /** Monotonic ms at which the oldest waiter came; undefined = nobody waits. */
  get oldestMs(): number | undefined {
    const [oldest] = this.#waiting
    return oldest?.cameMs
  }

  /** In order of arrival. */
  waiters(): Iterable<Waiter> {
    return this.#waiting
  }

  /** Those that want a certain model, in order of arrival. */
  choosyWaiters(): Iterable<Waiter> {
    return this.#choosy
  }

  enqueue(waiter: Waiter): void {
    waiter.nth = this.#arrived++
    waiter.cameMs = this.#nowMs()
    this.#waiting.add(waiter)
    if (waiter.modelId !== undefined) this.#choosy.add(waiter)
  }

  /** False when the waiter has been answered already. */
  withdraw(waiter: Waiter): boolean {
    waiter.stopTimer?.()
    this.#choosy.delete(waiter)
    return this.#waiting.delete(waiter)
  }

  /** Gives leases to the waiters that may have one, oldest first, while the engine has places. Returns how many were given. */
  grant(grantor: Grantor, mayHave: (waiter: Waiter) => boolean): number {
    let granted = 0
    for (const waiter of this.#waiting) {
      if (!mayHave(waiter)) continue
      if (grantor.parallel !== null && this.#active.size >= grantor.parallel) break
      this.withdraw(waiter)
      waiter.resolve(this.#open(grantor))
      granted++
    }
    return granted
  }

  /** Ends every wait, or those that are `meant`, with the same reason. */
  rejectAll(reason: Hal0Error, isMeant: (waiter: Waiter) => boolean = () => true): void {
    for (const waiter of [...this.#waiting]) if (isMeant(waiter) && this.withdraw(waiter)) waiter.reject(reason)
  }

  /** Takes every lease back: the holders' signals abort, and the leases no longer count. */
  revokeAll(reason: Hal0Error): void {
    const revoked = [...this.#active.values()]
    this.#active.clear()
    for (const controller of revoked) controller.abort(reason)
  }

  /** Called by the actor for a lease whose release it was told of. False when it was revoked or released before. */
  close(lease: Lease): boolean {
    const isOpen = this.#active.delete(lease)
    if (isOpen) this.lastReleasedMs = this.#nowMs()
    return isOpen
  }

  #open({ slot, attemptId, endpoint }: Grantor): Lease {
    const controller = new AbortController()
    const lease: Lease = {
      slot,
      attemptId,
      endpoint,
      revoked: controller.signal,
      moved: () => {
        this.lastMovedMs = this.#nowMs()
      },
      release: (outcome) => this.#onReleased(lease, outcome === 'answered'),
    }
    this.#active.set(lease, controller)
    return lease
  }
}
