import type { NoticeEvent, NotificationRow } from '../../contract/notification.ts'
import type { Booking } from '../rules/booking.ts'

/** One thing to be told about a booking. */
export interface Notice {
  readonly event: NoticeEvent
  readonly booking: Booking
  /**
   * Tells apart what may happen to a booking more than once (the end that is near); '' = once in its life. The same event, booking and occasion is
   * told once per person, also across restarts.
   */
  readonly occasion: string
  /** Sentences beyond what the event says by itself; '' = none. */
  readonly detail: string
  /** In its place for administrators, who may read what engines say. Absent = the same. */
  readonly adminDetail?: string
  /** Of a change: as the booking was before it. */
  readonly before?: Booking
  /** Who did it: is not told of their own deed. Undefined = hal0. */
  readonly byUserId?: string | undefined
  /** It waited for approval until then: the admins, who were asked, are told too. Absent = false. */
  readonly wasPending?: boolean
}

/** Tells people. Errors of `list`, `unread` and `markRead`: `lane.store_unavailable`. Source: SPEC 13 "Notifications". */
export interface Notices {
  /** Never throws; while the store cannot be written it is kept and told later. Within a transaction on hal0.db it is part of that one. */
  tell(notice: Notice): void
  /** Was anybody told this of the booking, also in an earlier life of hal0? False while it cannot be read. */
  wasTold(event: NoticeEvent, reservationId: string): boolean
  /** Newest first. */
  list(userId: string, options: { readonly unreadOnly: boolean; readonly limit: number }): readonly NotificationRow[]
  unread(userId: string): number
  /** Up to this id, or (undefined) all. */
  markRead(userId: string, upToId: number | undefined): void
  /** Why the last notice did not go out by a channel that is set up, and when; undefined = it did. Of this life of hal0 only. */
  readonly problem: string | undefined
  /** Nothing is sent any more. */
  close(): Promise<void>
}
