import type { Hal0Error } from '../../kernel/errors.ts'
import type { Placed } from '../../kernel/swap-list.ts'
import type { EngineEndpoint, Lease } from '../slots.ts'

/** Who grants leases: the engine that is up. One object for all leases of one engine, as long as its endpoint stays the same. */
export interface Grantor {
  readonly slot: string
  readonly attemptId: string
  readonly endpoint: EngineEndpoint
}

/** What a lease tells whoever gave it. */
export interface LeaseGiver {
  /** An engine has sent something for a lease. */
  hasMoved: boolean
  released(lease: BookedLease, isAnswered: boolean): void
}

/** A lease of a slot's book. Thousands are open at once: it holds nothing of its own that only few ask for. Source: SPEC 1 "lease". */
export class BookedLease implements Lease, Placed {
  place = -1
  /** Monotonic ms at which it was given. */
  readonly openedMs: number
  readonly #grantor: Grantor
  readonly #giver: LeaseGiver
  #revokedFor: Hal0Error | undefined
  #listener: ((reason: Hal0Error) => void) | undefined
  #controller: AbortController | undefined

  constructor(grantor: Grantor, giver: LeaseGiver, openedMs: number) {
    this.openedMs = openedMs
    this.#grantor = grantor
    this.#giver = giver
  }

  get slot(): string {
    return this.#grantor.slot
  }

  get attemptId(): string {
    return this.#grantor.attemptId
  }

  get endpoint(): EngineEndpoint {
    return this.#grantor.endpoint
  }

  get revokedFor(): Hal0Error | undefined {
    return this.#revokedFor
  }

  get revoked(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#revokedFor !== undefined) this.#controller.abort(this.#revokedFor)
    return this.#controller.signal
  }

  onRevoked(listener: ((reason: Hal0Error) => void) | undefined): void {
    if (this.#revokedFor === undefined) this.#listener = listener
    else listener?.(this.#revokedFor)
  }

  moved(): void {
    this.#giver.hasMoved = true
  }

  release(outcome?: 'answered'): void {
    this.#giver.released(this, outcome === 'answered')
  }

  /** The slot has to stop: the holder is told, once. Called by the book, for which the lease is over. */
  revoke(reason: Hal0Error): void {
    if (this.#revokedFor !== undefined) return
    this.#revokedFor = reason
    const listener = this.#listener
    this.#listener = undefined
    this.#controller?.abort(reason)
    listener?.(reason)
  }
}
