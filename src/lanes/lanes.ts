import type { Caller } from '../access/caller.ts'
import type { LaneExplanation, LaneManualAnswer, LaneManualRequest, LaneRow, LaneTimeline } from '../contract/lane.ts'
import type { SlotRow } from '../contract/slot-row.ts'

/** The lanes as people see and steer them. Errors of all: `lane.not_found`. Source: SPEC 12, 16. */
export interface Lanes {
  /** In order of name. `by`: who may know what of bookings. */
  rows(by: Caller): readonly LaneRow[]
  row(name: string, by: Caller): LaneRow
  /** `atMs` undefined = now. */
  explain(name: string, atMs: number | undefined): LaneExplanation
  /** Half-open window, epoch ms. */
  timeline(name: string, window: { readonly fromMs: number; readonly toMs: number }, by: Caller): LaneTimeline
  /** Errors: `reservation.state` during an active booking, `model.not_found`, `profile.not_found`, `lane.store_unavailable`. */
  setManual(name: string, request: LaneManualRequest, by: Caller): Promise<LaneManualAnswer>
  /** Idempotent. */
  clearManual(name: string, by: Caller): Promise<LaneRow>
  /** The engine is started anew at once, whoever uses it; what failed before is forgotten. Resolves when it is ready, or why it is not. */
  reload(name: string, by: Caller): Promise<SlotRow>
}
