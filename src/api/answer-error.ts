import type { ServerResponse } from 'node:http'
import { HTTPException } from 'hono/http-exception'
import { errorBody } from '../contract/error-body.ts'
import { Hal0Error, toHal0Error } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import type { ApiRequest } from './api-context.ts'

export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** An error as it goes out: the one body, `Retry-After` where it cures itself, the request id for the log. Source: SPEC 16, 20. */
export function errorAnswer(error: Hal0Error, requestId: string, status = error.status): ErrorAnswer {
  const body = errorBody(error)
  const details = { ...body.error.details, request_id: requestId }
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-request-id': requestId,
      ...(error.retryAfterS === undefined ? {} : { 'retry-after': String(error.retryAfterS) }),
    },
    body: JSON.stringify({ error: { ...body.error, details } }),
  }
}

/** Whatever a route threw. What is no Hal0Error is a fault of hal0: logged here with its stack, answered without its text. */
export function answerThrown(thrown: unknown, c: ApiRequest, log: Log): Response {
  const requestId = c.get('requestId')
  if (thrown instanceof HTTPException) {
    const error = Hal0Error.of('request.invalid', thrown.message || `HTTP ${thrown.status}`)
    return respond(errorAnswer(error, requestId, thrown.status))
  }
  const error = toHal0Error(thrown)
  if (error.code === 'internal') {
    const facts = { request_id: requestId, method: c.req.method, path: c.req.path, err: error.cause ?? thrown }
    log.error(facts, 'a request of the management API failed unexpectedly')
  }
  return respond(errorAnswer(error, requestId))
}

export function respond(answer: ErrorAnswer, more: Readonly<Record<string, string>> = {}): Response {
  return new Response(answer.body, { status: answer.status, headers: { ...answer.headers, ...more } })
}

/** The same on a plain node response, for refusals before any route. */
export function sendError(response: ServerResponse, answer: ErrorAnswer): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(answer.status, { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) })
  response.end(answer.body)
}
