import type { Hal0Error } from '../kernel/errors.ts'
import type { ApiDialect } from './api-dialect.ts'
import type { ErrorBody } from './error-body.ts'
import { type AnthropicErrorBody, dialectErrorBody } from './error-dialect.ts'

/** `error` of the Responses API, and the body of the other dialect inside it: official clients throw only what has that key. */
export interface ResponseErrorEvent extends ErrorBody {
  readonly type: 'error'
  readonly code: string
  readonly message: string
  readonly param: string | null
}

export type ErrorEventBody = ErrorBody | ResponseErrorEvent | AnthropicErrorBody

/**
 * What the last event of a stream says when it breaks off, in the route's dialect; `EventFilter.errorEvent` puts it into an event. The official clients of the
 * dialect throw it as their API error. Source: SPEC 11 "one final error event in the route's dialect".
 */
export function errorEventBody(error: Hal0Error, requestId: string, dialect: ApiDialect): ErrorEventBody {
  const body = dialectErrorBody(error, requestId, { dialect })
  if (dialect !== 'responses' || 'type' in body) return body
  const { code, message, param } = body.error
  return { type: 'error', code, message, param, ...body }
}
