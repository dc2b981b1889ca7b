import type { ReservationStatus } from '../../contract/reservation.ts'
import type { LaneTarget } from './lane-target.ts'

/** A reservation as the rules see it. The window is half-open: `startMs ≤ t < endMs`, epoch ms. Source: SPEC 13. */
export interface Booking {
  readonly id: string
  readonly lane: string
  readonly ownerId: string
  /** User ids, without the owner's. */
  readonly memberIds: readonly string[]
  readonly startMs: number
  /** As it counts now: of one that was ended early, when that was. */
  readonly endMs: number
  readonly status: ReservationStatus
  /** `exclusive`: the whole card, nothing is loaded. */
  readonly use:
    | { readonly kind: 'model'; readonly model: string; readonly profile: string }
    | { readonly kind: 'exclusive' }
  /** First request of a holder, epoch ms; undefined = none yet. */
  readonly firstUsedMs: number | undefined
}

/** Does it say what the lane runs? A pending one does not. Source: SPEC 13. */
export function isInForce({ status }: Pick<Booking, 'status'>): boolean {
  return status === 'approved' || status === 'active'
}

/** Does it keep others from booking its window? */
export function isBlocking({ status }: Pick<Booking, 'status'>): boolean {
  return status === 'pending' || isInForce({ status })
}

/** Is it running? Decided by the clock, whatever its status was last written as. */
export function isRunning(booking: Pick<Booking, 'status' | 'startMs' | 'endMs'>, nowMs: number): boolean {
  return isInForce(booking) && booking.startMs <= nowMs && nowMs < booking.endMs
}

/** Owner and members hold it. Source: SPEC 13 "Holders". */
export function isHolder(booking: Pick<Booking, 'ownerId' | 'memberIds'>, userId: string): boolean {
  return booking.ownerId === userId || booking.memberIds.includes(userId)
}

export function targetOf({ use }: Pick<Booking, 'use'>): LaneTarget {
  return use.kind === 'exclusive' ? { kind: 'nothing' } : use
}
