import type { EvictionOutcome, EvictionReason } from '../admission/residents.ts'
import type { Deferred } from './deferred.ts'

/** Somebody who needs this slot's memory as soon as its requests have ended. */
export interface ClaimTicket {
  readonly reason: EvictionReason
  readonly untilReady: boolean
  readonly answer: Deferred<EvictionOutcome>
}

/**
 * The claims on one slot, and whom it still serves: requests that came before the first of them. Belongs to the slot's actor.
 * Source: SPEC 7 "from its turn on the chosen victims admit no new lease".
 */
export class ClaimBook {
  /** Each with how many requests had arrived when it was made. */
  readonly #open = new Map<ClaimTicket, number>()

  get isEmpty(): boolean {
    return this.#open.size === 0
  }

  add(ticket: ClaimTicket, arrivedBefore: number): void {
    this.#open.set(ticket, arrivedBefore)
  }

  /** Everything that has arrived by now is still served. */
  restamp(arrived: number): void {
    for (const ticket of this.#open.keys()) this.#open.set(ticket, arrived)
  }

  /** False when it has been answered already. */
  giveUp(ticket: ClaimTicket): boolean {
    if (!this.#open.delete(ticket)) return false
    ticket.answer.resolve('refused')
    return true
  }

  /** May a request that arrived as the `nth` still be served? */
  mayServe(nth: number): boolean {
    for (const arrivedBefore of this.#open.values()) if (nth >= arrivedBefore) return false
    return true
  }

  /** Nothing of the slot's process is left. */
  gone(): void {
    const tickets = [...this.#open.keys()]
    this.#open.clear()
    for (const { answer } of tickets) answer.resolve('evicted')
  }

  /** Those that do not want a slot which is only about to come up. */
  refuse(isMeant: (ticket: ClaimTicket) => boolean): void {
    for (const ticket of [...this.#open.keys()]) if (isMeant(ticket)) this.giveUp(ticket)
  }

  /** Why it is to go, for whoever is told. */
  get reason(): EvictionReason | undefined {
    const [first] = this.#open.keys()
    return first?.reason
  }
}
