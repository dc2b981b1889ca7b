import { isPinned } from '../../config/slots/rules/is-pinned.ts'
import { announce } from '../../events/announce.ts'
import { EVICTED_EVENT, type EvictionReason } from '../admission/residents.ts'
import type { ClaimTicket } from './claim-book.ts'
import type { SlotParts } from './slot-parts.ts'

/** For the row of a slot that is off: nobody asked for that, so it says why. */
const WHY: Readonly<Record<EvictionReason, string>> = {
  preload: 'made room for another slot',
  group: 'made way for another slot of its group',
  pressure: 'unloaded because main memory was short',
  idle: 'unloaded',
  arbiter: 'made room for images',
}

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

  /** Monotonic ms of the end of its last lease, or of its becoming ready, whichever is later. */
  get lastUsedMs(): number {
    const { book, life } = this.#partsOf()
    const readySinceMs = life.phase.kind === 'up' ? life.phase.readySinceMs : undefined
    return Math.max(book.lastReleasedMs, readySinceMs ?? Number.NEGATIVE_INFINITY)
  }

  get isPinned(): boolean {
    const config = this.#partsOf().files.bound?.config
    return config !== undefined && isPinned(config)
  }

  /** Stops it if it is quiet and may go. */
  evict(ticket: ClaimTicket): void {
    const { book, claims, isLanes, stops } = this.#partsOf()
    const mayGo = this.isQuiet && !this.isPinned && !isLanes()
    if (!mayGo) return ticket.answer.resolve('refused')
    claims.add(ticket, book.arrived)
    stops.now(WHY[ticket.reason])
  }

  /** It makes way as soon as it has served those who came before. */
  claim(ticket: ClaimTicket): void {
    const { book, claims, isLanes, life } = this.#partsOf()
    const { kind } = life.phase
    if (isLanes() || kind === 'down' || (kind === 'loading' && !ticket.untilReady))
      return ticket.answer.resolve('refused')
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
    const { reason = 'preload' } = claims
    if (reason === 'arbiter') this.#tell(reason, WHY[reason])
    stops.now(WHY[reason])
  }

  /** Nobody has asked for it for so long. */
  unloadIdle(reason: string): void {
    this.#tell('idle', reason)
    this.#partsOf().stops.now(`${WHY.idle}: ${reason}`)
  }

  #tell(reason: EvictionReason, why: string): void {
    const { deps, name } = this.#partsOf()
    const message = `slot ${name} is unloaded: ${why}`
    const data = { slot: name, reason }
    announce(deps, { type: EVICTED_EVENT, severity: 'info', source: `slot:${name}`, message, data })
  }
}
