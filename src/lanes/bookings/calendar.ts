import type { Booking } from '../rules/booking.ts'

/** When is an unused booking released? */
export interface NoShow {
  /** 0 = never. */
  readonly afterMs: number
  /** Since when the lane serves the holder of the running booking; undefined = not yet, and nobody can have used it. */
  readonly readySinceMs: number | undefined
}

/** The bookings of all lanes as the loops and the gateway read them: from memory, at the moment. Source: SPEC 12, 13. */
export interface Calendar {
  /** In force or pending, `endMs > nowMs`, in order of start; the same array until something changes. */
  upcoming(lane: string, nowMs: number): readonly Booking[]
  /** Start of the last booking in force (or that was) which has started, epoch ms; `-Infinity` = none. Cancelled before their start: not counted. */
  lastStartMs(lane: string, nowMs: number): number
  /** Told of every change, by lane: bookings, or that the store can (not) be read. */
  onChange(listener: (lane: string) => void): () => void
  /**
   * The moment has come: pending past its start → rejected (not approved in time), approved → active, active past its end → completed, and, where
   * `noShow.afterMs` is above 0, active without a request for so long since its start and since the lane was ready for it → ended_early (released).
   * Writes, notifies (started, starting soon, ending soon, ended, rejected), and says the next moment at which something is due (epoch ms; undefined
   * = nothing). Never throws: while the store cannot be written the windows count by the clock alone, and the statuses follow when it can.
   */
  settle(lane: string, nowMs: number, noShow: NoShow): number | undefined
  /** A holder's request was served. Costs next to nothing after the first. */
  used(bookingId: string, nowMs: number): void
  /** Why bookings cannot be read or written at present; undefined = they can. */
  readonly problem: string | undefined
  /** Why nobody can know the bookings at present; undefined = they are known, also while they cannot be written. */
  readonly unread: string | undefined
}
