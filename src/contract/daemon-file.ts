import { z } from 'zod'

/** `var-lib/hal0/daemon.json` (0600): how a client on this machine finds the daemon. Source: SPEC 2. */
export const daemonFileSchema = z.object({
  /** `http://HOST:PORT`, without a trailing slash. */
  url: z.string(),
  pid: z.number().int().positive(),
  /** ISO 8601 UTC. */
  started_at: z.string(),
  /** Drawn at each start: who can read the file is this machine's admin. Visible ASCII, so that it fits into a header. Source: SPEC 14. */
  local_key: z
    .string()
    .regex(/^[\x21-\x7e]+$/)
    .optional(),
})
export type DaemonFile = z.infer<typeof daemonFileSchema>
