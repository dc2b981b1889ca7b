import { type ErrorAnswerAs, errorAnswer } from '../contract/error-answer.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { Exchange } from './exchange.ts'

/** A refused upload is read and thrown away for so long, so that its sender gets to see the answer. */
const LINGER_MS = 5_000
/** A body that is at most so long is left to node, which reads it to its end and keeps the connection. */
const SMALL_BODY_BYTES = 64 * 1024
/** A day: how long a browser may remember a preflight; browsers cap it themselves. */
const PREFLIGHT_MAX_AGE_S = 86_400

/** 204 to a browser that asks first; no key is needed, since a preflight cannot carry one. */
export function sendPreflight(exchange: Exchange): void {
  const wanted = exchange.req.headers['access-control-request-headers']
  exchange.writeHead(204, [
    'Access-Control-Allow-Methods',
    'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
    'Access-Control-Allow-Headers',
    wanted ?? '*',
    'Access-Control-Max-Age',
    String(PREFLIGHT_MAX_AGE_S),
    'Vary',
    'Access-Control-Request-Headers',
  ])
  exchange.res.end()
}

export function sendJson(exchange: Exchange, status: number, value: unknown): void {
  sendWhole(exchange, status, ['Content-Type', 'application/json; charset=utf-8'], JSON.stringify(value))
}

/** The error as an answer of its own; only before anything was sent, or as the last event of a stream that was begun early. */
export function sendError(exchange: Exchange, error: Hal0Error, as: ErrorAnswerAs = {}): void {
  noteFailure(exchange, error)
  exchange.early?.stop()
  if (exchange.early?.isOpen === true) return exchange.early.fail(error)
  const answer = errorAnswer(error, exchange.id, { dialect: exchange.dialect, ...as })
  const headers = Object.entries(answer.headers).filter(([name]) => name !== 'x-request-id')
  sendWhole(exchange, answer.status, headers.flat(), answer.body)
}

function sendWhole(exchange: Exchange, status: number, headers: readonly string[], text: string): void {
  const { req } = exchange
  const body = Buffer.from(text)
  if (req.method !== 'HEAD') exchange.bytesSent += body.length
  endAfterUpload(exchange, status, [...headers, 'Content-Length', String(body.length)], body)
}

/** Puts the error into the request's record; its causes stay in the log. */
export function noteFailure({ facts }: Pick<Exchange, 'facts'>, error: Hal0Error): void {
  const told = error.cause instanceof Error ? error.cause.message : ''
  // What is only wrapped says the same again, less its folders.
  const cause = told === '' || told === error.message ? '' : ` (${told})`
  facts.failure = error.code
  facts.detail = error.message + cause
}

/**
 * Sends the whole answer at once, but lets the request's body come to its end before the connection is closed: closing under a
 * sender resets the connection, and the reset can overtake the answer.
 */
function endAfterUpload(exchange: Exchange, status: number, headers: readonly string[], body: Buffer): void {
  const { req, res, clock } = exchange
  const isSmall = Number(req.headers['content-length'] ?? Number.NaN) <= SMALL_BODY_BYTES
  const hasBody = req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined
  if (req.complete || isSmall || !hasBody) {
    exchange.writeHead(status, headers)
    res.end(body)
    // Nobody reads what is left of it, and the connection's next request stands behind it.
    if (!req.complete) req.resume()
    return
  }
  exchange.writeHead(status, [...headers, 'Connection', 'close'])
  res.write(body)
  const finish = (): void => {
    cancel()
    res.end()
  }
  const cancel = clock.setTimer(LINGER_MS, finish)
  req.once('end', finish)
  req.once('close', finish)
  req.resume()
}
