import { z } from 'zod'

export const SEVERITIES = ['info', 'warning', 'error'] as const

/** One event on the bus and on the wire. Source: SPEC 17. */
export const hal0EventSchema = z.object({
  /** Rises by one per event within a daemon's life; the SSE id. */
  id: z.number().int().positive(),
  ts: z.string(),
  /** Dotted, for example `slot.state`, `slot.load_failed`, `daemon.started`. */
  type: z.string(),
  severity: z.enum(SEVERITIES),
  /** Who speaks: `slot:agent`, `daemon`, `config`. */
  source: z.string(),
  message: z.string(),
  data: z.record(z.string(), z.unknown()),
})
export type Hal0Event = z.infer<typeof hal0EventSchema>

/** What a publisher gives; the bus adds id and ts. */
export type NewEvent = Omit<Hal0Event, 'id' | 'ts'>
