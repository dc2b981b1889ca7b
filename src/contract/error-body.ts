import { z } from 'zod'
import type { Hal0Error } from '../kernel/errors.ts'

/** The error body of every route but Anthropic's (SPEC 16); the official SDKs parse it. */
export const errorBodySchema = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
    /** Always has `remedy` (the registry's, or a more exact one of the error itself); the rest depends on the code. */
    details: z.record(z.string(), z.unknown()),
  }),
})

export type ErrorBody = z.infer<typeof errorBodySchema>

/** What an answer says besides the error itself. */
export interface ErrorBodyExtras {
  /** Finds the request in the daemon's log. */
  readonly requestId?: string
  /** Instead of the registry's: an engine's own word for its error. */
  readonly type?: string
}

export function errorBody(error: Hal0Error, extras: ErrorBodyExtras = {}): ErrorBody {
  const { requestId, type } = extras
  return {
    error: {
      message: error.message,
      type: type ?? error.entry.type,
      param: error.param ?? null,
      code: error.code,
      details: {
        remedy: error.entry.remedy,
        ...error.details,
        ...(error.retryAfterS === undefined ? {} : { retry_after_s: error.retryAfterS }),
        ...(requestId === undefined ? {} : { request_id: requestId }),
      },
    },
  }
}
