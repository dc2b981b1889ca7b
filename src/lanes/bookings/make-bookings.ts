import { type Caller, isAdmin, LOCAL_USER_ID, nameOf, userIdOf } from '../../access/caller.ts'
import type {
  BookingCheck,
  BookingWarning,
  ReservationMade,
  ReservationRequest,
  ReservationStatus,
} from '../../contract/reservation.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { isoTime } from '../../kernel/units.ts'
import { type Booking, targetOf } from '../rules/booking.ts'
import type { BrokenLimit } from '../rules/booking-limits.ts'
import { bookingWarnings } from '../rules/booking-warnings.ts'
import { type BookingWindow, endIsPast, invalid, readWindow } from '../rules/booking-window.ts'
import { expandRepeat } from '../rules/expand-repeat.ts'
import {
  brokenLimits,
  type Desk,
  type LimitSubject,
  laneFacts,
  memberIdsOf,
  nextFree,
  overlapsOf,
  refuseLimits,
  refuseOverlaps,
  resolveUse,
  unwrap,
  zoneFor,
} from './booking-desk.ts'
import { unavailable } from './booking-outage.ts'
import type { Bookings } from './bookings.ts'
import type { LaneFacts } from './bookings-deps.ts'
import { newReservationId } from './new-reservation-id.ts'
import type { Reservation } from './reservation.ts'
import { conflictRow, reservationRow, windowRow } from './reservation-row.ts'
import type { ReservationTable } from './reservation-table.ts'

/** A request that makes sense: what it would book, if nothing is in the way. */
interface Plan {
  readonly facts: LaneFacts
  readonly ownerId: string
  readonly memberIds: readonly string[]
  readonly zone: string
  readonly use: Booking['use']
  /** As asked for: limits go by them. */
  readonly asked: readonly BookingWindow[]
  readonly windows: readonly BookingWindow[]
  readonly notes: readonly string[]
  readonly exceedsVram: boolean
  readonly needsApproval: boolean
}

