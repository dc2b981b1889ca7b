import type { Hal0Error } from '../../kernel/errors.ts'
import { SwapList } from '../../kernel/swap-list.ts'
import type { Lease } from '../slots.ts'
import { FairQueue, type Waiter } from './fair-queue.ts'
import { BookedLease, type Grantor, type LeaseGiver } from './lease.ts'
import { LookBook, revokeEach } from './look-book.ts'

/** What the newest lease counts for in the average of how long they last. */
const NEWEST_SHARE = 1 / 8

/**
 * The leases and the queue of one slot: in turn by key, within one first come first served. Belongs to the slot's actor; nobody else touches it.
 * Source: SPEC 1 "lease", 11 "Queues".
 */
export class LeaseBook implements LeaseGiver {
  /** They are no leases: neither counted nor waited for. */
  readonly looks = new LookBook()
  readonly #active = new SwapList<BookedLease>()
  readonly #queue = new FairQueue()
  #arrived = 0
  readonly #onReleased: (lease: BookedLease, isAnswered: boolean) => void
  readonly #nowMs: () => number
  #lastMovedMs = Number.NEGATIVE_INFINITY
  #meanLeaseMs: number | undefined
  hasMoved = false
  /** Monotonic ms at which the last lease ended. */
  lastReleasedMs = Number.NEGATIVE_INFINITY

  /** `nowMs`: monotonic. */
  constructor(nowMs: () => number, onReleased: (lease: BookedLease, isAnswered: boolean) => void) {
    this.#nowMs = nowMs
    this.#onReleased = onReleased
  }

  get inFlight(): number {
    return this.#active.size
  }

  get queued(): number {
    return this.#queue.size
  }

  /** How many have arrived so far: the `nth` of the next one. */
  get arrived(): number {
    return this.#arrived
  }

  /** Monotonic ms at which the oldest waiter came; undefined = nobody waits. */
  get oldestMs(): number | undefined {
    return this.#queue.oldest?.cameMs
  }

  /** How long leases have lasted of late, ms; undefined = none has ended yet. */
  get meanLeaseMs(): number | undefined {
    return this.#meanLeaseMs
  }

  /**
   * Monotonic ms at which an engine last sent something for a lease, at the latest: what came since this was read before counts as of now.
   * It is read every few seconds and written for every chunk, which must cost nothing.
   */
  get lastMovedMs(): number {
    if (this.hasMoved) this.#lastMovedMs = this.#nowMs()
    this.hasMoved = false
    return this.#lastMovedMs
  }

  /** In order of arrival. */
  waiters(): Iterable<Waiter> {
    return this.#queue.all()
  }

  /** Those that want a certain model, in order of arrival. */
  choosyWaiters(): Iterable<Waiter> {
    return this.#queue.choosy()
  }

  enqueue(waiter: Waiter): void {
    waiter.nth = this.#arrived++
    waiter.cameMs = this.#nowMs()
    this.#queue.add(waiter)
  }

  /** False when the waiter has been answered already. */
  withdraw(waiter: Waiter): boolean {
    waiter.stopTimer?.()
    return this.#queue.remove(waiter)
  }

  /** Who has to go, now that the queue has one too many with `newcomer`. It still waits: the caller withdraws it. */
  refusedFor(newcomer: Waiter): Waiter {
    return this.#queue.refusedFor(newcomer)
  }

  /** Gives leases to the waiters that may have one, while the engine has places (`parallel`; null = no end of them). Returns how many were given. */
  grant(grantor: Grantor, parallel: number | null, mayHave: (waiter: Waiter) => boolean): number {
    let granted = 0
    while (this.#queue.size > 0 && (parallel === null || this.#active.size < parallel)) {
      const waiter = this.#queue.takeNext(mayHave)
      if (waiter === undefined) break
      waiter.stopTimer?.()
      waiter.resolve(this.#open(grantor))
      granted++
    }
    return granted
  }

  /** A lease for somebody who comes and need not wait: the caller has seen that nobody waits and that there is a place. */
  openNow(grantor: Grantor): Lease {
    this.#arrived++
    return this.#open(grantor)
  }

  /** Ends every wait, or those that are `meant`, with the same reason. */
  rejectAll(reason: Hal0Error, isMeant: (waiter: Waiter) => boolean = () => true): void {
    for (const waiter of [...this.#queue.all()]) if (isMeant(waiter) && this.withdraw(waiter)) waiter.reject(reason)
  }

  /** Takes every lease back: the holders are told, and the leases no longer count. */
  revokeAll(reason: Hal0Error): void {
    const revoked = this.#active.all()
    this.#active.clear()
    revokeEach(revoked, reason)
  }

  /** Called by a lease; the actor is told by message. */
  released(lease: BookedLease, isAnswered: boolean): void {
    this.#onReleased(lease, isAnswered)
  }

  /** Called by the actor for a lease whose release it was told of. False when it was revoked or released before. */
  close(lease: BookedLease): boolean {
    if (!this.#active.delete(lease)) return false
    const nowMs = this.#nowMs()
    this.lastReleasedMs = nowMs
    const tookMs = nowMs - lease.openedMs
    const meanMs = this.#meanLeaseMs ?? tookMs
    this.#meanLeaseMs = meanMs + (tookMs - meanMs) * NEWEST_SHARE
    return true
  }

  #open(grantor: Grantor): BookedLease {
    const lease = new BookedLease(grantor, this, this.#nowMs())
    this.#active.add(lease)
    return lease
  }
}
