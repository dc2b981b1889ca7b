import type { Dispatcher } from 'undici'
import { errorBody } from '../contract/error-body.ts'
import type { CancelTimer, Clock } from '../kernel/clock.ts'
import { type Hal0Error, toHal0Error } from '../kernel/errors.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { Lease } from '../slots/slots.ts'
import { noteFailure, sendError } from './answer.ts'
import { type AnswerEnd, AnswerWriter } from './answers/answer-writer.ts'
import { createStallGuard, type StallGuard } from './answers/stall-guard.ts'
import type { Exchange } from './exchange.ts'
import { CLIENT_GONE } from './exchange.ts'
import { brokenAnswerError, lostError, stalledError } from './relay-errors.ts'
import type { HeaderBag } from './rules/headers.ts'
import { wrapEngineError } from './rules/wrap-engine-error.ts'
import type { GatewaySettings } from './settings.ts'
import { CUT_OFF, type EngineConnection } from './wire/engine-connection.ts'
import type { EnginePools } from './wire/engine-pools.ts'

/** What goes to the engine, ready to be written. */
export interface EngineRequest {
  readonly path: string
  readonly headers: Record<string, string | string[]>
  readonly body: Buffer
  /** The client asked for a stream. */
  readonly stream: boolean
  /** `model` in the answer. */
  readonly askedName: string
  /** May it be left unanswered when the engine has not read it? Otherwise the client is told. */
  readonly mayComeAgain: boolean
}

export interface RelayDeps {
  readonly pools: EnginePools
  readonly settings: GatewaySettings
  readonly clock: Clock
}

/** `unread`: the engine has not read the request and the client has been told nothing; only with `mayComeAgain`. */
export type RelayOutcome = 'over' | 'unread'

/**
 * The death of an engine is told twice, by its connections and by its slot. Who hears it from one waits so long for the other: the slot must
 * know before it is asked for another lease.
 */
export const DEATH_NEWS_MS = 250

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
  readonly #connection: EngineConnection
  /** Set once the request is being written. */
  #controller: Dispatcher.DispatchController | undefined
  #answerBegan = false
  /** The answer ended in good order, and the connection has a future. */
  #mayReuse = false
  /** The engine gave its whole answer, whatever became of the client. */
  #isAnswered = false
  /** Unread, and waiting for the news of the engine's death, or the other way round. */
  #cancelWait: CancelTimer | undefined
  #isUnread = false
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
    const { path, headers, body, stream } = this.#request
    // llama-server closes after a stream although it promised keep-alive, so a connection serves one stream only.
    this.#connection.client.dispatch({ method: 'POST', path, headers, body, ...(stream ? { reset: true } : {}) }, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) return controller.abort(CUT_OFF)
    this.#controller = controller
    this.#connection.markSent()
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
    this.#lease.moved()
    if (this.#discarding || this.#writer.push(chunk)) return
    this.#conclude(this.#writer.end())
  }

  onResponseEnd(): void {
    if (this.#isOver) return
    this.#mayReuse = !this.#request.stream && !this.#writer.isEventStream
    this.#isAnswered = !this.#writer.isError
    if (this.#discarding) this.#finish()
    else this.#conclude(this.#writer.end())
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#isOver) return
    if (this.#answerBegan) {
      if (this.#writer.isError && !this.#discarding) return this.#conclude(this.#writer.end())
      return this.#lose(lostError(this.#lease.slot, 'in_answer', error))
    }
    const wasSent = this.#controller !== undefined
    const lost = (): void => this.#lose(lostError(this.#lease.slot, wasSent ? 'sent' : 'refused', error))
    const isUnread = !wasSent || this.#connection.wasResetUnread(error)
    if (!isUnread || !this.#request.mayComeAgain || this.#discarding) return lost()
    this.#isUnread = true
    if (this.#lease.revoked.aborted) return this.#onRevoked()
    // Whether the engine is dead is for the slot to say; one that lives on after a reset may have meant it.
    this.#cancelWait = this.#deps.clock.setTimer(DEATH_NEWS_MS, wasSent ? lost : () => this.#finish('unread'))
  }

  readonly #onRevoked = (): void => {
    const reason = toHal0Error(this.#lease.revoked.reason)
    const isDeath = reason.code === 'dispatch.upstream_unavailable'
    const fail = (): void => (isDeath ? this.#lose(reason) : this.#fail(reason))
    if (!this.#request.mayComeAgain || this.#discarding || this.#exchange.isClientGone) return fail()
    // A connection may still be under way: it is cut off before it can write anything.
    if (this.#controller === undefined) return this.#finish('unread')
    // Only a death proves that a reset was not the engine's own doing.
    if (this.#isUnread) return isDeath ? this.#finish('unread') : fail()
    if (!isDeath || !this.#connection.isSilent) return fail()
    // The slot was faster than the connection in telling of the engine's death; how that ends says whether the request was read.
    this.#cancelWait = this.#deps.clock.setTimer(DEATH_NEWS_MS, fail)
  }

  /** The client left, or the gateway closes. */
  readonly #onEnding = (): void => {
    const reason: unknown = this.#exchange.signal.reason
    if (reason !== CLIENT_GONE) return this.#fail(toHal0Error(reason))
    this.#writer.stop()
    // Nothing has to be read to its end before anything was sent.
    if (this.#lease.endpoint.onClientAbort !== 'drain' || this.#controller === undefined) return this.#finish()
    this.#discarding = true
    this.#guard.go()
    this.#controller.resume()
  }

  /** The engine is done; what it said decides what is left to tell. */
  #conclude(end: AnswerEnd): void {
    const { slot } = this.#lease
    if (end.kind === 'broken') return this.#lose(brokenAnswerError(slot, end))
    if (end.kind === 'engine_error') {
      const { status, body, headers } = end
      const { error, ...as } = wrapEngineError({ slot, status, body, retryAfter: headers['retry-after'] })
      sendError(this.#exchange, error, as)
    }
    this.#finish()
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
    this.#finish()
  }

  #finish(outcome: RelayOutcome = 'over'): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#guard.stop()
    this.#cancelWait?.()
    this.#exchange.signal.removeEventListener('abort', this.#onEnding)
    this.#lease.revoked.removeEventListener('abort', this.#onRevoked)
    const release = (): void => {
      this.#lease.release(this.#isAnswered ? 'answered' : undefined)
      this.#resolve(outcome)
    }
    if (this.#mayReuse) {
      this.#deps.pools.giveBack(this.#connection)
      release()
      return
    }
    // Cuts off an answer that is still under way. The lease ends when the engine has been cut off, not before: it would be handed on while the engine still works.
    this.#deps.pools.discard(this.#connection).then(release, release)
  }
}