/** New bookings, and what would become of them. */
export function createMaker(desk: Desk): Pick<Bookings, 'check' | 'create'> {
  const { deps, store, teller, settler } = desk

  async function planFor(request: ReservationRequest, by: Caller): Promise<Plan> {
    const facts = laneFacts(desk, request.lane)
    const ownerId = ownerOf(request.owner, by)
    const memberIds = memberIdsOf(desk, request.members, ownerId)
    const zone = zoneFor(desk, request.time_zone, by)
    windowsOf(request, zone, deps.clock.nowMs())
    const use = await resolveUse(desk, request.lane, facts, {
      exclusive: request.exclusive,
      model: request.model,
      profile: request.profile,
    })
    const exceedsVram = use.kind === 'model' && (await deps.exceedsVram(request.lane, use.model).catch(() => false))
    const needsApproval = facts.config.approval === 'required' && !isAdmin(by)
    // Read once more: that may have taken a while, and a start that has just passed is now.
    const times = windowsOf(request, zone, deps.clock.nowMs())
    return { facts, ownerId, memberIds, zone, use, exceedsVram, needsApproval, ...times }
  }

  function ownerOf(name: string | undefined, by: Caller): string {
    if (name === undefined) return usableOwner(userIdOf(by))
    const person = deps.people.byName(name)
    if (person?.id !== userIdOf(by) && !isAdmin(by)) {
      throw Hal0Error.of('auth.forbidden', `owner: only admins may book for somebody else`, { param: 'owner' })
    }
    if (person === undefined) throw invalid('owner', `owner: there is no user ${JSON.stringify(name)}`)
    if (person.isDisabled) throw invalid('owner', `owner: ${person.name} is disabled and could not use it`)
    return usableOwner(person.id)
  }

  /** Once users are defined nobody comes in as the local admin through the gateway: what it books nobody could use. */
  function usableOwner(id: string): string {
    if (id !== LOCAL_USER_ID || !deps.people.all().some((person) => person.id !== LOCAL_USER_ID)) return id
    throw Hal0Error.of(
      'validation.invalid',
      'owner: users are defined, and the key of this machine is none of theirs; say whose booking it is',
      {
        param: 'owner',
        details: { remedy: 'Name a user: `hal0 reservation add LANE --owner NAME`; `hal0 user list` lists them.' },
      },
    )
  }

  /** While it was planned the owner may have been deleted or disabled, and what they had was cancelled. Errors: `validation.invalid`. */
  function refuseGone(ownerId: string): void {
    const owner = deps.people.byId(ownerId)
    if (owner?.isDisabled !== false) throw invalid('owner', 'owner: that user has just been deleted or disabled')
  }

  function subjectOf({ lane }: ReservationRequest, plan: Plan): LimitSubject {
    const { facts, ownerId, asked, use } = plan
    return { facts, lane, ownerId, windows: asked, use, added: asked.length, exceptId: '' }
  }

  function warningsFor({ lane }: ReservationRequest, plan: Plan, outside: readonly BrokenLimit[]): BookingWarning[] {
    const { windows, use, exceedsVram, needsApproval, notes } = plan
    const target = targetOf({ use })
    const neverLoaded = target.kind === 'model' && deps.hasLoaded?.(lane, target) === false
    const estimateMs = (wanted: typeof target) => deps.estimateMs(lane, wanted)
    const bookings = store.mirror.blocking(lane)
    const facts = { windows, use, bookings, estimateMs, exceedsVram, neverLoaded, needsApproval, outside, notes }
    return [...bookingWarnings(facts)]
  }

  function reservationsOf(table: ReservationTable, request: ReservationRequest, plan: Plan): readonly Reservation[] {
    const taken = new Set<string>()
    const newId = (kind: 'r' | 's') => {
      let id = ''
      do id = (deps.newId ?? newReservationId)(kind)
      while (taken.has(id) || table.isTaken(id))
      taken.add(id)
      return id
    }
    const seriesId = plan.windows.length > 1 ? newId('s') : undefined
    const status: ReservationStatus = plan.needsApproval ? 'pending' : 'approved'
    const nowMs = deps.clock.nowMs()
    const memberIds = plan.memberIds.filter((id) => deps.people.byId(id) !== undefined)
    return plan.windows.map(({ startMs, endMs }) => ({
      id: newId('r'),
      lane: request.lane,
      ownerId: plan.ownerId,
      memberIds,
      title: request.title,
      startMs,
      endMs,
      bookedEndMs: endMs,
      status,
      use: plan.use,
      seriesId,
      timeZone: plan.zone,
      createdAtMs: nowMs,
      changedAtMs: nowMs,
      revision: 0,
      note: undefined,
      firstUsedMs: undefined,
    }))
  }

  return {
    async check(request, by): Promise<BookingCheck> {
      const plan = await planFor(request, by)
      if (store.problem !== undefined) throw unavailable(store.problem)
      const nowMs = deps.clock.nowMs()
      const subject = subjectOf(request, plan)
      const bounds = { subject: isAdmin(by) ? undefined : subject }
      const { overlaps, broken, free } = store.read((table) => ({
        free: nextFree(desk, table, request.lane, plan.windows, bounds),
        // One that nobody approved in time is over, whatever is written of it.
        overlaps: overlapsOf(table, request.lane, plan.windows).filter(
          ({ booking: { status, startMs } }) => status !== 'pending' || startMs > nowMs,
        ),
        broken: brokenLimits(desk, table, subject),
      }))
      const limits = isAdmin(by) ? [] : broken
      return {
        ok: overlaps.length === 0 && limits.length === 0,
        windows: plan.windows.map(({ startMs, endMs }) => ({ start: isoTime(startMs), end: isoTime(endMs) })),
        conflicts: overlaps.map((overlap) => conflictRow(overlap, deps.people)),
        next_free: overlaps.length === 0 ? null : windowRow(free),
        limits: [...limits],
        warnings: warningsFor(request, plan, isAdmin(by) ? broken : []),
        target: plan.use.kind === 'exclusive' ? null : targetOf(plan),
      }
    },
    async create(request, by): Promise<ReservationMade> {
      const plan = await planFor(request, by)
      settler.catchUp(request.lane)
      const { made, outside } = store.write((table) => {
        refuseGone(plan.ownerId)
        const subject = subjectOf(request, plan)
        const broken = brokenLimits(desk, table, subject)
        const forbidding = isAdmin(by) ? [] : broken
        const bounds = { subject: isAdmin(by) ? undefined : subject }
        const free = () => nextFree(desk, table, request.lane, plan.windows, bounds)
        refuseOverlaps(desk, request.lane, overlapsOf(table, request.lane, plan.windows), free, forbidding)
        refuseLimits(request.lane, forbidding)
        const reservations = reservationsOf(table, request, plan)
        for (const reservation of reservations) table.insert(reservation)
        return { value: { made: reservations, outside: broken }, changed: reservations }
      })
      for (const reservation of made) teller.event('created', reservation, by)
      if (plan.needsApproval) teller.notice('requested', made, { occasion: '', by })
      else teller.notice('approved', made, { occasion: '', by, detail: `It was booked by ${nameOf(by)}.` })
      const reservations = made.map((reservation) => reservationRow(reservation, by, deps.people))
      return { reservations, warnings: warningsFor(request, plan, outside) }
    },
  }
}

function windowsOf(
  request: ReservationRequest,
  zone: string,
  nowMs: number,
): Pick<Plan, 'asked' | 'windows' | 'notes'> {
  const { asked, window, notes } = unwrap(readWindow(request, zone, nowMs))
  if (request.repeat === undefined) return { asked: [asked], windows: [window], notes }
  const { windows, notes: more } = unwrap(expandRepeat(asked, request.repeat, zone, request.minutes))
  const lateMs = window.startMs - asked.startMs
  const booked = windows.map(({ startMs, endMs }, n) => {
    if (n > 0) return { startMs, endMs }
    return { startMs: window.startMs, endMs: request.minutes === undefined ? endMs : endMs + lateMs }
  })
  const first = booked[0]
  if (first !== undefined && first.endMs <= first.startMs) throw endIsPast(first.endMs, nowMs)
  return { asked: windows, windows: booked, notes: [...notes, ...more] }
}
