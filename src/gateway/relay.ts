import type { Dispatcher } from 'undici'
import { errorBody } from '../contract/error-body.ts'
import type { Clock } from '../kernel/clock.ts'
import { Hal0Error, toHal0Error } from '../kernel/errors.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { Lease } from '../slots/slots.ts'
import { noteFailure, sendError } from './answer.ts'
import { AnswerWriter } from './answer-writer.ts'
import { CUT_OFF, type EngineConnection, type EnginePools } from './engine-pool.ts'
import type { Exchange } from './exchange.ts'
import { CLIENT_GONE } from './exchange.ts'
import type { HeaderBag } from './rules/headers.ts'
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
}

export interface RelayDeps {
  readonly pools: EnginePools
  readonly settings: GatewaySettings
  readonly clock: Clock
}

/**
 * Sends one request to the leased engine and its answer to the client. Resolves when the engine works on it no more and the lease
 * is released; never rejects: whatever goes wrong is told to the client. Source: SPEC 11 "Streaming", "Retries"; SPEC 4 (revoked leases).
 */
export function relay(exchange: Exchange, lease: Lease, request: EngineRequest, deps: RelayDeps): Promise<void> {
  return new Promise((resolve) => new Relay(exchange, lease, request, deps, resolve).start())
}

/** The life of one request at one engine. Every end goes through `#finish`, once. */
class Relay implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange
  readonly #lease: Lease
  readonly #request: EngineRequest
  readonly #deps: RelayDeps
  readonly #resolve: () => void
  readonly #guard: StallGuard
  readonly #writer: AnswerWriter
  #connection: EngineConnection
  /** Set once the request is being written. */
  #controller: Dispatcher.DispatchController | undefined
  #answerBegan = false
  #retried = false
  /** The client is gone, but this engine must not be cut off: its answer is read and thrown away. */
  #discarding = false
  #isOver = false

  constructor(exchange: Exchange, lease: Lease, request: EngineRequest, deps: RelayDeps, resolve: () => void) {
    this.#exchange = exchange
    this.#lease = lease
    this.#request = request
    this.#deps = deps
    this.#resolve = resolve
    const { settings, clock, pools } = deps
    this.#guard = createStallGuard(clock, settings.stallS * SECOND_MS, () => this.#onStall())
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
    if (!this.#discarding) this.#writer.push(chunk)
  }

  onResponseEnd(): void {
    if (this.#isOver) return
    if (!this.#discarding) this.#writer.end()
    this.#finish(this.#request.stream || this.#writer.isEventStream ? 'discard' : 'reuse')
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#isOver) return
    const { clock, pools } = this.#deps
    if (!this.#answerBegan && !this.#retried && this.#connection.wasKeepAliveRace(error, clock.monotonicMs())) {
      this.#retried = true
      this.#controller = undefined
      void pools.discard(this.#connection)
      this.#connection = pools.take(this.#lease, { fresh: true })
      this.#dispatch()
      return
    }
    this.#fail(this.#lost(error))
  }

  #lost(error: Error): Hal0Error {
    const { slot } = this.#lease
    const what = this.#answerBegan
      ? `The engine of slot "${slot}" broke off in the middle of its answer`
      : this.#controller === undefined
        ? `The engine of slot "${slot}" cannot be reached`
        : `The engine of slot "${slot}" closed the connection without a proper answer`
    return Hal0Error.of('dispatch.upstream_unavailable', what, { details: { slot }, cause: error })
  }

  #onStall(): void {
    const { stallS } = this.#deps.settings
    const { slot } = this.#lease
    const message = `The engine of slot "${slot}" sent nothing for ${stallS} s in the middle of its answer`
    this.#fail(Hal0Error.of('dispatch.stalled', message, { details: { slot, stall_s: stallS } }))
  }

  readonly #onRevoked = (): void => this.#fail(toHal0Error(this.#lease.revoked.reason))

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

  /** Tells the client, in the form that the answer has by now, and cuts the engine off. */
  #fail(error: Hal0Error): void {
    if (this.#isOver) return
    if (this.#discarding || this.#exchange.isClientGone) noteFailure(this.#exchange, error)
    else if (!this.#exchange.res.headersSent) sendError(this.#exchange, error)
    else {
      noteFailure(this.#exchange, error)
      this.#writer.breakOff(errorBody(error))
    }
    this.#finish('discard')
  }

  #finish(then: 'reuse' | 'discard'): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#guard.stop()
    this.#exchange.signal.removeEventListener('abort', this.#onEnding)
    this.#lease.revoked.removeEventListener('abort', this.#onRevoked)
    const release = (): void => {
      this.#lease.release()
      this.#resolve()
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
