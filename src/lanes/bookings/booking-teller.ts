import { type Caller, nameOf, userIdOf } from '../../access/caller.ts'
import type { NewEvent } from '../../contract/events.ts'
import type { NoticeEvent } from '../../contract/notification.ts'
import type { Log } from '../../kernel/log.ts'
import { isoTime } from '../../kernel/units.ts'
import type { Notices } from '../notices/notices.ts'
import type { Reservation } from './reservation.ts'

/** Words of the events on the bus; each is `reservation.<word>`. Source: SPEC 17. */
export type BookingWord =
  | 'created'
  | 'approved'
  | 'rejected'
  | 'changed'
  | 'cancelled'
  | 'ended'
  | 'started'
  | 'completed'
  | 'released'
  | 'expired'

/** Says what became of bookings, once it is written. */
export interface BookingTeller {
  /** On the bus. `by` undefined = hal0. */
  event(word: BookingWord, reservation: Reservation, by: Caller | undefined): void
  /** To people. Of several that belong together only the first is told, with how many more there are. */
  notice(event: NoticeEvent, reservations: readonly Reservation[], more: NoticeFacts): void
}

export interface NoticeFacts {
  readonly occasion: string
  readonly detail?: string
  /** As it was before a change. */
  readonly before?: Reservation
  readonly by?: Caller | undefined
  /** Did one of them wait for approval until then? */
  readonly wasPending?: boolean
}

export interface BookingTellerDeps {
  readonly log: Log
  readonly publish: (event: NewEvent) => void
  readonly notices: Pick<Notices, 'tell'>
}

export function createBookingTeller({ log, publish, notices }: BookingTellerDeps): BookingTeller {
  return {
    event(word, reservation, by) {
      const { id, lane, startMs, endMs } = reservation
      const name = by === undefined ? 'hal0' : nameOf(by)
      const message = `reservation ${id} of ${lane} (${isoTime(startMs)} to ${isoTime(endMs)}): ${word} by ${name}`
      const data = { reservation: id, lane, by: name }
      log.info(data, message)
      publish({ type: `reservation.${word}`, severity: 'info', source: `lane:${lane}`, message, data })
    },
    notice(event, [booking, ...others], { occasion, detail = '', before, by, wasPending = false }) {
      if (booking === undefined) return
      const series = others.length === 0 ? '' : `The same goes for ${others.length} more of its series.`
      const sentences = [detail, series].filter((sentence) => sentence !== '').join(' ')
      const byUserId = by === undefined ? undefined : userIdOf(by)
      notices.tell({ event, booking, occasion, detail: sentences, byUserId, wasPending, ...(before && { before }) })
    },
  }
}
