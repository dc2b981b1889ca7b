import type { ServerResponse } from 'node:http'
import { errorBody } from '../contract/error-body.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { Exchange } from './exchange.ts'

/** A refused upload is read and thrown away for so long, so that its sender gets to see the answer. */
const LINGER_MS = 5_000
/** A body that is at most so long is left to node, which reads it to its end and keeps the connection. */
const SMALL_BODY_BYTES = 64 * 1024
/** A day: how long a browser may remember a preflight; browsers cap it themselves. */
const PREFLIGHT_MAX_AGE_S = 86_400

/** The headers that every answer under /v1 has. Exactly one Access-Control-Allow-Origin. Source: SPEC 11 "CORS". */
export function setCommonHeaders(res: ServerResponse, requestId: string): void {
  res.setHeader('X-Request-Id', requestId)
  res.setHeader('Access-Control-Allow-Origin', '*')
  res.setHeader('Access-Control-Expose-Headers', 'X-Request-Id, X-Hal0-Route, Retry-After')
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
  const { res, req } = exchange
  const body = Buffer.from(JSON.stringify(value))
  res.statusCode = status
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.setHeader('Content-Length', body.length)
  if (req.method !== 'HEAD') exchange.bytesSent += body.length
  endAfterUpload(exchange, body)
}

/** The error as an answer of its own; only before anything was sent. `status` = another one than the registry's. */
export function sendError(exchange: Exchange, error: Hal0Error, status = error.status): void {
  noteFailure(exchange, error)
  if (error.retryAfterS !== undefined) {
    exchange.res.setHeader('Retry-After', String(Math.max(1, Math.ceil(error.retryAfterS))))
  }
  sendJson(exchange, status, errorBody(error))
}

/** Puts the error into the request's log line; its cause stays in the log. */
export function noteFailure({ facts }: Exchange, error: Hal0Error): void {
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
  facts.failure = error.code
  facts.detail = error.message + cause
}

/**
 * Sends the whole answer at once, but lets the request's body come to its end before the connection is closed: closing under a
 * sender resets the connection, and the reset can overtake the answer.
 */
function endAfterUpload({ req, res }: Exchange, body: Buffer): void {
  const isSmall = Number(req.headers['content-length'] ?? Number.NaN) <= SMALL_BODY_BYTES
  const hasBody = req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined
  if (req.complete || isSmall || !hasBody) {
    res.end(body)
    return
  }
  res.setHeader('Connection', 'close')
  res.write(body)
  const finish = (): void => {
    clearTimeout(timer)
    res.end()
  }
  const timer = setTimeout(finish, LINGER_MS)
  req.once('end', finish)
  req.once('close', finish)
  req.resume()
}
