import ical, { ICalEventStatus } from 'ical-generator'
import type { ReservationRow } from '../contract/reservation.ts'
import { MINUTE_MS, SECOND_MS } from '../kernel/units.ts'
import { targetText } from './rules/lane-target.ts'

/** How often calendar programs are asked to look again. */
const REFRESH_S = (15 * MINUTE_MS) / SECOND_MS

export interface CalendarQuestion {
  readonly lane: string
  /** As its reader may see them; any status. */
  readonly rows: readonly ReservationRow[]
  /** Of this hal0, for the calendar's name: people may follow several. */
  readonly host: string
}

/**
 * The bookings of a lane as an iCalendar file (RFC 5545): one event each, under a UID that never changes; pending ones are tentative, rejected and
 * cancelled ones left out. All times in UTC. Which state of a booking is the newer one is told by SEQUENCE, LAST-MODIFIED and DTSTAMP. Source: SPEC 13 "iCalendar feed".
 */
export function renderCalendar({ lane, rows, host }: CalendarQuestion): string {
  const calendar = ical({
    // The library escapes texts of events, not this one.
    name: escapeText(cleanText(`hal0 ${lane} (${host})`)),
    prodId: { company: 'hal0', product: 'lanes' },
    ttl: REFRESH_S,
  })
  for (const row of rows) {
    const status = statusOf(row)
    // One that was ended at its very start took no time; an event of no length is none (RFC 5545 3.8.2.2).
    if (status === undefined || Date.parse(row.end) <= Date.parse(row.start)) continue
    const changed = new Date(row.changed_at)
    calendar.createEvent({
      id: `${row.id}@hal0`,
      stamp: changed,
      start: new Date(row.start),
      end: new Date(row.end),
      created: new Date(row.created_at),
      lastModified: changed,
      sequence: row.revision,
      status,
      summary: cleanText(summaryOf(row)),
      description: cleanText(descriptionOf(row)),
      location: lane,
    })
  }
  // The last line ends as all others do.
  return `${calendar.toString()}\r\n`
}

function statusOf({ status }: ReservationRow): ICalEventStatus | undefined {
  switch (status) {
    case 'pending':
      return ICalEventStatus.TENTATIVE
    case 'approved':
    case 'active':
    case 'completed':
    case 'ended_early':
      return ICalEventStatus.CONFIRMED
    case 'rejected':
    case 'cancelled':
      return undefined
  }
}

/** `Evaluation: qwen (profile chat), alice`; what the reader may not see is left out. */
function summaryOf({ title, target, owner }: ReservationRow): string {
  const use = target === null ? 'exclusive' : targetText(target)
  return `${title === '' ? '' : `${title}: `}${use}${owner.name === '' ? '' : `, ${owner.name}`}`
}

function descriptionOf({ id, lane, status, members }: ReservationRow): string {
  const shared = members.length === 0 ? [] : [`With ${members.map(({ name }) => name).join(', ')}.`]
  return [`Booking of ${lane}, ${status}.`, ...shared, `hal0 reservation show ${id}`].join('\n')
}

/** Without what RFC 5545 does not allow in a text (control characters but tab and line breaks), nor what is no character in UTF-8. */
function cleanText(text: string): string {
  return text.replace(/(?![\t\n\r])\p{Cc}/gu, '').replace(/\p{Surrogate}/gu, '\uFFFD')
}

function escapeText(text: string): string {
  return text.replace(/[\\;,]/g, (one) => `\\${one}`).replace(/[\r\n]+/g, ' ')
}
