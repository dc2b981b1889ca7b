import { z } from 'zod'
import { loadPhasesSchema } from './slot-row.ts'

/** One load that has ended, as the history keeps it. Source: SPEC 5 "Every load records the phases". */
export const loadRecordSchema = z.object({
  slot: z.string(),
  attempt_id: z.string(),
  model_id: z.string().nullable(),
  profile: z.string().nullable(),
  /** ISO 8601. */
  begun_at: z.string(),
  took_ms: z.number().int().nonnegative(),
  phases: loadPhasesSchema,
  /** `cancelled`: somebody wanted the slot to be off, or another launch, before it was ready. */
  outcome: z.enum(['ready', 'failed', 'cancelled']),
  /** Of the failure, or why it was cancelled and begun anew at once; else null. */
  code: z.string().nullable(),
})
export type LoadRecord = z.infer<typeof loadRecordSchema>

/** GET /api/slots/{n}/loads, newest first. */
export const loadListSchema = z.object({ loads: z.array(loadRecordSchema) })
