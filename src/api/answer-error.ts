import { HTTPException } from 'hono/http-exception'
import { type ErrorAnswer, errorAnswer } from '../contract/error-answer.ts'
import { Hal0Error, toHal0Error } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { maskKeys } from '../kernel/mask-keys.ts'
import type { ApiRequest } from './api-context.ts'

/** Whatever a route threw. What is no Hal0Error is a fault of hal0: logged here with its stack, answered without its text. */
export function answerThrown(thrown: unknown, c: ApiRequest, log: Log): Response {
  const requestId = c.get('requestId')
  if (thrown instanceof HTTPException) {
    const error = Hal0Error.of('request.invalid', thrown.message || `HTTP ${thrown.status}`)
    return respond(errorAnswer(error, requestId, { status: thrown.status }))
  }
  const error = toHal0Error(thrown)
  if (error.code === 'internal') {
    const facts = {
      request_id: requestId,
      method: c.req.method,
      path: maskKeys(c.req.path),
      err: error.cause ?? thrown,
    }
    log.error(facts, 'a request of the management API failed unexpectedly')
  }
  return respond(errorAnswer(error, requestId))
}

export function respond(answer: ErrorAnswer, more: Readonly<Record<string, string>> = {}): Response {
  return new Response(answer.body, { status: answer.status, headers: { ...answer.headers, ...more } })
}
