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

export function errorBody(error: Hal0Error): ErrorBody {
  return {
    error: {
      message: error.message,
      type: error.entry.type,
      param: error.param ?? null,
      code: error.code,
      details: {
        remedy: error.entry.remedy,
        ...error.details,
        ...(error.retryAfterS === undefined ? {} : { retry_after_s: error.retryAfterS }),
      },
    },
  }
}
