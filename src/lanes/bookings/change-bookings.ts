import { type Caller, isAdmin, nameOf } from '../../access/caller.ts'
import type { ReservationChange } from '../../contract/reservation.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { MINUTE_MS } from '../../kernel/units.ts'
import { type Booking, isBlocking, targetOf } from '../rules/booking.ts'
import {
  endBeforeStart,
  endIsPast,
  invalid,
  LAST_MS,
  PAST_GRACE_MS,
  readTime,
  startIsPast,
} from '../rules/booking-window.ts'
import { sameTarget } from '../rules/lane-target.ts'
import {
  brokenLimits,
  type Desk,
  laneFacts,
  memberIdsOf,
  needReservation,
  nextFree,
  overlapsOf,
  refuseLimits,
  refuseOverlaps,
  requireOwner,
  resolveUse,
  unwrap,
  zoneFor,
} from './booking-desk.ts'
import type { Bookings } from './bookings.ts'
import { occasionOf, type Reservation, revised } from './reservation.ts'
import { reservationRow } from './reservation-row.ts'
import type { ReservationTable } from './reservation-table.ts'

/** What a change comes to, given the booking as it is at that moment. */
type Edit = (before: Reservation, nowMs: number) => Reservation

/** Moving, extending, renaming. */
export function createChanger(desk: Desk): Pick<Bookings, 'change' | 'extend'> {
  const { deps, store, teller, settler } = desk

  /** Everything is looked at within the transaction: what was read before may be another by then. */
  function apply(id: string, by: Caller, edit: Edit) {
    settler.catchUp(store.read((table) => needReservation(table, id)).lane)
    const { before, after } = store.write((table) => {
      const was = needReservation(table, id)
      requireOwner(was, by)
      refuseState(was)
      const nowMs = deps.clock.nowMs()
      const wanted = edit(was, nowMs)
      const isMoved = wanted.startMs !== was.startMs || wanted.endMs !== was.endMs
      const isOther = !sameUse(wanted, was)
      if (was.status === 'active') refuseActive(was, wanted)
      if (isMoved || isOther) refuseWindow(table, wanted, by)
      const now = revised(was, { ...wanted, status: statusOf(was, wanted, by) }, nowMs)
      table.update(now, was.status)
      return { value: { before: was, after: now }, changed: [now] }
    })

    teller.event('changed', after, by)
    // Each revision is told once.
    const occasion = occasionOf(after)
    const isTold = before.startMs !== after.startMs || before.endMs !== after.endMs || !sameUse(before, after)
    if (isTold) {
      teller.notice('changed', [after], { occasion, by, before, detail: `It was changed by ${nameOf(by)}.` })
    }
    // What an admin was asked about is not what waits now.
    if (after.status === 'pending' && (isTold || before.status !== 'pending')) {
      const detail =
        before.status === 'pending'
          ? 'This takes the place of what was asked for before.'
          : 'It was approved before, and has been changed.'
      teller.notice('requested', [after], { occasion, by, before, detail })
    }
    return reservationRow(after, by, deps.people)
  }

  /** What an admin approved is what was asked for then: within its window it may shrink, everything else is asked anew. */
  function statusOf(was: Reservation, wanted: Reservation, by: Caller): Reservation['status'] {
    if (was.status !== 'approved' || isAdmin(by)) return was.status
    if (deps.lane(was.lane)?.config.approval !== 'required') return was.status
    const isWithin = was.startMs <= wanted.startMs && wanted.endMs <= was.endMs
    return isWithin && sameUse(was, wanted) ? was.status : 'pending'
  }

  function refuseWindow(table: ReservationTable, wanted: Reservation, by: Caller): void {
    const { id, lane, ownerId, use, status } = wanted
    // One that runs cannot be moved.
    const subject = isAdmin(by)
      ? undefined
      : { facts: laneFacts(desk, lane), lane, ownerId, windows: [wanted], use, added: 0, exceptId: id }
    const broken = subject === undefined ? [] : brokenLimits(desk, table, subject)
    const free = () =>
      status === 'active' ? undefined : nextFree(desk, table, lane, [wanted], { subject, exceptId: id })
    refuseOverlaps(desk, lane, overlapsOf(table, lane, [wanted], id), free, broken)
    refuseLimits(lane, broken)
  }

  function refuseState({ id, status }: Reservation): void {
    if (!isBlocking({ status })) {
      throw Hal0Error.of('reservation.state', `reservation ${id} is ${status}: it cannot be changed any more`)
    }
    if (!deps.isStarting(id)) return
    const message = `reservation ${id} is starting: its lane loads for it right now. Change it when that is over, or cancel it`
    throw Hal0Error.of('reservation.state', message)
  }

  /** The use a change asks for; undefined = it stays. */
  async function useOf(before: Reservation, change: ReservationChange): Promise<Booking['use'] | undefined> {
    const { model, profile, exclusive } = change
    if (model === undefined && profile === undefined && exclusive === undefined) return undefined
    const { use, lane } = before
    if (use.kind === 'exclusive' && exclusive !== false && model === undefined) {
      if (profile === undefined) return use
      throw invalid('profile', 'profile: the booking is exclusive and loads no model; name a model too')
    }
    const stays = exclusive !== true && model === undefined && use.kind === 'model'
    if (stays && profile === undefined) return use
    const wanted = { exclusive: exclusive === true, model: stays ? use.model : model, profile }
    return await resolveUse(desk, lane, laneFacts(desk, lane), wanted)
  }

  return {
    async change(id, change, by) {
      const found = store.read((table) => needReservation(table, id))
      requireOwner(found, by)
      const zone = zoneFor(desk, change.time_zone, by)
      const read = (text: string | undefined, param: string) =>
        text === undefined ? undefined : unwrap(readTime(text, zone, param)).ms
      const [startMs, endMs] = [read(change.start, 'start'), read(change.end, 'end')]
      const use = await useOf(found, change)
      return apply(id, by, (before, nowMs) => ({
        ...before,
        ...moved(before, { startMs, endMs }, nowMs),
        use: use ?? before.use,
        title: change.title ?? before.title,
        memberIds: change.members === undefined ? before.memberIds : memberIdsOf(desk, change.members, before.ownerId),
        timeZone: change.time_zone === undefined ? before.timeZone : zone,
      }))
    },
    async extend(id, minutes, by) {
      const moreMs = Math.round(minutes * MINUTE_MS)
      if (!(moreMs > 0)) throw invalid('minutes', 'minutes: expected more than 0')
      return apply(id, by, (before, nowMs) => ({
        ...before,
        ...moved(before, { startMs: undefined, endMs: before.endMs + moreMs }, nowMs),
      }))
    },
  }
}

