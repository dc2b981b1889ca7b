import { isPinned } from '../../config/slots/rules/is-pinned.ts'
import type { EvictionReason } from '../admission/residents.ts'
import type { ClaimTicket } from './claim-book.ts'
import type { SlotParts } from './slot-parts.ts'

/**
 * What others that need the memory may have of a slot: it decides for itself whether it can go now, or when its requests have ended.
 * Belongs to the slot's actor. Source: SPEC 7 "Eviction candidates", "Pre-load admission".
 */
export class Evictions {
  readonly #partsOf: () => SlotParts

  constructor(partsOf: () => SlotParts) {
    this.#partsOf = partsOf
  }

  /** Nobody uses it, and nothing is to happen to it. */
  get isQuiet(): boolean {
    const { book, claims, drain, life } = this.#partsOf()
    return life.phase.kind === 'up' && book.inFlight === 0 && book.queued === 0 && !drain.isOn && claims.isEmpty
  }

  get isPinned(): boolean {
    const config = this.#partsOf().files.bound?.config
    return config !== undefined && isPinned(config)
  }

  /** Stops it if it is quiet and may go. */
  evict(ticket: ClaimTicket): void {
    const { book, claims, deps, name, stops } = this.#partsOf()
    const mayGo = this.isQuiet && !this.isPinned && deps.managedBy(name) !== 'lane'
    if (!mayGo) return ticket.answer.resolve('refused')
    claims.add(ticket, book.arrived)
    stops.now()
  }

  /** It makes way as soon as it has served those who came before. */
  claim(ticket: ClaimTicket): void {
    const { book, claims, life } = this.#partsOf()
    const { kind } = life.phase
    if (kind === 'down' || (kind === 'loading' && !ticket.untilReady)) return ticket.answer.resolve('refused')
    claims.add(ticket, book.arrived)
    this.review()
  }

  giveUp(ticket: ClaimTicket): void {
    const { claims, waitingRoom } = this.#partsOf()
    if (claims.giveUp(ticket)) waitingRoom.serve()
  }

  /** It has come up: those who wait now are the ones it still serves. */
  cameUp(): void {
    const { book, claims } = this.#partsOf()
    claims.restamp(book.arrived)
  }

  /** Is it time to go? */
  review(): void {
    const { book, claims, life, stops } = this.#partsOf()
    if (claims.isEmpty || life.phase.kind !== 'up' || book.inFlight > 0) return
    // Whoever claims for memory tells itself whom it made go, and for whom.
    if (claims.reason === 'arbiter') this.#tell('arbiter', 'the GPU is needed for images')
    stops.now()
  }

  /** Nobody has asked for it for so long. */
  unloadIdle(reason: string): void {
    this.#tell('idle', reason)
    this.#partsOf().stops.now()
  }

  #tell(reason: EvictionReason, why: string): void {
    const { deps, name } = this.#partsOf()
    const message = `slot ${name} is unloaded: ${why}`
    deps.log.info({ slot: name, reason }, message)
    deps.bus.publish({
      type: 'slot.evicted',
      severity: 'info',
      source: `slot:${name}`,
      message,
      data: { slot: name, reason },
    })
  }
}
