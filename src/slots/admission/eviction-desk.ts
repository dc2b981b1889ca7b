import type { Publisher } from '../../events/bus.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { evictedEvent } from './desk-events.ts'
import type { EvictionOutcome, EvictionReason, Residents } from './residents.ts'
import type { Move } from './rules/plan-round.ts'
import type { Activity, Ticket } from './ticket.ts'

/** For so long the list of residents is not believed about a slot that has just refused to go. */
const REFUSED_MS = 250

/** What a ticket does now, for people and for its phases. */
export interface Doing {
  readonly activity: Activity
  readonly reason: string
}

interface EvictionDeps {
  readonly residents: Residents
  readonly clock: Clock
  readonly log: Log
  readonly bus: Publisher
}

/** Who has to go, and why. `bytes` it holds, undefined = not known. */
interface Leaving {
  readonly slot: string
  readonly cause: EvictionReason
  readonly bytes: number | undefined
}

/** Asks slots to go, and keeps the book on who was asked for whom. `onChange`: somebody is gone, or has refused. */
export class EvictionDesk {
  /** By slot: for which load it is evicted; undefined = for the machine. */
  readonly #evicting = new Map<string, Ticket | undefined>()
  /** `of`: what was refused. Who does not want to be evicted may still be asked to make way when it is no longer busy. */
  readonly #refused = new Map<string, { readonly untilMs: number; readonly of: 'evict' | 'claim' }>()
  readonly #deps: EvictionDeps
  readonly #onChange: () => void

  constructor(deps: EvictionDeps, onChange: () => void) {
    this.#deps = deps
    this.#onChange = onChange
  }

  get running(): ReadonlySet<string> {
    return new Set(this.#evicting.keys())
  }

  refused(): ReadonlySet<string> {
    const nowMs = this.#deps.clock.monotonicMs()
    for (const [slot, { untilMs }] of this.#refused) if (untilMs <= nowMs) this.#refused.delete(slot)
    return new Set(this.#refused.keys())
  }

  /** Brings what is asked for this ticket in line with its move. */
  carryOut(ticket: Ticket, move: Move): Doing {
    const { decision } = move
    const plan = move.kind === 'behind' ? [] : decision.plan
    for (const slot of [...ticket.claims.keys()]) if (!plan.includes(slot)) this.#giveUp(ticket, slot)
    ticket.short = decision.short
    if (move.kind === 'behind') {
      ticket.waitsFor = move.ahead
      return { activity: 'queue', reason: `waits its turn for memory behind ${move.ahead.join(', ')}` }
    }
    if (move.kind === 'release') {
      ticket.waitsFor = []
      return { activity: 'release', reason: 'waits until the memory of a stopped engine is back' }
    }
    ticket.waitsFor = decision.kind === 'hold' ? decision.waitsFor : decision.plan
    if (decision.kind === 'wait') {
      ticket.hasTurn = true
      for (const victim of decision.victims) this.#claim(ticket, victim)
      return { activity: 'drain', reason: decision.reason }
    }
    if (decision.kind === 'evict') {
      ticket.hasTurn = true
      for (const victim of decision.victims) void this.evict(ticket, victim)
      return { activity: 'evict', reason: decision.reason }
    }
    const isMine = decision.plan.some((slot) => ticket.claims.has(slot) || this.#evicting.get(slot) === ticket)
    return { activity: isMine ? 'evict' : 'queue', reason: decision.reason }
  }

  /** `refused` also while somebody else has asked it to go already. */
  async evict(ticket: Ticket | undefined, leaving: Leaving): Promise<EvictionOutcome> {
    const { slot, cause } = leaving
    if (this.#evicting.has(slot)) return 'refused'
    this.#evicting.set(slot, ticket)
    const outcome = await this.#deps.residents.evict(slot, cause)
    this.#evicting.delete(slot)
    this.#ended(ticket, leaving, outcome, 'evict')
    return outcome
  }

  #claim(ticket: Ticket, victim: Leaving): void {
    const { slot, cause } = victim
    if (ticket.claims.has(slot) || this.#refused.get(slot)?.of === 'claim') return
    const claim = this.#deps.residents.claim(slot, cause, { untilReady: true })
    ticket.claims.set(slot, claim)
    void claim.gone.then((outcome) => {
      const isCurrent = ticket.claims.get(slot) === claim
      if (isCurrent) ticket.claims.delete(slot)
      // A claim that was given up is refused by that; one that came too late has evicted all the same.
      if (isCurrent || outcome === 'evicted') this.#ended(ticket, victim, outcome, 'claim')
    })
  }

  #giveUp(ticket: Ticket, slot: string): void {
    const claim = ticket.claims.get(slot)
    ticket.claims.delete(slot)
    claim?.giveUp()
  }

  #ended(ticket: Ticket | undefined, leaving: Leaving, outcome: EvictionOutcome, of: 'evict' | 'claim'): void {
    const { slot, cause, bytes } = leaving
    const facts = { slot, for: ticket?.slot ?? null, reason: cause, held_bytes: bytes ?? null }
    if (outcome === 'refused') {
      this.#deps.log.info(facts, 'a slot that was to make way did not')
      this.#refused.set(slot, { untilMs: this.#deps.clock.monotonicMs() + REFUSED_MS, of })
    } else {
      this.#deps.log.info(facts, 'a slot made way')
      ticket?.evicted.push(slot)
      if (ticket !== undefined) ticket.freedBytes += bytes ?? 0
      this.#deps.bus.publish(evictedEvent({ slot, wantedBy: ticket?.slot, reason: cause, heldBytes: bytes }))
    }
    this.#onChange()
  }
}
