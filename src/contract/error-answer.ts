import type { Hal0Error } from '../kernel/errors.ts'
import { maskKeys } from '../kernel/mask-keys.ts'
import { retryAfterSeconds, SECOND_MS } from '../kernel/units.ts'
import type { ApiDialect } from './api-dialect.ts'
import { dialectErrorBody } from './error-dialect.ts'

/** An HTTP answer that is an error, ready to be written. */
export interface ErrorAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Where the answer differs from what the registry says of the code. */
export interface ErrorAnswerAs {
  readonly status?: number
  /** Not in Anthropic's dialect: there it follows from the status. */
  readonly type?: string
  /** An engine's own word on when to ask again, s; only where the error has none. */
  readonly retryAfterS?: number
  /** Absent = `openai`. */
  readonly dialect?: ApiDialect
}

/**
 * How does an error go out over HTTP? The one body of its dialect, `Retry-After` (whole seconds ≥ 1) where it cures itself, the request id for the
 * log. Every room answers with it. Source: SPEC 16, 20.
 */
export function errorAnswer(error: Hal0Error, requestId: string, as: ErrorAnswerAs = {}): ErrorAnswer {
  const { status = error.status } = as
  const retryAfterS = error.retryAfterS ?? as.retryAfterS
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-request-id': requestId,
      // Where Anthropic's clients look for it.
      ...(as.dialect === 'anthropic' ? { 'request-id': requestId } : {}),
      ...(retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterSeconds(retryAfterS * SECOND_MS)) }),
    },
    // Details repeat names too.
    body: maskKeys(JSON.stringify(dialectErrorBody(error, requestId, as))),
  }
}
