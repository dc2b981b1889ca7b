import type { NoticeEvent } from '../../../contract/notification.ts'
import type { Booking } from '../../rules/booking.ts'

/** As much of a person as decides whether they are told. */
interface Somebody {
  readonly id: string
  readonly isDisabled: boolean
}

export interface RecipientsQuestion<Person extends Somebody> {
  readonly event: NoticeEvent
  readonly booking: Pick<Booking, 'ownerId' | 'memberIds'>
  /** Who did it; undefined = hal0. */
  readonly byUserId: string | undefined
  readonly admins: readonly Person[]
  /** Did it wait for their approval until then? Absent = false. */
  readonly wasPending?: boolean
  /** Undefined = deleted. */
  readonly byId: (id: string) => Person | undefined
}

type Circle = 'holders' | 'admins' | 'both'

/** What only an admin can decide goes to admins; trouble of the machine to those whom it hits and those who mend it. */
const CIRCLES: Readonly<Record<NoticeEvent, Circle>> = {
  requested: 'admins',
  approved: 'holders',
  rejected: 'holders',
  cancelled: 'holders',
  changed: 'holders',
  starting_soon: 'holders',
  started: 'holders',
  fallback: 'both',
  recovered: 'both',
  memory_held: 'both',
  ending_soon: 'holders',
  ended: 'holders',
}

/** Who is told of it, each once: the owner, the members, then admins. Never who did it, nor who may not come in. Source: SPEC 12, 13. */
export function selectRecipients<Person extends Somebody>(question: RecipientsQuestion<Person>): readonly Person[] {
  const { event, booking, byUserId, admins, byId, wasPending } = question
  // Who was asked hears that there is nothing to decide any more.
  const circle = event === 'cancelled' && wasPending === true ? 'both' : CIRCLES[event]
  const holders = circle === 'admins' ? [] : [booking.ownerId, ...booking.memberIds].flatMap((id) => byId(id) ?? [])
  const chosen = new Map<string, Person>()
  for (const person of [...holders, ...(circle === 'holders' ? [] : admins)]) {
    if (person.isDisabled || person.id === byUserId || chosen.has(person.id)) continue
    chosen.set(person.id, person)
  }
  return [...chosen.values()]
}
