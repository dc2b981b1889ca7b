import { retryAfterSeconds } from '../../kernel/units.ts'

/** What is known of a queue that is full. */
export interface FullQueue {
  /** Requests in it. */
  readonly queued: number
  /** Requests at once; null = not known, or as many as come: then only the load is waited for. */
  readonly parallel: number | null
  /** How long the last requests held the engine, on average; undefined = none has ended yet. */
  readonly meanLeaseMs: number | undefined
  /** What the load that runs may still take; 0 or less = none runs, or it is overdue. */
  readonly loadMs: number
}

/** Nobody is sent away for longer: what was counted on may be otherwise by then. */
const MAX_RETRY_S = 60

/** When is it worth to ask again? Whole seconds, 1 to 60: about when those that wait now have been served. Source: SPEC 11 "Queues". */
export function queueRetryAfterS({ queued, parallel, meanLeaseMs = 0, loadMs }: FullQueue): number {
  const serveMs = parallel === null ? 0 : (meanLeaseMs * queued) / parallel
  return Math.min(MAX_RETRY_S, retryAfterSeconds(Math.max(0, loadMs) + serveMs))
}
