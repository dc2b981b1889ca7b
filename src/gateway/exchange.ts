import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../access/guard.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { newRequestId } from '../kernel/request-id.ts'
import { validRequestId } from './rules/headers.ts'
import { pathOf } from './rules/match-route.ts'
import { onSocketClose } from './socket-closes.ts'

/** `Exchange.signal.reason` when the client is gone; otherwise the reason is the Hal0Error that it is still to be told. */
export const CLIENT_GONE = Symbol('client gone')

/** What a request's one log line says besides time, status and bytes. Never a body, a key or a query. */
export interface ExchangeFacts {
  slot?: string
  /** Step of the resolution that chose the slot. */
  reason?: string
  /** Why it ended badly: an error code, or `client_gone`, `client_stalled`. */
  failure?: string
  /** The text behind `failure`, for people. */
  detail?: string
  /** The engine broke its part: not an error that it told in good order. */
  engineLost?: boolean
}

/** nginx's word for "the client left before there was an answer"; only ever in the log. */
const STATUS_CLIENT_GONE = 499

/** One request and its answer: who asked, whether they are still there, and the log line when it is over. */
export class Exchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly id: string
  readonly clock: Clock
  readonly facts: ExchangeFacts = {}
  /** Undefined until the guard has let the request in. */
  caller: Caller | undefined
  /** Answer bytes handed to the connection, headers not counted. */
  bytesSent = 0
  /** Resolves when the answer has left or the connection is gone. */
  readonly over: Promise<void>
  readonly #ending = new AbortController()

  constructor(req: IncomingMessage, res: ServerResponse, deps: { log: Log; clock: Clock }) {
    this.req = req
    this.res = res
    this.id = validRequestId(req.headers['x-request-id']) ?? newRequestId()
    this.clock = deps.clock
    const startedMs = deps.clock.monotonicMs()
    this.over = new Promise((resolve) => {
      const onClose = (): void => {
        // The answer closes when it is complete or its connection is gone; a pipelined one only hears the connection.
        forget()
        res.off('close', onClose)
        if (!res.writableFinished) this.#ending.abort(CLIENT_GONE)
        deps.log.info(this.#line(deps.clock.monotonicMs() - startedMs), 'request')
        resolve()
      }
      const forget = onSocketClose(req.socket, onClose)
      res.once('close', onClose)
    })
    // What there is to know about a broken connection comes with 'close'.
    req.on('error', () => {})
    res.on('error', () => {})
  }

  /** Aborts when nobody waits any more, or when `end` was called. */
  get signal(): AbortSignal {
    return this.#ending.signal
  }

  get isClientGone(): boolean {
    return this.signal.reason === CLIENT_GONE
  }

  /** Ends it from our side; whoever works on it tells the client `reason`. */
  end(reason: Hal0Error): void {
    this.#ending.abort(reason)
  }

  #line(elapsedMs: number): object {
    const { res, req } = this
    const answered = res.headersSent || res.writableFinished
    const { engineLost: _forTheBus, ...facts } = this.facts
    return {
      request_id: this.id,
      method: req.method,
      route: pathOf(req.url ?? ''),
      status: answered ? res.statusCode : STATUS_CLIENT_GONE,
      bytes: this.bytesSent,
      ms: Math.round(elapsedMs),
      ...(res.writableFinished ? {} : { failure: 'client_gone' }),
      ...facts,
    }
  }
}
