import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../access/caller.ts'
import type { ApiDialect } from '../contract/api-dialect.ts'
import type { RequestRecord, TokenUsage } from '../contract/request-record.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import { newRequestId } from '../kernel/request-id.ts'
import type { Result } from '../kernel/result.ts'
import type { Placed } from '../kernel/swap-list.ts'
import type { Framing } from './answers/framing.ts'
import { validRequestId } from './rules/headers.ts'
import { pathOf } from './rules/match-route.ts'
import { onSocketClose } from './socket-closes.ts'

/** Why an exchange ended when the client is gone; otherwise it is the Hal0Error that the client is still to be told. */
export const CLIENT_GONE = Symbol('client gone')
export type EndReason = typeof CLIENT_GONE | Hal0Error

/** What a request's record says besides time, status and bytes. Never a body, a key or a query. */
export interface ExchangeFacts {
  /** The path of the contract that answers. */
  route?: string
  slot?: string
  /** Under which booking of a lane it is served; null = nobody's. */
  reservationId?: string | null
  /** Step of the resolution that chose the slot. */
  reason?: string
  /** Why it ended badly: an error code, or `client_gone`, `client_stalled`. */
  failure?: string
  /** The text behind `failure`, for people. */
  detail?: string
  /** The engine broke its part: not an error that it told in good order. */
  engineLost?: boolean
  /** Monotonic time of the first byte of the engine's answer. */
  firstByteAtMs?: number
  /** Reads the engine's own count of tokens. */
  usage?: () => TokenUsage | null
}

/** nginx's word for "the client left before there was an answer"; only ever in the record. */
const STATUS_CLIENT_GONE = 499
const NO_USAGE = (): null => null

/** An event stream that may begin before an engine answers. Once it is open, errors are events in it. */
export interface EarlyAnswer {
  readonly isOpen: boolean
  /** Undefined = not open. */
  readonly framing: Framing | undefined
  /** The answer comes from elsewhere now. */
  stop(): void
  fail(error: Hal0Error): void
}

/** What happens at the end of an exchange. */
export interface ExchangeEnds {
  /** Once: the answer has left, or its connection is gone. */
  onRecord(record: RequestRecord): void
  /** Once: that, and nobody works on it any more. */
  onOver(exchange: Exchange): void
}

/** One request and its answer: who asked, whether they are still there, and the record when it is over. */
export class Exchange implements Placed {
  place = -1
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly id: string
  readonly clock: Clock
  readonly facts: ExchangeFacts = {}
  /** The shape of its errors. */
  dialect: ApiDialect = 'openai'
  /** Answer bytes handed to the connection, headers not counted. */
  bytesSent = 0
  /** As long as no engine has answered. */
  early: EarlyAnswer | undefined
  /** Signs of life in its event stream; undefined = none. */
  heartbeatMs: number | undefined
  /** Headers of hal0's own for the answer, names and values in turn. */
  readonly #headers: string[]
  readonly #startedMs: number
  readonly #ends: ExchangeEnds
  readonly #forgetSocket: () => void
  #caller: Caller | undefined
  #askGuard: (() => Result<Caller, Hal0Error>) | undefined
  #endReason: EndReason | undefined
  #onEnding: ((reason: EndReason) => void) | undefined
  #controller: AbortController | undefined
  #isServed = false
  #isClosed = false

