import type { Dispatcher } from 'undici'
import { errorBody } from '../contract/error-body.ts'
import type { CancelTimer, Clock } from '../kernel/clock.ts'
import { type Hal0Error, toHal0Error } from '../kernel/errors.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { Lease } from '../slots/slots.ts'
import { noteFailure, sendError } from './answer.ts'
import { type AnswerEnd, AnswerWriter } from './answer-writer.ts'
import { CUT_OFF, type EngineConnection, type EnginePools, isReset } from './engine-pool.ts'
import type { Exchange } from './exchange.ts'
import { CLIENT_GONE } from './exchange.ts'
import { brokenAnswerError, lostError, stalledError } from './relay-errors.ts'
import type { HeaderBag } from './rules/headers.ts'
import { wrapEngineError } from './rules/wrap-engine-error.ts'
import type { GatewaySettings } from './settings.ts'
import { createStallGuard, type StallGuard } from './stall-guard.ts'

/** What goes to the engine, ready to be written. */
export interface EngineRequest {
  readonly path: string
  readonly headers: Record<string, string | string[]>
  readonly body: Buffer
  /** The client asked for a stream. */
  readonly stream: boolean
  /** `model` in the answer. */
  readonly askedName: string
  /** May it be left unanswered when it did not reach the engine? Otherwise the client is told. */
  readonly mayComeAgain: boolean
}

export interface RelayDeps {
  readonly pools: EnginePools
  readonly settings: GatewaySettings
  readonly clock: Clock
}

/** `unsent`: the request did not reach the engine and the client has been told nothing; only with `mayComeAgain`. */
export type RelayOutcome = 'over' | 'unsent'

/**
 * The death of an engine is told twice, by its connections and by its slot. Who hears it from one waits so long for the other: the slot must
 * know before it is asked for another lease.
 */
const DEATH_NEWS_MS = 250

/**
 * Sends one request to the leased engine and its answer to the client. Resolves when the engine works on it no more and the lease
 * is released; never rejects: whatever goes wrong is told to the client. Source: SPEC 11 "Streaming", "Retries"; SPEC 4 (revoked leases).
 */
export function relay(
  exchange: Exchange,
  lease: Lease,
  request: EngineRequest,
  deps: RelayDeps,
): Promise<RelayOutcome> {
  return new Promise((resolve) => new Relay(exchange, lease, request, deps, resolve).start())
}

