import { Hal0Error } from '../kernel/errors.ts'
import { SECOND_MS } from '../kernel/units.ts'
import { remadeSoonError } from '../slots/slot-failures.ts'
import type { Lease, Slots } from '../slots/slots.ts'
import { sendError } from './answer.ts'
import type { Doorkeeper } from './arbitrated-lease.ts'
import { type ArbitratedLease, acquireArbitrated, leaseArbitratedNow } from './arbitrated-lease.ts'
import type { Exchange } from './exchange.ts'
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
}

/** Which slot a request is for, and how long it waits for it. */
export interface SlotTarget {
  readonly slot: string
  /** The slot has to have this model: it is the one on demand. */
  readonly onDemandModel: string | undefined
  /** For a load, ms. */
  readonly waitMs: number
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

/** An engine may be gone whenever a request comes to it; one that keeps dying is given up after so many. */
const MAX_LEASES = 5

/**
 * Leases the slot and sends. A slot that is up costs no wait and no promise. An engine that is gone before it has read its request costs
 * another lease, within the same wait. `done` gets the Hal0Error for the client, CLIENT_GONE, or nothing when the client was answered.
 */
export function sendToSlot(
  exchange: Exchange,
  target: SlotTarget,
  deps: SlotDeps,
  send: SendLeased,
  done: Served,
): void {
  new Sending(exchange, target, deps, send, done).next()
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

  constructor(exchange: Exchange, target: SlotTarget, deps: SlotDeps, send: SendLeased, done: Served) {
    this.#exchange = exchange
    this.#target = target
    this.#deps = deps
    this.#send = send
    this.#done = done
    this.#begunMs = deps.clock.monotonicMs()
  }

  next(): void {
    const { slots, arbiter } = this.#deps
    const { slot, onDemandModel } = this.#target
    this.#nth++
    const held = leaseArbitratedNow(slots, arbiter, slot, onDemandModel)
    if (held !== undefined) this.#use(held)
    else void this.#wait().catch((failure: unknown) => this.#done(failure))
  }

  #use(held: ArbitratedLease): void {
    this.#held = held
    try {
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
    if (failure !== undefined) return this.#done(failure)
    if (outcome === 'over') return this.#done()
    const { endReason } = this.#exchange
    if (endReason !== undefined) return this.#done(endReason)
    this.next()
  }

  async #wait(): Promise<void> {
    const exchange = this.#exchange
    const { slot, onDemandModel, waitMs: wholeMs } = this.#target
    const { slots, onDemand, arbiter, settings, clock } = this.#deps
    const phasesBefore = slots.phases(slot)
    const { signal } = exchange
    let held: ArbitratedLease
    try {
      if (onDemandModel !== undefined) await onDemand.ensure()
      const spentMs = this.#nth === 1 ? 0 : clock.monotonicMs() - this.#begunMs
      const waitMs = Math.max(0, wholeMs - spentMs)
      const isWholeWait = waitMs === settings.loadWaitS * SECOND_MS
      const modelId = onDemandModel === undefined ? {} : { modelId: onDemandModel }
      held = await acquireArbitrated(slots, arbiter, slot, {
        signal,
        waitMs,
        isWholeWait,
        key: exchange.queueKey,
        ...modelId,
      })
    } catch (thrown) {
      if (exchange.endReason !== undefined) return this.#done(exchange.endReason)
      if (!(thrown instanceof Hal0Error)) throw thrown
      // What goes with the on-demand slot comes back with it; the model that was asked for is still there.
      const isRemade = onDemandModel !== undefined && thrown.code === 'slot.not_found'
      const { error, status } = publicSlotError(isRemade ? remadeSoonError(slot) : thrown, slot)
      sendError(exchange, error, { status })
      return this.#done()
    }
    // It left at the very moment the lease came.
    if (exchange.endReason !== undefined) {
      held.lease.release()
      held.pass?.leave()
      return this.#done(exchange.endReason)
    }
    const phases = slots.phases(slot)
    // A load was completed while this request waited: the record is another one, even if it says the same.
    if (phases !== null && phases !== phasesBefore && !exchange.res.headersSent) {
      exchange.setHeader('Server-Timing', serverTiming(phases))
    }
    this.#use(held)
  }
}