  constructor(req: IncomingMessage, res: ServerResponse, clock: Clock, ends: ExchangeEnds) {
    this.req = req
    this.res = res
    this.clock = clock
    this.#ends = ends
    this.id = validRequestId(req.headers['x-request-id']) ?? newRequestId()
    this.#headers = ['X-Request-Id', this.id, ...CORS_HEADERS]
    this.#startedMs = clock.monotonicMs()
    // The answer closes when it is complete or its connection is gone; a pipelined one only hears the connection.
    this.#forgetSocket = onSocketClose(req.socket, this.#onClose)
    res.once('close', this.#onClose)
    // What there is to know about a broken connection comes with 'close'.
    res.on('error', nothing)
  }

  /** The guard has let it in. `askGuard`: its answer for this request as of then. */
  admit(caller: Caller, askGuard: () => Result<Caller, Hal0Error>): void {
    this.#caller = caller
    this.#askGuard = askGuard
  }

  /** Why it would not be let in any more: its key may have ended since. Undefined = it would. Source: SPEC 14. */
  refusalNow(): Hal0Error | undefined {
    const admitted = this.#askGuard?.()
    return admitted === undefined || admitted.ok ? undefined : admitted.error
  }

  /** How long ago it came, ms. */
  get ageMs(): number {
    return this.clock.monotonicMs() - this.#startedMs
  }

  /** Who asks; not before `admit`. */
  get caller(): Caller {
    if (this.#caller === undefined) throw new Error('nobody was let in')
    return this.#caller
  }

  /** Adds a header to the answer; before `writeHead`. */
  setHeader(name: string, value: string): void {
    this.#headers.push(name, value)
  }

  /** Begins the answer. Sends nothing yet. `more`: headers besides hal0's own, names and values in turn. */
  writeHead(status: number, more: readonly string[]): void {
    this.res.writeHead(status, [...this.#headers, ...more])
  }

  /** Nobody waits any more, or `end` was called; undefined = it goes on. */
  get endReason(): EndReason | undefined {
    return this.#endReason
  }

  get isClientGone(): boolean {
    return this.#endReason === CLIENT_GONE
  }

  /** Calls back once when it ends; at once if it has. One listener at a time; undefined takes it away. */
  onEnding(listener: ((reason: EndReason) => void) | undefined): void {
    this.#onEnding = listener
    if (listener !== undefined && this.#endReason !== undefined) listener(this.#endReason)
  }

  /** The same as a signal, made when it is first asked for. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#endReason !== undefined) this.#controller.abort(this.#endReason)
    }
    return this.#controller.signal
  }

  /** Ends it from our side; whoever works on it tells the client `reason`. */
  end(reason: EndReason): void {
    if (this.#endReason !== undefined) return
    this.#endReason = reason
    this.#onEnding?.(reason)
    this.#controller?.abort(reason)
  }

  /**
   * Whose request it is where requests wait in turn: the user's; where nobody is known by the key that was sent (nobody checks it), else by where it
   * comes from. Source: SPEC 11 "Queues".
   */
  get queueKey(): string {
    if (this.#caller?.kind === 'user') return this.#caller.userId
    const { headers, socket } = this.req
    const apiKey = headers['x-api-key']
    return headers.authorization ?? (typeof apiKey === 'string' ? apiKey : undefined) ?? socket.remoteAddress ?? ''
  }

  /** Nobody works on it any more. */
  served(): void {
    if (this.#isServed) return
    this.#isServed = true
    if (this.#isClosed) this.#ends.onOver(this)
  }

  readonly #onClose = (): void => {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#forgetSocket()
    this.early?.stop()
    if (!this.res.writableFinished) this.end(CLIENT_GONE)
    this.#ends.onRecord(this.#record())
    if (this.#isServed) this.#ends.onOver(this)
  }

  #record(): RequestRecord {
    const { res, req, facts, clock } = this
    const isAnswered = res.headersSent || res.writableFinished
    const startedMs = this.#startedMs
    const user = this.#caller?.kind === 'user' ? this.#caller : undefined
    return {
      requestId: this.id,
      method: req.method ?? '',
      path: pathOf(req.url ?? ''),
      route: facts.route ?? 'other',
      slot: facts.slot,
      keyId: user?.keyId ?? null,
      userId: user?.userId ?? null,
      reservationId: facts.reservationId ?? null,
      status: isAnswered ? res.statusCode : STATUS_CLIENT_GONE,
      bytesSent: this.bytesSent,
      endedMs: clock.nowMs(),
      elapsedMs: clock.monotonicMs() - startedMs,
      firstByteMs: facts.firstByteAtMs === undefined ? undefined : facts.firstByteAtMs - startedMs,
      reason: facts.reason,
      failure: facts.failure ?? (res.writableFinished ? undefined : 'client_gone'),
      detail: facts.detail,
      usage: facts.usage ?? NO_USAGE,
    }
  }
}

/** Exactly one Access-Control-Allow-Origin in every answer. Source: SPEC 11 "CORS". */
const CORS_HEADERS = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  'X-Request-Id, X-Hal0-Route, Retry-After, Server-Timing',
] as const

function nothing(): void {}
