import { Hal0Error } from '../kernel/errors.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { LaneDoor, LaneStay } from '../lanes/lane-door.ts'
import { remadeSoonError } from '../slots/slot-failures.ts'
import type { Lease, Slots } from '../slots/slots.ts'
import { sendError } from './answer.ts'
import type { Doorkeeper } from './arbitrated-lease.ts'
import { type ArbitratedLease, acquireArbitrated, leaseArbitratedNow } from './arbitrated-lease.ts'
import type { Exchange } from './exchange.ts'
import { enterLane } from './lane-entry.ts'
import type { RelayDeps, RelayOutcome } from './relay-ports.ts'
import { publicSlotError } from './rules/public-error.ts'
import { serverTiming } from './rules/server-timing.ts'

/** The slot that serves registered models which no slot binds. Source: SPEC 11 "Resolution" 3. */
export interface OnDemandSlot {
  /** Makes `[dispatcher] on_demand_slot` where it does not exist yet. Rejects with a Hal0Error. */
  ensure(): Promise<void>
}

export interface SlotDeps extends RelayDeps {
  readonly slots: Slots
  readonly onDemand: OnDemandSlot
  /** Undefined = nothing is arbitrated. */
  readonly arbiter?: Doorkeeper | undefined
  /** Undefined = there are no lanes. */
  readonly lanes?: LaneDoor | undefined
}

/** Which slot a request is for, and how long it waits for it. */
export interface SlotTarget {
  readonly slot: string
  /** The slot has to have this model: it is the one on demand. */
  readonly onDemandModel: string | undefined
  /** For a load, ms; nobody waits for the load of a lane. */
  readonly waitMs: number
  /** The name that was asked for; absent = none, or nobody looked. */
  readonly model?: string | undefined
}

/** `failure`: what is still to be told to the client. */
export type Sent = (outcome: RelayOutcome, failure?: unknown) => void

/**
 * Has the request answered under this lease, releases it, and calls back once; never throws. `mayComeAgain`: it may be left unread, for
 * another lease.
 */
export type SendLeased = (lease: Lease, mayComeAgain: boolean, done: Sent) => void

/** Nothing more is to be done for the request: it was answered, or `failure` is what is still to be told. */
export type Served = (failure?: unknown) => void

/** An engine is given a request only on a word of the guard that is younger, or that was said after all waiting. */
const ADMITTED_FOR_MS = SECOND_MS
/** An engine may be gone whenever a request comes to it; one that keeps dying is given up after so many. */
const MAX_LEASES = 5

/**
 * Leases the slot and sends. A slot that is up costs no wait and no promise. An engine that is gone before it has read its request costs
 * another lease, within the same wait. A lane is entered before, and left when all is over. `done` gets the Hal0Error for the client,
 * CLIENT_GONE, or nothing when the client was answered.
 */
export function sendToSlot(
  exchange: Exchange,
  target: SlotTarget,
  deps: SlotDeps,
  send: SendLeased,
  done: Served,
): void {
  new Sending(exchange, target, deps, send, done).start()
}

/** The same for those who wait anyway. Rejects with what `done` would get. */
export function sendToSlotAndWait(
  exchange: Exchange,
  target: SlotTarget,
  deps: SlotDeps,
  send: SendLeased,
): Promise<void> {
  return new Promise((resolve, reject) => {
    sendToSlot(exchange, target, deps, send, (failure) => (failure === undefined ? resolve() : reject(failure)))
  })
}

class Sending {
  readonly #exchange: Exchange
  readonly #target: SlotTarget
  readonly #deps: SlotDeps
  readonly #send: SendLeased
  readonly #done: Served
  readonly #begunMs: number
  #nth = 0
  #held: ArbitratedLease | undefined
  /** Undefined = the slot is no lane's, or it was left. */
  #stay: LaneStay | undefined
  #isFallbackTold = false

  constructor(exchange: Exchange, target: SlotTarget, deps: SlotDeps, send: SendLeased, done: Served) {
    this.#exchange = exchange
    this.#target = target
    this.#deps = deps
    this.#send = send
    this.#done = done
    this.#begunMs = deps.clock.monotonicMs()
  }

  start(): void {
    const stay = enterLane(this.#exchange, this.#deps.lanes, this.#target.slot)
    if (stay instanceof Hal0Error) return this.#done(stay)
    this.#stay = stay
    if (stay !== undefined) this.#exchange.facts.reservationId = stay.reservationId
    this.#next()
  }

  #next(): void {
    const { slot, onDemandModel } = this.#target
    this.#nth++
    let held: ArbitratedLease | undefined
    try {
      held = leaseArbitratedNow(this.#deps.slots, this.#arbiter, slot, onDemandModel)
    } catch (thrown) {
      return this.#end(thrown)
    }
    if (held !== undefined) this.#use(held, this.#exchange.ageMs >= ADMITTED_FOR_MS)
    else void this.#wait().catch((failure: unknown) => this.#end(failure))
  }

  /** Nothing but its timetable moves a lane. Source: SPEC 12. */
  get #arbiter(): Doorkeeper | undefined {
    return this.#stay === undefined ? this.#deps.arbiter : undefined
  }