/** The window after a change: what is undefined stays. A new start that has just passed is now. */
function moved(
  before: Reservation,
  wanted: { readonly startMs: number | undefined; readonly endMs: number | undefined },
  nowMs: number,
): Pick<Reservation, 'startMs' | 'endMs' | 'bookedEndMs'> {
  const { startMs: wantedMs = before.startMs, endMs = before.endMs } = wanted
  const { bookedEndMs } = before
  if (wantedMs === before.startMs && endMs === before.endMs) return { startMs: wantedMs, endMs, bookedEndMs }
  if (wantedMs !== before.startMs && wantedMs < nowMs - PAST_GRACE_MS) throw startIsPast(wantedMs, nowMs)
  const startMs = wantedMs === before.startMs ? wantedMs : Math.max(wantedMs, nowMs)
  if (endMs <= startMs) throw endBeforeStart(startMs, endMs)
  if (endMs <= nowMs) throw endIsPast(endMs, nowMs)
  if (endMs >= LAST_MS) throw invalid('end', 'end: it would end after the year 9999')
  return { startMs, endMs, bookedEndMs: endMs }
}

function refuseActive(before: Reservation, wanted: Reservation): void {
  const parts = [...(wanted.startMs === before.startMs ? [] : ['start']), ...(sameUse(wanted, before) ? [] : ['model'])]
  if (parts.length === 0) return
  const message = `reservation ${before.id} is active: its ${parts.join(' and ')} cannot change any more, only its end, title and members`
  throw Hal0Error.of('reservation.state', message, { param: parts[0] ?? 'start' })
}

function sameUse(a: Reservation, b: Reservation): boolean {
  return sameTarget(targetOf(a), targetOf(b))
}
