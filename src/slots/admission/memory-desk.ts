import type { Capacity } from '../../contract/capacity.ts'
import type { CancelTimer } from '../../kernel/clock.ts'
import { messageOf, toHal0Error } from '../../kernel/errors.ts'
import { MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'
import type { MemoryMeter } from './admission.ts'
import { viewCapacity } from './capacity-view.ts'
import { uncheckedEvent } from './desk-events.ts'
import type { DeskDeps, OpenMemoryDesk } from './desk-ports.ts'
import { EvictionDesk } from './eviction-desk.ts'
import { PromiseBook } from './promise-book.ts'
import { closed, insufficient, stillHeld } from './refusals.ts'
import type { EvictionOutcome, Resident } from './residents.ts'
import type { Decision } from './rules/decide-admission.ts'
import type { MemorySnapshot } from './rules/memory-limits.ts'
import { memoriesOf, type Placed, type PoolReading } from './rules/memory-map.ts'
import { type Move, planRound } from './rules/plan-round.ts'
import { takeSnapshot } from './take-snapshot.ts'
import { type Activity, compareTurns, Ticket } from './ticket.ts'

/** Slots do not tell the desk that they are quiet, nor programs that they have ended: while somebody waits, it looks again. */
const LOOK_MS = 500
/** Where only freed memory has to come back: a load stands still for it. */
const RELEASE_LOOK_MS = 100
/** A stop that does not end must not hold its load for ever: after the wait and this. */
const STUCK_MS = MINUTE_MS

/**
 * The desk at which every load asks for memory. One loop: read what is free, decide for all who wait, act, look again at every change and from
 * time to time; each round decides afresh, so a refused eviction, a changed limit or a program that took memory is only another round.
 * Source: SPEC 7 "Pre-load admission", CASES 13, 16, 17, 22.
 */
export function createMemoryDesk(deps: DeskDeps): OpenMemoryDesk {
  const desk = new Desk(deps)
  return {
    admit: (request) => {
      const ticket = desk.enter(request)
      return ticket.answer.promise
    },
    stopBegins: (stop) => {
      desk.remember(stop)
      const begun = desk.book.stopBegins(stop, () => desk.look())
      // Whoever waits for it waits for something else now.
      desk.look()
      return begun
    },
    capacity: () => desk.capacity(),
    look: () => desk.look(),
    isMoving: () => desk.isMoving(),
    evictForPressure: (slot, heldBytes) => desk.evictForPressure(slot, heldBytes),
    snapshot: (pools) => desk.snapshot(pools),
    close: () => desk.close(),
  }
}

class Desk {
  readonly book: PromiseBook
  readonly #evictions: EvictionDesk
  readonly #deps: DeskDeps
  readonly #tickets = new Set<Ticket>()
  readonly #meter: MemoryMeter
  /** What was last known of what each slot holds. */
  readonly #known = new Map<string, Placed>()
  /** Slot and reason of skipped checks that were told already. */
  readonly #told = new Set<string>()
  #nth = 0
  #isLooking = false
  #again = false
  #isClosed = false
  #cancelLook: CancelTimer | undefined

  constructor(deps: DeskDeps) {
    this.#deps = deps
    this.#meter = {
      read: () =>
        deps.meter.read().catch((cause: unknown) => {
          deps.log.error({ error: messageOf(cause) }, 'free memory could not be read')
          return []
        }),
    }
    this.book = new PromiseBook(
      this.#meter,
      deps.clock,
      () => deps.settings().releaseWaitMs,
      () => this.snapshot([]).holders.filter(({ standing }) => standing !== 'stopping'),
    )
    this.#evictions = new EvictionDesk(deps, () => this.look())
  }

  enter(request: Ticket['request']): Ticket {
    const ticket = new Ticket(request, this.#deps.clock, this.#nth++)
    const { signal } = request
    if (signal.aborted) ticket.answer.reject(signal.reason)
    else if (this.#isClosed) ticket.answer.reject(closed(request.slot))
    else {
      const leave = () => this.#reject(ticket, signal.reason)
      signal.addEventListener('abort', leave, { once: true })
      const forget = () => signal.removeEventListener('abort', leave)
      ticket.answer.promise.then(forget, forget)
      this.#tickets.add(ticket)
      this.look()
    }
    return ticket
  }

  look(): void {
    this.#again = true
    if (this.#isLooking) return
    this.#isLooking = true
    void this.#lookUntilDone()
  }

  snapshot(pools: readonly PoolReading[], residents = this.#deps.residents.list()): MemorySnapshot {
    for (const resident of residents) if (resident.need !== undefined) this.remember(resident)
    return takeSnapshot(pools, residents, {
      known: this.#known,
      promises: this.book.promises,
      waiting: new Set([...this.#tickets].map((ticket) => ticket.slot)),
      evicting: this.#evictions.running,
      refused: this.#evictions.refused(),
    })
  }

  remember({ slot, device, gpus, need }: Placed): void {
    this.#known.set(slot, { slot, device, gpus, need })
  }

  async capacity(): Promise<Capacity> {
    const pools = await this.book.read()
    const residents: readonly Resident[] = this.#deps.residents.list()
    const waiting = [...this.#tickets].toSorted(compareTurns)
    return viewCapacity({
      snapshot: this.snapshot(pools, residents),
      residents,
      waiting: waiting.map(({ request, waitsFor }) => ({ request, waitsFor })),
      promisedOn: (id) => this.book.promisedOn(pools, id),
    })
  }

  async isMoving(): Promise<boolean> {
    const isActing = () =>
      this.#evictions.running.size > 0 ||
      [...this.#tickets].some((ticket) => ticket.hasTurn && (ticket.short.has('host') || ticket.short.size === 0))
    if (isActing()) return true
    const pools = await this.book.read()
    return isActing() || memoriesOf(pools, this.book.releasing(pools)).has('host')
  }

  evictForPressure(slot: string, heldBytes: number | undefined): Promise<EvictionOutcome> {
    return this.#evictions.evict(undefined, { slot, cause: 'pressure', bytes: heldBytes })
  }

  close(): void {
    this.#isClosed = true
    for (const ticket of [...this.#tickets]) this.#reject(ticket, closed(ticket.slot))
  }

  async #lookUntilDone(): Promise<void> {
    while (this.#again) {
      this.#again = false
      this.#cancelLook?.()
      if (this.#tickets.size === 0) continue
      try {
        await this.#round()
      } catch (cause) {
        this.#deps.log.error({ error: messageOf(cause) }, 'the memory desk failed')
        for (const ticket of [...this.#tickets]) this.#reject(ticket, toHal0Error(cause))
      }
    }
    this.#isLooking = false
  }

  async #round(): Promise<void> {
    const pools = await this.book.read()
    const releasing = this.book.releasing(pools)
    // Each load that is let in changes what is left for the others: they are decided again, from what was measured before.
    for (let isChanged = true; isChanged; ) {
      const tickets = [...this.#tickets].toSorted(compareTurns)
      const { groups } = this.#deps.settings()
      const snapshot = this.snapshot(pools)
      const moves = planRound(
        snapshot,
        tickets.map((ticket) => ticket.asker(groups)),
        releasing,
      )
      isChanged = tickets.some((ticket, i) => {
        const move = moves[i]
        return move !== undefined && this.#tickets.has(ticket) && this.#answer(ticket, move, pools)
      })
      if (!isChanged) tickets.forEach((ticket, i) => this.#act(ticket, moves[i]))
    }
    this.#armLook(releasing.size > 0)
  }

  /** Lets in and refuses for good. True = this ticket is answered. */
  #answer(ticket: Ticket, move: Move, pools: readonly PoolReading[]): boolean {
    if (move.kind !== 'act') return false
    const { decision } = move
    if (decision.kind === 'insufficient') {
      this.#log(ticket, decision.reason, decision.kind)
      this.#reject(ticket, insufficient(ticket, decision.shortage))
      return true
    }
    if (decision.kind !== 'admit' && decision.kind !== 'skip') return false
    this.#log(ticket, decision.reason, decision.kind)
    this.#admit(ticket, decision, pools)
    return true
  }

  #admit(ticket: Ticket, decision: Decision, pools: readonly PoolReading[]): void {
    const { slot, device, gpus, need, mode } = ticket.request
    this.#leave(ticket)
    if (decision.kind === 'skip' && mode !== 'off') this.#tellUnchecked(slot, decision.isWarning, decision.reason)
    const unchecked = decision.kind === 'skip' && !decision.isWarning ? 'memory was not checked: ' : ''
    this.remember(ticket.request)
    const promise = this.book.promise({ slot, device, gpus, need }, pools, () => this.look())
    const note = decision.kind === 'skip' ? `${unchecked}${decision.reason}` : ''
    ticket.answer.resolve({ phases: ticket.phases(), note, settle: () => promise.settle() })
  }

  /** Asks others to make way, or not any more; says what it waits for. */
  #act(ticket: Ticket, move: Move | undefined): void {
    if (move === undefined || !this.#tickets.has(ticket)) return
    const { decision } = move
    const { reason, activity } = this.#evictions.carryOut(ticket, move)
    this.#log(ticket, reason, move.kind === 'act' ? decision.kind : move.kind)
    ticket.turnTo(activity)
    ticket.say(reason)
    if (this.#leftMs(ticket, activity) > 0) return
    const waitedMs = this.#deps.clock.monotonicMs() - ticket.arrivedMs
    this.#reject(ticket, stillHeld(ticket, waitedMs))
  }

  #leftMs(ticket: Ticket, activity: Activity): number {
    const graceMs = activity === 'evict' || activity === 'release' ? STUCK_MS : 0
    return ticket.arrivedMs + this.#deps.settings().loadWaitMs + graceMs - this.#deps.clock.monotonicMs()
  }

  #armLook(isReleasing: boolean): void {
    this.#cancelLook?.()
    if (this.#tickets.size === 0) return
    const dueMs = [...this.#tickets].map((ticket) => this.#leftMs(ticket, ticket.activity ?? 'queue'))
    const delayMs = Math.max(1, Math.min(isReleasing ? RELEASE_LOOK_MS : LOOK_MS, ...dueMs))
    this.#cancelLook = this.#deps.clock.setTimer(delayMs, () => this.look())
  }

  #reject(ticket: Ticket, reason: unknown): void {
    if (!this.#leave(ticket)) return
    ticket.answer.reject(reason)
  }

  /** It waits no longer, for whatever reason. False = it did not wait any more. */
  #leave(ticket: Ticket): boolean {
    if (!this.#tickets.delete(ticket)) return false
    ticket.giveUpClaims()
    ticket.say('')
    this.look()
    return true
  }

  #tellUnchecked(slot: string, isWarning: boolean, reason: string): void {
    const key = `${slot}\n${reason}`
    if (!isWarning && this.#told.has(key)) return
    if (!isWarning) this.#told.add(key)
    this.#deps.bus.publish(uncheckedEvent(slot, isWarning ? 'warned' : 'skipped', reason))
  }

  #log(ticket: Ticket, reason: string, decision: string): void {
    if (ticket.reason === reason) return
    ticket.reason = reason
    const waitedS = (this.#deps.clock.monotonicMs() - ticket.arrivedMs) / SECOND_MS
    this.#deps.log.info({ slot: ticket.slot, decision, reason, waited_s: waitedS }, 'memory for a load')
  }
}
