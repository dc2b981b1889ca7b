import { z } from 'zod'
import { errorBodySchema } from './error-body.ts'
import { slotRowSchema } from './slot-row.ts'

export const OPERATION_KINDS = ['load', 'unload', 'restart', 'swap'] as const
export const operationKindSchema = z.enum(OPERATION_KINDS)
export type OperationKind = z.infer<typeof operationKindSchema>

export const OPERATION_STATES = ['running', 'done', 'failed'] as const

/** A slot operation that outlives the request that began it. Source: SPEC 16 "?wait=". */
export const operationSchema = z.object({
  id: z.string(),
  kind: operationKindSchema,
  slot: z.string(),
  state: z.enum(OPERATION_STATES),
  /** ISO 8601 UTC. */
  started_at: z.string(),
  /** ISO 8601 UTC; null while it runs. */
  finished_at: z.string().nullable(),
  /** The end state; set exactly when `state` is `done`. */
  result: slotRowSchema.nullable(),
  /** The same `error` object that a waiting caller got; set exactly when `state` is `failed`. */
  error: errorBodySchema.shape.error.nullable(),
})
export type Operation = z.infer<typeof operationSchema>
