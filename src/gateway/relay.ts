import { errorEventBody } from '../contract/error-event.ts'
import type { CancelTimer } from '../kernel/clock.ts'
import { Hal0Error, isOwnShortage, toHal0Error } from '../kernel/errors.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { Lease } from '../slots/slots.ts'
import { noteFailure, sendError } from './answer.ts'
import { type AnswerEnd, AnswerWriter } from './answers/answer-writer.ts'
import type { ClientFlow } from './answers/client-outlet.ts'
import { createStallGuard, type StallGuard } from './answers/stall-guard.ts'
import { statusOfBodyError } from './body/body-errors.ts'
import type { EngineRequest } from './engine-request.ts'
import { CLIENT_GONE, type EndReason, type Exchange } from './exchange.ts'
import { brokenAnswerError, lostError, overtimeError, shortageError, stalledError } from './relay-errors.ts'
import { DEATH_NEWS_MS, type RelayDeps, type RelayOutcome } from './relay-ports.ts'
import { unsupportedByEngine } from './rules/check-route.ts'
import { wrapEngineError } from './rules/wrap-engine-error.ts'
import { type AnswerHead, valueOf } from './wire/answer-head.ts'
import type { EngineConnection, ExchangeFollower } from './wire/engine-connection.ts'

/**
 * Sends one request to the leased engine and its answer to the client. Calls back once, when the engine works on it no more and the lease
 * is released; never throws: whatever goes wrong is told to the client. Source: SPEC 11 "Streaming", "Retries"; SPEC 4 (revoked leases).
 */
export function relay(
  exchange: Exchange,
  lease: Lease,
  request: EngineRequest,
  deps: RelayDeps,
  done: (outcome: RelayOutcome) => void,
): void {
  new Relay(exchange, lease, request, deps, done).start()
}

const NO_BODY = { kind: 'none' } as const
/** A shorter one may stay where it is. */
const LONG_BODY_BYTES = 16 * 1024

/** The life of one request at one engine. Every end goes through `#finish`, once. */
class Relay implements ExchangeFollower, ClientFlow {
  readonly #exchange: Exchange
  readonly #lease: Lease
  #request: EngineRequest
  readonly #deps: RelayDeps
  readonly #done: (outcome: RelayOutcome) => void
  /** Made when there is something to wait for: most answers come in one piece. */
  #guard: StallGuard | undefined
  readonly #writer: AnswerWriter
  readonly #connection: EngineConnection
  /** The request is being written, or was. */
  #wasSent = false
  #answerBegan = false
  #hasData = false
  /** The answer ended in good order, and the connection has a future. */
  #mayReuse = false
  /** The engine gave its whole answer, whatever became of the client. */
  #isAnswered = false
  /** The engine does nothing for this request any more. */
  #isOffEngine = false
  /** Unread, and waiting for the news of the engine's death, or the other way round. */
  #cancelWait: CancelTimer | undefined
  #isUnread = false
  #cancelTotal: CancelTimer | undefined
  /** The client is gone, but this engine must not be cut off: its answer is read and thrown away. */
  #discarding = false
  #isOver = false

  constructor(
    exchange: Exchange,
    lease: Lease,
    request: EngineRequest,
    deps: RelayDeps,
    done: (outcome: RelayOutcome) => void,
  ) {
    this.#exchange = exchange
    this.#lease = lease
    this.#request = request
    this.#deps = deps
    this.#done = done
    const { settings, clock, pools } = deps
    const { answer } = request
    const aliasIsAsked = answer.kind === 'told' && answer.askedName === lease.endpoint.alias
    const clientStallMs = settings.clientStallS * SECOND_MS
    this.#writer = new AnswerWriter(exchange, answer, { aliasIsAsked, clientStallMs }, this)
    this.#connection = pools.take(lease)
    const { totalS } = settings
    if (totalS > 0)
      this.#cancelTotal = clock.setTimer(totalS * SECOND_MS, () => this.#fail(overtimeError(lease.slot, totalS)))
  }

