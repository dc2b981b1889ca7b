import type { Caller } from '../../access/caller.ts'
import type {
  BookingCheck,
  ReservationChange,
  ReservationMade,
  ReservationRequest,
  ReservationRow,
  ReservationStatus,
} from '../../contract/reservation.ts'

export interface ReservationQuery {
  readonly lane?: string
  /** `mine`: owner or member. */
  readonly mine?: boolean
  readonly status?: readonly ReservationStatus[]
  /** Those that touch the window; epoch ms. */
  readonly fromMs?: number
  readonly toMs?: number
  readonly limit?: number
}

/**
 * Bookings as people make them. Members see all windows of a lane (so that they know what is free), and the details of their own; admins all.
 * What may not be seen of others': title, members. Every write is one transaction, in the store when it resolves, and the lane looks at once.
 * Errors of all: `reservation.not_found`, `lane.not_found`, `auth.forbidden`, `lane.store_unavailable`, `validation.invalid`. Source: SPEC 13, 14.
 */
export interface Bookings {
  list(query: ReservationQuery, by: Caller): readonly ReservationRow[]
  show(id: string, by: Caller): ReservationRow
  /** Changes nothing. Conflicts, limits and warnings are the answer, no errors. */
  check(request: ReservationRequest, by: Caller): Promise<BookingCheck>
  /** All or nothing. Errors: also `reservation.overlap` (details.conflicts), `reservation.limit`, `model.not_found`, `profile.not_found`. */
  create(request: ReservationRequest, by: Caller): Promise<ReservationMade>
  /** Of an active one only the end (and members, title). Errors: also `reservation.state`, `reservation.overlap`, `reservation.limit`. */
  change(id: string, change: ReservationChange, by: Caller): Promise<ReservationRow>
  /** New end = the old one + minutes. As `change`. */
  extend(id: string, minutes: number, by: Caller): Promise<ReservationRow>
  /** Of an active one: ends it early. `series`: also those of its series that are still to come. Idempotent for what is over already. */
  cancel(id: string, options: { readonly series: boolean }, by: Caller): Promise<ReservationRow>
  /** Now. Errors: `reservation.state` unless active. */
  end(id: string, by: Caller): Promise<ReservationRow>
  /** Admins. `series`: all pending ones of its series. Errors: `reservation.state` unless pending. */
  approve(id: string, options: { readonly series: boolean }, by: Caller): Promise<ReservationRow>
  reject(
    id: string,
    options: { readonly series: boolean; readonly reason: string },
    by: Caller,
  ): Promise<ReservationRow>
}
