import type { Hal0Error } from '../kernel/errors.ts'
import type { ApiDialect } from './api-dialect.ts'
import { type ErrorBody, errorBody } from './error-body.ts'

/** Anthropic's error body; its SDKs parse it, and show `error.details.error_code`. */
export interface AnthropicErrorBody {
  readonly type: 'error'
  readonly error: {
    /** One of Anthropic's own words. */
    readonly type: string
    readonly message: string
    /** hal0's code and what else the other dialects are told. */
    readonly code: string
    readonly param: string | null
    readonly details: Readonly<Record<string, unknown>>
  }
  readonly request_id: string
}

/** What an error of Anthropic's API is called, by HTTP status; 4xx and 5xx that are not listed: `invalid_request_error`, `api_error`. */
const ANTHROPIC_TYPES: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])

/** The type follows from the status; 503 that cures itself is what Anthropic calls overloaded (its own status for that is 529). */
function anthropicType(error: Hal0Error, status: number): string {
  if (status === 503 && error.retryAfterS !== undefined) return 'overloaded_error'
  return ANTHROPIC_TYPES.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error')
}

/** An error as Anthropic's clients read it. `status`: what it is answered with. Source: SPEC 16 "`/v1/messages` uses Anthropic's shape". */
export function anthropicErrorBody(error: Hal0Error, requestId: string, status = error.status): AnthropicErrorBody {
  const { message, code, param, details } = errorBody(error, { requestId }).error
  return {
    type: 'error',
    error: { type: anthropicType(error, status), message, code, param, details: { error_code: code, ...details } },
    request_id: requestId,
  }
}

/** The error body of any dialect. `type`: instead of the registry's, where the dialect leaves the word open. */
export function dialectErrorBody(
  error: Hal0Error,
  requestId: string,
  as: { readonly dialect?: ApiDialect; readonly status?: number; readonly type?: string },
): ErrorBody | AnthropicErrorBody {
  if (as.dialect === 'anthropic') return anthropicErrorBody(error, requestId, as.status)
  return errorBody(error, { requestId, ...(as.type === undefined ? {} : { type: as.type }) })
}
