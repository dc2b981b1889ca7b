import type { Booking } from '../rules/booking.ts'

/** The bookings of all lanes as the loops and the gateway read them: from memory, at the moment. Source: SPEC 12, 13. */
export interface Calendar {
  /** In force or pending, `endMs > nowMs`, in order of start; the same array until something changes. */
  upcoming(lane: string, nowMs: number): readonly Booking[]
  /** Start of the last booking in force (or that was) which has started, epoch ms; `-Infinity` = none. Cancelled before their start: not counted. */
  lastStartMs(lane: string, nowMs: number): number
  /** Told of every change, by lane: bookings, or that the store can (not) be read. */
  onChange(listener: (lane: string) => void): () => void
  /**
   * The moment has come: pending past its start → rejected, approved → active, active past its end → completed, unused past `noShowMs`
   * after its start → ended_early (released). `isServing`: the lane serves that booking's holder now, which a no-show is only counted from.
   * Writes, notifies, and says the next moment at which something is due (epoch ms; undefined = nothing). Never throws: while the store
   * cannot be written the windows count by the clock alone, and the statuses follow when it can.
   */
  settle(lane: string, nowMs: number): number | undefined
  /** A holder's request was served. Costs next to nothing after the first. */
  used(bookingId: string, nowMs: number): void
  /** Why bookings cannot be read or written at present; undefined = they can. */
  readonly problem: string | undefined
}
