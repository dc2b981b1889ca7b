import type { ServerResponse } from 'node:http'
import { type ErrorAnswerAs, errorAnswer } from '../contract/error-answer.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { Exchange } from './exchange.ts'

/** A refused upload is read and thrown away for so long, so that its sender gets to see the answer. */
const LINGER_MS = 5_000
/** A body that is at most so long is left to node, which reads it to its end and keeps the connection. */
const SMALL_BODY_BYTES = 64 * 1024
/** A day: how long a browser may remember a preflight; browsers cap it themselves. */
const PREFLIGHT_MAX_AGE_S = 86_400

/** The headers that every answer here has. Exactly one Access-Control-Allow-Origin. Source: SPEC 11 "CORS". */
export function setCommonHeaders(res: ServerResponse, requestId: string): void {
  res.setHeader('X-Request-Id', requestId)
  res.setHeader('Access-Control-Allow-Origin', '*')
  res.setHeader('Access-Control-Expose-Headers', 'X-Request-Id, X-Hal0-Route, Retry-After, Server-Timing')
}

/** 204 to a browser that asks first; no key is needed, since a preflight cannot carry one. */
export function sendPreflight({ req, res }: Exchange): void {
  res.statusCode = 204
  res.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, OPTIONS')
  res.setHeader('Access-Control-Allow-Headers', req.headers['access-control-request-headers'] ?? '*')
  res.setHeader('Access-Control-Max-Age', String(PREFLIGHT_MAX_AGE_S))
  res.setHeader('Vary', 'Access-Control-Request-Headers')
  res.end()
}

export function sendJson(exchange: Exchange, status: number, value: unknown): void {
  exchange.res.setHeader('Content-Type', 'application/json; charset=utf-8')
  sendWhole(exchange, status, JSON.stringify(value))
}

/** The error as an answer of its own; only before anything was sent. */
export function sendError(exchange: Exchange, error: Hal0Error, as: ErrorAnswerAs = {}): void {
  noteFailure(exchange, error)
  const answer = errorAnswer(error, exchange.id, as)
  for (const [name, value] of Object.entries(answer.headers)) exchange.res.setHeader(name, value)
  sendWhole(exchange, answer.status, answer.body)
}

function sendWhole(exchange: Exchange, status: number, text: string): void {
  const { res, req } = exchange
  const body = Buffer.from(text)
  res.statusCode = status
  res.setHeader('Content-Length', body.length)
  if (req.method !== 'HEAD') exchange.bytesSent += body.length
  endAfterUpload(exchange, body)
}

/** Puts the error into the request's log line; its causes stay in the log. */
export function noteFailure({ facts }: Exchange, error: Hal0Error): void {
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
  facts.failure = error.code
  facts.detail = error.message + cause
}

/**
 * Sends the whole answer at once, but lets the request's body come to its end before the connection is closed: closing under a
 * sender resets the connection, and the reset can overtake the answer.
 */
function endAfterUpload({ req, res, clock }: Exchange, body: Buffer): void {
  const isSmall = Number(req.headers['content-length'] ?? Number.NaN) <= SMALL_BODY_BYTES
  const hasBody = req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined
  if (req.complete || isSmall || !hasBody) {
    res.end(body)
    return
  }
  res.setHeader('Connection', 'close')
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
