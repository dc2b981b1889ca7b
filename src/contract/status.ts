import { z } from 'zod'
import { slotStateSchema } from './slot-state.ts'

/** What the daemon knows about itself. Source: SPEC 2, 16. */
export const daemonFactsSchema = z.object({
  version: z.string(),
  /** Base URL of gateway and API, without a trailing slash. */
  url: z.string(),
  /** The HAL0_HOME folder, or `/` for the system-wide roots. */
  home: z.string(),
  pid: z.number().int().positive(),
  /** ISO 8601 UTC. */
  started_at: z.string(),
})
export type DaemonFacts = z.infer<typeof daemonFactsSchema>

/** GET /api/status. Source: SPEC 16. */
export const statusSchema = daemonFactsSchema.extend({
  /** Whole seconds since `started_at`. */
  uptime_s: z.number().int().nonnegative(),
  slots: z.object({
    total: z.number().int().nonnegative(),
    /** How many slots are in each state; a state without a slot is left out. */
    by_state: z.partialRecord(slotStateSchema, z.number().int().positive()),
  }),
  /** Requests that hold a lease, over all slots. */
  in_flight: z.number().int().nonnegative(),
  /** Requests that wait for a load or for a place, over all slots. */
  queued: z.number().int().nonnegative(),
  /** What is wrong with hal0.toml or models.toml, so that what the file said before still counts; null = nothing. */
  settings_problem: z.string().nullable(),
  /** Why loads are not written to hal0.db at present; null = they are. */
  history_problem: z.string().nullable(),
  /** Why notices do not go out by webhook or mail, as the last one showed, and when; null = they do, or none was sent. */
  notify_problem: z.string().nullable(),
})
export type Status = z.infer<typeof statusSchema>