/** The life of one request at one engine. Every end goes through `#finish`, once. */
class Relay implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange
  readonly #lease: Lease
  readonly #request: EngineRequest
  readonly #deps: RelayDeps
  readonly #resolve: (outcome: RelayOutcome) => void
  readonly #guard: StallGuard
  readonly #writer: AnswerWriter
  #connection: EngineConnection
  /** Set once the request is being written. */
  #controller: Dispatcher.DispatchController | undefined
  #answerBegan = false
  #retried = false
  /** Refused, and waiting for the news of the engine's death, or the other way round. */
  #cancelWait: CancelTimer | undefined
  #isRefused = false
  /** The client is gone, but this engine must not be cut off: its answer is read and thrown away. */
  #discarding = false
  #isOver = false

  constructor(
    exchange: Exchange,
    lease: Lease,
    request: EngineRequest,
    deps: RelayDeps,
    resolve: (outcome: RelayOutcome) => void,
  ) {
    this.#exchange = exchange
    this.#lease = lease
    this.#request = request
    this.#deps = deps
    this.#resolve = resolve
    const { settings, clock, pools } = deps
    this.#guard = createStallGuard(clock, settings.stallS * SECOND_MS, () =>
      this.#lose(stalledError(lease.slot, settings.stallS)),
    )
    this.#writer = new AnswerWriter(exchange, {
      askedName: request.askedName,
      aliasIsAsked: request.askedName === lease.endpoint.alias,
      clientStallMs: settings.clientStallS * SECOND_MS,
      onHold: () => {
        this.#controller?.pause()
        this.#guard.hold()
      },
      onGo: () => {
        this.#guard.go()
        this.#controller?.resume()
      },
    })
    this.#connection = pools.take(lease)
  }

  start(): void {
    const { signal } = this.#exchange
    const { revoked } = this.#lease
    signal.addEventListener('abort', this.#onEnding)
    revoked.addEventListener('abort', this.#onRevoked)
    if (signal.aborted) return this.#onEnding()
    if (revoked.aborted) return this.#onRevoked()
    this.#dispatch()
  }

  #dispatch(): void {
    const { path, headers, body, stream } = this.#request
    // llama-server closes after a stream although it promised keep-alive, so a connection serves one stream only.
    this.#connection.client.dispatch({ method: 'POST', path, headers, body, ...(stream ? { reset: true } : {}) }, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) return controller.abort(CUT_OFF)
    this.#controller = controller
    this.#connection.markSent(this.#deps.clock.monotonicMs())
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: HeaderBag): void {
    if (this.#isOver || status < 200) return
    this.#controller = controller
    this.#answerBegan = true
    if (!this.#discarding) this.#writer.begin(status, headers)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return
    this.#guard.seen()
    if (this.#discarding || this.#writer.push(chunk)) return
    this.#conclude(this.#writer.end(), 'discard')
  }

  onResponseEnd(): void {
    if (this.#isOver) return
    const next = this.#request.stream || this.#writer.isEventStream ? 'discard' : 'reuse'
    if (this.#discarding) this.#finish(next)
    else this.#conclude(this.#writer.end(), next)
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#isOver) return
    if (this.#answerBegan) {
      if (this.#writer.isError && !this.#discarding) return this.#conclude(this.#writer.end(), 'discard')
      return this.#lose(lostError(this.#lease.slot, 'in_answer', error))
    }
    if (this.#controller === undefined) return this.#onRefused(error)
    // Behind a race: the connections of a dying engine end one after the other, and its backlog last.
    if (this.#retried && isReset(error)) return this.#onRefused(error)
    if (!this.#retried && this.#connection.wasKeepAliveRace(error, this.#deps.clock.monotonicMs())) {
      return this.#sendAfresh()
    }
    this.#lose(lostError(this.#lease.slot, 'sent', error))
  }

  /** The connection was closing as the request was written: once more, on one of which the engine knows nothing yet. */
  #sendAfresh(): void {
    this.#retried = true
    this.#controller = undefined
    this.#cancelWait?.()
    this.#cancelWait = undefined
    if (this.#lease.revoked.aborted) return this.#onRevoked()
    const { pools } = this.#deps
    void pools.discard(this.#connection)
    this.#connection = pools.take(this.#lease, { fresh: true })
    this.#dispatch()
  }

  /** Nothing was sent, or the kernel says that it was not read. Whether the engine is dead is for the slot to say. */
  #onRefused(error: Error): void {
    const wasSent = this.#controller !== undefined
    const lost = () => this.#lose(lostError(this.#lease.slot, wasSent ? 'sent' : 'refused', error))
    if (!this.#request.mayComeAgain || this.#discarding) return lost()
    this.#isRefused = true
    if (this.#lease.revoked.aborted) return this.#onRevoked()
    // An engine that lives on after a reset may have meant it.
    const go = wasSent ? lost : () => this.#finish('discard', 'unsent')
    this.#cancelWait = this.#deps.clock.setTimer(DEATH_NEWS_MS, go)
  }

  readonly #onRevoked = (): void => {
    const reason = toHal0Error(this.#lease.revoked.reason)
    const fail = (): void => (isEngineLoss(reason) ? this.#lose(reason) : this.#fail(reason))
    if (!this.#request.mayComeAgain || this.#discarding || this.#exchange.isClientGone) return fail()
    // A connection may still be under way: it is cut off before it can write anything.
    if (this.#controller === undefined || this.#isRefused) return this.#finish('discard', 'unsent')
    const mayBeUnread = !this.#answerBegan && (this.#retried || this.#connection.isSilentReuse)
    if (!mayBeUnread || !isEngineLoss(reason)) return fail()
    // The slot was faster than the connection in telling of the engine's death; how that ends says whether the request was read.
    this.#cancelWait = this.#deps.clock.setTimer(DEATH_NEWS_MS, fail)
  }

  /** The client left, or the gateway closes. */
  readonly #onEnding = (): void => {
    const reason: unknown = this.#exchange.signal.reason
    if (reason !== CLIENT_GONE) return this.#fail(toHal0Error(reason))
    this.#writer.stop()
    // Nothing has to be read to its end before anything was sent.
    if (this.#lease.endpoint.onClientAbort !== 'drain' || this.#controller === undefined) return this.#finish('discard')
    this.#discarding = true
    this.#guard.go()
    this.#controller.resume()
  }

  /** The engine is done; what it said decides what is left to tell. */
  #conclude(end: AnswerEnd, next: 'reuse' | 'discard'): void {
    const { slot } = this.#lease
    if (end.kind === 'broken') return this.#lose(brokenAnswerError(slot, end))
    if (end.kind === 'engine_error') {
      const { status, body, headers } = end
      const { error, ...as } = wrapEngineError({ slot, status, body, retryAfter: headers['retry-after'] })
      sendError(this.#exchange, error, as)
    }
    this.#finish(next)
  }

  /** Fails, and the operator hears of it. */
  #lose(error: Hal0Error): void {
    if (!this.#isOver) this.#exchange.facts.engineLost = true
    this.#fail(error)
  }

  /** Tells the client, in the form that the answer has by now, and cuts the engine off. */
  #fail(error: Hal0Error): void {
    if (this.#isOver) return
    if (this.#discarding || this.#exchange.isClientGone) noteFailure(this.#exchange, error)
    else if (!this.#exchange.res.headersSent) sendError(this.#exchange, error)
    else {
      noteFailure(this.#exchange, error)
      this.#writer.breakOff(errorBody(error, { requestId: this.#exchange.id }))
    }
    this.#finish('discard')
  }

  #finish(then: 'reuse' | 'discard', outcome: RelayOutcome = 'over'): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#guard.stop()
    this.#cancelWait?.()
    this.#exchange.signal.removeEventListener('abort', this.#onEnding)
    this.#lease.revoked.removeEventListener('abort', this.#onRevoked)
    const release = (): void => {
      this.#lease.release()
      this.#resolve(outcome)
    }
    if (then === 'reuse') {
      this.#deps.pools.giveBack(this.#connection)
      release()
      return
    }
    // Cuts off an answer that is still under way. The lease ends when the engine has been cut off, not before: it would be handed on while the engine still works.
    this.#deps.pools.discard(this.#connection).then(release, release)
  }
}

function isEngineLoss(error: Hal0Error): boolean {
  return error.code === 'dispatch.upstream_unavailable'
}
