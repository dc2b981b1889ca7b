import type { PullJob, PullRequest } from '../../contract/pull.ts'

/** Downloads of models, one job per model. A job goes on whoever watches it; its parts survive the daemon and are taken up again. */
export interface Pulls {
  /**
   * Begins, or takes up what an earlier pull left. Resolves once the hub has said what there is to fetch.
   * Errors: `pull.in_progress`, `hub.unreachable`, `validation.invalid` (no repo, no such file), `model.insufficient_disk`, `model.exists`
   * (the id is another file's).
   */
  start(id: string, request: PullRequest): Promise<PullJob>
  /** Running ones and the last finished one of each model, newest first. */
  list(): readonly PullJob[]
  /** Errors: `model.not_found` when there was no pull of it. */
  show(id: string): PullJob
  /** Stops it; what is on disk stays for the next pull. Does nothing when it is over. Errors: `model.not_found`. */
  cancel(id: string): Promise<PullJob>
  /** The job now, then at each change, at most four times a second; ends with the job, or with `signal`. */
  follow(id: string, signal: AbortSignal): AsyncGenerator<PullJob, void, void>
  /** Stops all; parts stay. */
  close(): Promise<void>
}
