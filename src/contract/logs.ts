import { z } from 'zod'

/** Lines of the engine's own output that one call may ask for. */
export const DEFAULT_LOG_LINES = 200
export const MAX_LOG_LINES = 10_000

/** GET /api/slots/{name}/logs as JSON: the last lines of the engine's own output, oldest first. Source: SPEC 16. */
export const slotLogsSchema = z.object({
  name: z.string(),
  /** Empty = the engine has written nothing yet. */
  lines: z.array(z.string()),
})
export type SlotLogs = z.infer<typeof slotLogsSchema>

/** `data` of one `event: line` of the log stream. JSON, because a line may hold carriage returns. */
export const logLineSchema = z.object({ line: z.string() })
export type LogLine = z.infer<typeof logLineSchema>
