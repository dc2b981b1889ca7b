import type { TargetReason } from '../../contract/lane.ts'
import type { FailureCause } from '../../contract/slot-state.ts'
import type { Booking } from './booking.ts'
import type { LaneTarget } from './lane-target.ts'

/** What an admin put in the place of the default. Source: SPEC 12 "Target" 4. */
export interface ManualChoice {
  readonly target: LaneTarget
  readonly madeAtMs: number
  /** User name, for people. */
  readonly madeBy: string
  /** Undefined = until the next booking starts, or it is taken back. */
  readonly untilMs: number | undefined
}

/** The numbers of a lane that a decision needs. */
export interface LaneTimes {
  readonly minPreloadMs: number
  readonly bufferMs: number
  /** How long requests may run on before a switch; where that is more than the buffer, a lead has room for it. Absent = 0. */
  readonly drainMs?: number
  readonly stopTimeoutMs: number
}

/** A booking that a lane got ready for, and which branch said so: it is said until the lead begins. */
export interface Preparation {
  readonly bookingId: string
  /** Epoch ms. */
  readonly startMs: number
  readonly branch: 2 | 3
}

/** What a lane knows when it decides. All times epoch ms. */
export interface TargetQuestion extends LaneTimes {
  readonly nowMs: number
  /** Of this lane, any status, in order of start, not overlapping; those that are over do no harm. */
  readonly bookings: readonly Booking[]
  /** Start of the last booking that was in force and has started; `-Infinity` = none. Ends a manual choice made before. */
  readonly lastStartMs: number
  readonly manual: ManualChoice | undefined
  /** `nothing` = none. */
  readonly default: LaneTarget
  /** What the lane is on, or loading. */
  readonly current: LaneTarget
  /** What the lane went to its current target for, before that began. While it is still the next booking at the same start, it stays. */
  readonly preparedFor: Preparation | undefined
  /** How long a load takes, ms ≥ 0; of nothing: the stop timeout. May say something else at each decision. */
  readonly estimateMs: (target: LaneTarget) => number
}

/** What a lane should run. */
export interface TargetDecision {
  readonly target: LaneTarget
  readonly reason: TargetReason
  /** Number of the branch, as in SPEC 12. */
  readonly branch: 1 | 2 | 3 | 4 | 5
  /** The booking it was decided for (branches 1 to 3). */
  readonly booking: Booking | undefined
  /** The next moment at which the answer may be another, other things being equal; undefined = never by itself. Always > nowMs. */
  readonly reviewAtMs: number | undefined
}

/** A target that could not be loaded, or ended by itself. */
export interface TargetFailure {
  /** In a row, ≥ 1. */
  readonly failures: number
  readonly code: string
  /** What it means, where that is known. */
  readonly cause?: FailureCause | null
  /** Why, with what helps: for administrators. */
  readonly message: string
  readonly failedAtMs: number
  /** `after`: the delay of the next try. `never`: not before model or profile are others than `fingerprint` says. */
  readonly retry:
    | { readonly kind: 'after'; readonly delayMs: number }
    | { readonly kind: 'never'; readonly fingerprint: string }
}

/** What is to be done with a decision, as far as failures allow. */
export interface ServedQuestion {
  readonly nowMs: number
  readonly decision: TargetDecision
  readonly default: LaneTarget
  /** What the lane is on, or loading. */
  readonly current: LaneTarget
  /** Since when `current` can serve; undefined = it cannot (yet). */
  readonly readySinceMs: number | undefined
  /** Requests that hold a lease. */
  readonly inFlight: number
  /** By target; undefined = nothing stands against it. */
  readonly failureOf: (target: LaneTarget) => TargetFailure | undefined
}

/**
 * `run`: the lane goes to this target, or stays; `isFallback`: the default in the place of a reserved one. `wait`: nothing is tried before
 * `reviewAtMs` (undefined = not by itself), because `failure` stands against it; what still runs (`current`) is let be.
 */
export type ServedDecision =
  | {
      readonly kind: 'run'
      readonly target: LaneTarget
      readonly isFallback: boolean
      /** When a retry, or a better answer, is due; undefined = nothing is. Always > nowMs. */
      readonly reviewAtMs: number | undefined
    }
  | { readonly kind: 'wait'; readonly failure: TargetFailure; readonly reviewAtMs: number | undefined }
