import type { LanePhase, LaneTarget, TargetReason } from '../../contract/lane.ts'
import type { NoticeEvent } from '../../contract/notification.ts'

/** What is told of a moment of a simulated day, as data. `text`: the same for people, without time and lane. */
export type SimulationEntry = {
  /** ISO 8601 UTC, of the wall clock. */
  readonly at: string
  readonly lane: string
  readonly text: string
} & SimulationFact

export type SimulationFact =
  | {
      /** The lane does or wants something else from now on. */
      readonly kind: 'lane'
      readonly phase: LanePhase
      /** What it is on, or on its way to. */
      readonly current: LaneTarget
      readonly target: LaneTarget
      readonly reason: TargetReason
      /** That it is decided for; null = none. */
      readonly reservation: string | null
      readonly is_fallback: boolean
    }
  /** What became of a booking. `event`: as on the bus, without `reservation.`. */
  | { readonly kind: 'booking'; readonly reservation: string; readonly event: string }
  | { readonly kind: 'warning'; readonly reservation: string }
  /** Somebody wanted something and did not get it. `code`: of the error. */
  | { readonly kind: 'refused'; readonly code: string }
  | {
      readonly kind: 'notice'
      readonly event: NoticeEvent
      readonly reservation: string
      readonly to: readonly string[]
    }
  | {
      readonly kind: 'request'
      readonly user: string
      readonly outcome: 'served' | 'refused' | 'cut'
      readonly code: string | null
    }
  | { readonly kind: 'failure'; readonly model: string; readonly failures: number }
  /** An admin has chosen by hand, or taken that back. */
  | { readonly kind: 'manual' }
  /** Something else that the scenario has brought about. */
  | { readonly kind: 'step' }

/** What a lane's day came to. Minutes are rounded to a tenth. */
export interface LaneSummary {
  readonly lane: string
  /** Within bookings: a holder would be served. */
  readonly ready_for_holders_min: number
  /** Of these: by the default in the place of what was booked. */
  readonly on_fallback_min: number
  /** Within bookings: a holder would not be served; of exclusive ones: the lane was not empty yet. */
  readonly holders_waited_min: number
  /** Within exclusive bookings: the lane was empty. */
  readonly exclusive_min: number
  /** So often it went to another target, the first one included. */
  readonly switches: number
  readonly loads: number
  readonly failed_loads: number
  readonly served: number
  readonly refused: number
  readonly cut: number
}

/** A simulated day. */
export interface SimulationReport {
  readonly time_zone: string
  readonly start: string
  readonly end: string
  readonly timeline: readonly SimulationEntry[]
  readonly lanes: readonly LaneSummary[]
}
