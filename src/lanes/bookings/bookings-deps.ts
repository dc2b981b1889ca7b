import type { Database } from 'better-sqlite3'
import type { People } from '../../access/people.ts'
import type { NewEvent } from '../../contract/events.ts'
import type { LaneConfig } from '../../contract/lane-config.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Notices } from '../notices/notices.ts'
import type { LaneTarget } from '../rules/lane-target.ts'

/** What a lane's file says to whoever books it. */
export interface LaneFacts {
  readonly config: LaneConfig
  /** With the profile filled in; `nothing` = none. */
  readonly defaultTarget: LaneTarget
}

/** What bookings need of the others. */
export interface BookingsDeps {
  /** Undefined = hal0.db cannot be used in this life. */
  readonly db: Database | undefined
  readonly dbProblem?: string | undefined
  readonly clock: Clock
  readonly log: Log
  readonly publish: (event: NewEvent) => void
  readonly people: People
  readonly notices: Pick<Notices, 'tell'>
  /** Undefined = there is no such lane. */
  readonly lane: (name: string) => LaneFacts | undefined
  readonly lanes: () => readonly string[]
  /** Is the lane loading for it right now? */
  readonly isStarting: (bookingId: string) => boolean
  /** Fills in the profile. Rejects with `model.not_found`, `profile.not_found`. */
  readonly resolveTarget: (
    lane: string,
    model: string,
    profile: string | undefined,
  ) => Promise<{ readonly model: string; readonly profile: string }>
  /** Of `nothing`: how long the stop takes. */
  readonly estimateMs: (lane: string, target: LaneTarget) => number
  readonly exceedsVram: (lane: string, model: string) => Promise<boolean>
  /** Was it ever loaded on this lane? Absent = nobody knows. */
  readonly hasLoaded?: (lane: string, target: LaneTarget) => boolean
  /** For tests; `kind` is the first letter. */
  readonly newId?: (kind: 'r' | 's') => string
}