  #use(held: ArbitratedLease, hasWaited: boolean): void {
    this.#held = held
    try {
      // Its turn may have come under another answer than its arrival.
      const refusal = (hasWaited ? this.#exchange.refusalNow() : undefined) ?? this.#stay?.leased()
      if (refusal !== undefined) {
        held.lease.release()
        return this.#onSent('over', refusal)
      }
      if (this.#stay !== undefined) this.#noteStay(this.#stay)
      this.#send(held.lease, this.#nth < MAX_LEASES, this.#onSent)
    } catch (thrown) {
      held.lease.release()
      this.#onSent('over', thrown)
    }
  }

  readonly #onSent: Sent = (outcome, failure) => {
    if (this.#held === undefined) return
    this.#held.pass?.leave()
    this.#held = undefined
    if (failure !== undefined) return this.#end(failure)
    if (outcome === 'over') return this.#end()
    this.#stay?.waits()
    const { endReason } = this.#exchange
    if (endReason !== undefined) return this.#end(endReason)
    this.#next()
  }

  /** Every end of a request that entered goes through here. */
  #end(failure?: unknown): void {
    const stay = this.#stay
    this.#stay = undefined
    stay?.leave()
    this.#done(failure)
  }

  #noteStay({ reservationId }: LaneStay): void {
    const { slots, lanes } = this.#deps
    const { slot, model } = this.#target
    // While it waited one booking may have followed another.
    this.#exchange.facts.reservationId = reservationId
    if (this.#isFallbackTold || lanes?.isFallback(slot) !== true) return
    // Who names the default gets what they ask for.
    if (model !== undefined && slots.views().find(({ name }) => name === slot)?.model_id === model) return
    this.#isFallbackTold = true
    this.#exchange.setHeader('X-Hal0-Route', 'lane-fallback')
  }

  /** The slot of a lane cannot be had, and the access list says in people's words why; undefined = it would let the request in. */
  #askAgain(): Hal0Error | undefined {
    if (this.#stay === undefined) return undefined
    this.#stay.leave()
    this.#stay = undefined
    const again = enterLane(this.#exchange, this.#deps.lanes, this.#target.slot)
    if (again instanceof Hal0Error) return again
    again?.leave()
    return undefined
  }

  async #wait(): Promise<void> {
    const exchange = this.#exchange
    const { slot, onDemandModel, waitMs: wholeMs } = this.#target
    const { slots, onDemand, settings, clock } = this.#deps
    const phasesBefore = slots.phases(slot)
    const { signal } = exchange
    let held: ArbitratedLease
    try {
      if (onDemandModel !== undefined) await onDemand.ensure()
      const spentMs = this.#nth === 1 ? 0 : clock.monotonicMs() - this.#begunMs
      const waitMs = this.#stay === undefined ? Math.max(0, wholeMs - spentMs) : 0
      const isWholeWait = waitMs === settings.loadWaitS * SECOND_MS
      const modelId = onDemandModel === undefined ? {} : { modelId: onDemandModel }
      held = await acquireArbitrated(slots, this.#arbiter, slot, {
        signal,
        waitMs,
        isWholeWait,
        key: exchange.queueKey,
        ...modelId,
      })
    } catch (thrown) {
      if (exchange.endReason !== undefined) return this.#end(exchange.endReason)
      if (!(thrown instanceof Hal0Error)) throw thrown
      const refusal = this.#askAgain()
      if (refusal !== undefined) return this.#end(refusal)
      // What goes with the on-demand slot comes back with it; the model that was asked for is still there.
      const isRemade = onDemandModel !== undefined && thrown.code === 'slot.not_found'
      const { error, status } = publicSlotError(isRemade ? remadeSoonError(slot) : thrown, slot)
      sendError(exchange, error, { status })
      return this.#end()
    }
    // It left at the very moment the lease came.
    if (exchange.endReason !== undefined) {
      held.lease.release()
      held.pass?.leave()
      return this.#end(exchange.endReason)
    }
    const phases = slots.phases(slot)
    // A load was completed while this request waited: the record is another one, even if it says the same.
    if (phases !== null && phases !== phasesBefore && !exchange.res.headersSent) {
      exchange.setHeader('Server-Timing', serverTiming(phases))
    }
    this.#use(held, true)
  }
}