  start(): void {
    this.#lease.onRevoked(this.#onRevoked)
    if (this.#isOver) return
    this.#exchange.onEnding(this.#onEnding)
    if (this.#isOver) return
    this.#connection.send(this.#request, this)
  }

  // What the connection tells.

  onSend(): boolean {
    if (this.#isOver) return false
    this.#wasSent = true
    return true
  }

  onHead(head: AnswerHead): void {
    this.#answerBegan = true
    this.#dropBody()
    if (!this.#discarding) this.#writer.begin(head)
  }

  get takesChunks(): boolean {
    return this.#discarding || this.#writer.takesChunks
  }

  onChunks(chunks: Buffer): void {
    if (this.#isOver) return
    if (!this.#hasData) this.#noteFirstData()
    if (!this.#discarding) this.#writer.pushChunks(chunks)
  }

  onData(data: Buffer): void {
    if (this.#isOver) return
    if (!this.#hasData) this.#noteFirstData()
    if (this.#discarding || this.#writer.push(data)) return
    this.#conclude(this.#writer.end())
  }

  onPause(hasBody: boolean): void {
    if (this.#isOver) return
    if (hasBody) this.#watch().seen()
    this.#lease.moved()
    if (!this.#discarding) this.#writer.flush()
  }

  onEnd(mayReuse: boolean): void {
    if (this.#isOver) return
    this.#mayReuse = mayReuse
    this.#isOffEngine = true
    this.#isAnswered = !this.#writer.isError
    this.#connection.didStream = this.#request.stream || this.#writer.isEventStream
    if (this.#discarding) this.#finish()
    else this.#conclude(this.#writer.end())
  }

  onError(error: Error): void {
    if (this.#isOver) return
    // The client's body came to nothing.
    if (error instanceof Hal0Error) return this.#fail(error, statusOfBodyError(error))
    if (!this.#wasSent && isOwnShortage(error)) return this.#fail(shortageError(this.#lease.slot, error))
    this.#writer.flush()
    if (this.#answerBegan) {
      const isTold = this.#writer.isError || this.#writer.hasLastEvent
      if (isTold && !this.#discarding) return this.#conclude(this.#writer.end())
      return this.#lose(lostError(this.#lease.slot, 'in_answer', error))
    }
    const wasSent = this.#wasSent
    const lost = (): void => this.#lose(lostError(this.#lease.slot, wasSent ? 'sent' : 'refused', error))
    const isUnread = !wasSent || this.#connection.wasResetUnread(error)
    if (!isUnread || !this.#request.mayComeAgain || this.#discarding) return lost()
    if (this.#connection.cameTooLate) {
      // It ended the connection after the answer before.
      this.#deps.pools.distrust(this.#connection)
      return this.#finish('unread')
    }
    this.#isUnread = true
    if (this.#lease.revokedFor !== undefined) return this.#onRevoked()
    // Whether the engine is dead is for the slot to say; one that lives on after a reset may have meant it.
    this.#cancelWait = this.#deps.clock.setTimer(DEATH_NEWS_MS, wasSent ? lost : () => this.#finish('unread'))
  }

  // What the client's side tells.

  hold(): void {
    this.#connection.pause()
    this.#watch().hold()
  }

  go(): void {
    this.#watch().go()
    this.#connection.resume()
  }

  // What ends it from outside.

  readonly #onRevoked = (): void => {
    const reason = toHal0Error(this.#lease.revokedFor)
    const isDeath = reason.code === 'dispatch.upstream_unavailable'
    const fail = (): void => (isDeath ? this.#lose(reason) : this.#fail(reason))
    if (!this.#request.mayComeAgain || this.#discarding || this.#exchange.isClientGone) return fail()
    // A connection may still be under way: it is cut off before it can write anything.
    if (!this.#wasSent) return this.#finish('unread')
    // Only a death proves that a reset was not the engine's own doing.
    if (this.#isUnread) return isDeath ? this.#finish('unread') : fail()
    if (!isDeath || !this.#connection.isSilent) return fail()
    // The slot was faster than the connection in telling of the engine's death; how that ends says whether the request was read.
    this.#cancelWait = this.#deps.clock.setTimer(DEATH_NEWS_MS, fail)
  }

  /** The client left, or the gateway closes. */
  readonly #onEnding = (reason: EndReason): void => {
    if (reason !== CLIENT_GONE) return this.#fail(reason)
    this.#writer.stop()
    // Nothing has to be read to its end before anything was sent.
    if (this.#lease.endpoint.onClientAbort !== 'drain' || !this.#wasSent) return this.#finish()
    this.#discarding = true
    // From now on silence counts, also before its first byte: nobody else watches over it.
    this.#watch().seen()
    this.#watch().go()
    this.#connection.resume()
  }

  /** The engine is done; what it said decides what is left to tell. */
  #conclude(end: AnswerEnd): void {
    const { slot } = this.#lease
    if (end.kind === 'broken') return this.#lose(brokenAnswerError(slot, end))
    if (end.kind === 'engine_error') {
      const { head } = end
      // Some engines repeat what they were sent.
      const { engineKey } = this.#lease.endpoint
      const body = engineKey === undefined ? end.body : end.body.replaceAll(engineKey, '[secret]')
      const { route } = this.#request
      const said = route === undefined ? undefined : unsupportedByEngine(head.status, body)
      if (route !== undefined && said !== undefined) return this.#fail(this.#deps.refusalOf(slot, route, said))
      const retryAfter = valueOf(head.lines, 'retry-after')
      const { error, ...as } = wrapEngineError({ slot, status: head.status, body, retryAfter })
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
  #fail(error: Hal0Error, status = error.status): void {
    if (this.#isOver) return
    const exchange = this.#exchange
    if (this.#discarding || exchange.isClientGone) noteFailure(exchange, error)
    else if (!exchange.res.headersSent || exchange.early?.isOpen === true) sendError(exchange, error, { status })
    else {
      noteFailure(exchange, error)
      this.#writer.breakOff(errorEventBody(error, exchange.id, exchange.dialect))
    }
    this.#finish()
  }

  /** An engine that answers has what it needs: a long answer must not hold a long prompt. */
  #dropBody(): void {
    const { body } = this.#request
    if (body.kind !== 'whole' || body.sizeBytes < LONG_BODY_BYTES) return
    this.#request = { ...this.#request, body: NO_BODY }
    body.holder?.release()
  }

  #watch(): StallGuard {
    const { settings, clock } = this.#deps
    this.#guard ??= createStallGuard(clock, settings.stallS * SECOND_MS, () =>
      this.#lose(stalledError(this.#lease.slot, settings.stallS)),
    )
    return this.#guard
  }

  #noteFirstData(): void {
    this.#hasData = true
    this.#exchange.facts.firstByteAtMs ??= this.#deps.clock.monotonicMs()
  }

  #finish(outcome: RelayOutcome = 'over'): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#guard?.stop()
    this.#cancelWait?.()
    this.#cancelTotal?.()
    this.#exchange.onEnding(undefined)
    this.#lease.onRevoked(undefined)
    const { pools } = this.#deps
    if (this.#mayReuse) pools.giveBack(this.#connection)
    else {
      const gone = pools.discard(this.#connection)
      // The lease ends when the engine has been cut off, not before: it would be handed on while the engine still works.
      if (!this.#isOffEngine) {
        const end = (): void => this.#release(outcome)
        return void gone.then(end, end)
      }
    }
    this.#release(outcome)
  }

  #release(outcome: RelayOutcome): void {
    this.#lease.release(this.#isAnswered ? 'answered' : undefined)
    this.#done(outcome)
  }
}
