import { z } from 'zod'

/** As many rows as one answer holds. */
export const MAX_AUDIT_ROWS = 1_000

/** One thing that somebody did, or was not let do. Holds no key, password or token. Source: SPEC 14 "audit events". */
export const auditRowSchema = z.object({
  /** Rises with every row. */
  id: z.number().int().positive(),
  at: z.string(),
  /** Dotted: `access.key_created`, `admin.lanes`. */
  type: z.string(),
  /** Who did it, by the name of that moment; `local`: this machine's admin. Null = somebody unknown. */
  actor: z.object({ id: z.string(), name: z.string() }).nullable(),
  /** A sentence. */
  message: z.string(),
  data: z.record(z.string(), z.unknown()),
})
export type AuditRow = z.infer<typeof auditRowSchema>

/** GET /api/audit, newest first. */
export const auditListSchema = z.object({
  audit: z.array(auditRowSchema),
  /** What `?before=` takes for the rows that follow; null = there are none. */
  next: z.number().int().positive().nullable(),
})
export type AuditList = z.infer<typeof auditListSchema>
