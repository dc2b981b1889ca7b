import { LOCAL_USER_ID } from '../../access/caller.ts'
import { DELETED_USER, type People, type Person } from '../../access/people.ts'
import type { DaemonSettings } from '../../config/settings/daemon-settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Booking } from '../rules/booking.ts'
import { describeBooking } from './booking-facts.ts'
import type { NewNotice } from './notice-table.ts'
import type { Notice } from './notices.ts'
import { selectRecipients } from './rules/notice-recipients.ts'
import { planNoticeText } from './rules/notice-text.ts'
import { windowText } from './window-text.ts'

export interface NoticeAddressesDeps {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly people: Pick<People, 'byId' | 'admins'>
  readonly settings: () => DaemonSettings['notify']
}

/** Who is told of it, and what each of them reads: in their own zone, and no more than they may know. Source: SPEC 13 "Notifications". */
export function createNoticeAddresses({
  clock,
  people,
  settings,
}: NoticeAddressesDeps): (notice: Notice, nextId: () => number) => readonly NewNotice[] {
  function recipientsOf({ event, booking, byUserId, wasPending = false }: Notice): readonly Person[] {
    return selectRecipients({ event, booking, byUserId, wasPending, admins: admins(), byId: (id) => people.byId(id) })
  }

  /** On a machine without users its own admin decides. */
  function admins(): readonly Person[] {
    const local = people.byId(LOCAL_USER_ID)
    const found = people.admins()
    return found.length === 0 && local !== undefined ? [local] : found
  }

  function noticeFor(id: number, person: Person, { event, booking, before, occasion, ...told }: Notice): NewNotice {
    const owner = people.byId(booking.ownerId)
    const windowOf = ({ startMs, endMs }: Booking) => windowText(startMs, endMs, person.timeZone)
    const window = windowOf(booking)
    const was = before && { window: windowOf(before), use: before.use, status: before.status }
    const ownerName = owner?.name ?? DELETED_USER
    const isOwner = person.id === booking.ownerId
    const { lane, use, status, id: bookingId } = booking
    const isAdmin = told.adminDetail !== undefined && admins().some((admin) => admin.id === person.id)
    const detail = isAdmin ? (told.adminDetail ?? told.detail) : told.detail
    const { webhook, smtp } = settings()
    return {
      id,
      event,
      reservationId: bookingId,
      occasion,
      userId: person.id,
      lane,
      ...planNoticeText({ event, bookingId, lane, use, status, window, was, ownerName, isOwner, detail }),
      reservation: describeBooking(booking, owner),
      createdMs: Math.round(clock.nowMs()),
      readMs: undefined,
      channels: [
        ...(webhook === undefined ? [] : (['webhook'] as const)),
        ...(smtp === undefined || person.email === undefined ? [] : (['smtp'] as const)),
      ],
    }
  }

  return (notice, nextId) => recipientsOf(notice).map((person) => noticeFor(nextId(), person, notice))
}
