import { type Caller, isAdmin, nameOf, userIdOf } from '../../access/caller.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { listNames } from '../../kernel/list-names.ts'
import type { Result } from '../../kernel/result.ts'
import { HOUR_MS, isoTime } from '../../kernel/units.ts'
import type { Booking } from '../rules/booking.ts'
import { type BrokenLimit, checkLimits, weeksAround } from '../rules/booking-limits.ts'
import { type BookingWindow, invalid, readZone } from '../rules/booking-window.ts'
import { findFreeWindow } from '../rules/find-free-window.ts'
import { findOverlaps, type Overlap } from '../rules/find-overlaps.ts'
import type { BookingStore } from './booking-store.ts'
import type { BookingTeller } from './booking-teller.ts'
import type { BookingsDeps, LaneFacts } from './bookings-deps.ts'
import type { Reservation } from './reservation.ts'
import { conflictRow, personName, windowRow } from './reservation-row.ts'
import type { ReservationTable } from './reservation-table.ts'
import type { Settler } from './settle-bookings.ts'

const DAY_MS = 24 * HOUR_MS
/** So far ahead another window is looked for. */
const FREE_WITHIN_MS = 14 * DAY_MS

/** What all who write bookings share. */
export interface Desk {
  readonly deps: BookingsDeps
  readonly store: BookingStore
  readonly teller: BookingTeller
  readonly settler: Settler
}

export function unwrap<T>(result: Result<T, Hal0Error>): T {
  if (!result.ok) throw result.error
  return result.value
}

/** Errors: `lane.not_found`. */
export function laneFacts({ deps }: Desk, name: string): LaneFacts {
  const facts = deps.lane(name)
  if (facts !== undefined) return facts
  const lanes = deps.lanes()
  const known = lanes.length === 0 ? 'there is none' : `there are ${listNames(lanes)}`
  throw Hal0Error.of('lane.not_found', `there is no lane ${JSON.stringify(name)}; ${known}`, { param: 'lane' })
}

/** Errors: `reservation.not_found`. */
export function needReservation(table: ReservationTable, id: string): Reservation {
  const found = table.get(id)
  if (found !== undefined) return found
  throw Hal0Error.of('reservation.not_found', `there is no reservation ${JSON.stringify(id)}`, {
    param: 'id',
    details: { remedy: 'Look for its id with `hal0 reservation list`.' },
  })
}

/** Errors: `auth.forbidden` unless it is the owner, or an admin. */
export function requireOwner({ id, ownerId }: Reservation, by: Caller): void {
  if (isAdmin(by) || ownerId === userIdOf(by)) return
  const message = `reservation ${id} is not ${nameOf(by)}'s: only its owner and admins may change it`
  throw Hal0Error.of('auth.forbidden', message, { param: 'id' })
}

/** The zone of times without an offset, and of repeats. Errors: `validation.invalid`. */
export function zoneFor({ deps }: Desk, asked: string | undefined, by: Caller): string {
  return unwrap(readZone(asked ?? deps.people.byId(userIdOf(by))?.timeZone ?? 'UTC'))
}

/** Ids of users by name, each once, without the owner's. Errors: `validation.invalid` naming those who are nobody. */
export function memberIdsOf({ deps }: Desk, names: readonly string[], ownerId: string): readonly string[] {
  const unknown = names.filter((name) => deps.people.byName(name) === undefined)
  if (unknown.length > 0) {
    throw invalid('members', `members: there is no user ${listNames(unknown.map((name) => JSON.stringify(name)))}`)
  }
  const ids = names.flatMap((name) => deps.people.byName(name)?.id ?? [])
  return [...new Set(ids)].filter((id) => id !== ownerId)
}

/** What somebody wants the lane to run. */
export interface WantedUse {
  readonly exclusive: boolean
  readonly model: string | undefined
  readonly profile: string | undefined
}

/** Nothing named = the lane's default. Errors: `validation.invalid`, `model.not_found`, `profile.not_found`. */
export async function resolveUse(
  { deps }: Desk,
  lane: string,
  { defaultTarget }: LaneFacts,
  { exclusive, model, profile }: WantedUse,
): Promise<Booking['use']> {
  if (exclusive) {
    if (model === undefined && profile === undefined) return { kind: 'exclusive' }
    throw invalid(
      'exclusive',
      'exclusive: an exclusive booking loads no model; leave out exclusive, or model and profile',
    )
  }
  if (model !== undefined) return { kind: 'model', ...(await deps.resolveTarget(lane, model, profile)) }
  if (defaultTarget.kind === 'nothing') {
    throw invalid('model', `model: lane ${lane} has no default model; name the model it should run`)
  }
  const wanted = profile ?? defaultTarget.profile
  return { kind: 'model', ...(await deps.resolveTarget(lane, defaultTarget.model, wanted)) }
}

/** A booking, or several, about to be written. */
export interface LimitSubject {
  readonly facts: LaneFacts
  readonly lane: string
  readonly ownerId: string
  /** As they were asked for, in order. */
  readonly windows: readonly BookingWindow[]
  readonly use: Booking['use']
  readonly added: number
  /** '' = it is new. */
  readonly exceptId: string
}

/** Which limits would it break? Whether the caller is exempt is another question. */
export function brokenLimits({ deps }: Desk, table: ReservationTable, subject: LimitSubject): readonly BrokenLimit[] {
  const { facts, lane, ownerId, windows, use, added, exceptId } = subject
  const { limits, allow_exclusive: allowExclusive } = facts.config
  const zoneOfOwner = readZone(deps.people.byId(ownerId)?.timeZone ?? 'UTC')
  const zone = zoneOfOwner.ok ? zoneOfOwner.value : 'UTC'
  const countsWeeks = limits.max_hours_per_week > 0
  return checkLimits({
    nowMs: deps.clock.nowMs(),
    limits,
    allowExclusive,
    isExclusive: use.kind === 'exclusive',
    windows,
    added,
    open: table.countOpen(lane, ownerId),
    zone,
    others: countsWeeks ? table.ownedWithin(lane, ownerId, weeksAround(windows, zone), exceptId) : [],
  })
}

/** Errors: `reservation.limit` listing all. */
export function refuseLimits(lane: string, broken: readonly BrokenLimit[]): void {
  if (broken.length === 0) return
  throw Hal0Error.of('reservation.limit', `lane ${lane} does not allow it: ${limitsText(broken)}`, {
    details: { limits: broken },
  })
}

function limitsText(broken: readonly BrokenLimit[]): string {
  return broken.map(({ limit, message }) => `${limit}: ${message}`).join('; ')
}

/** What is in the way of these windows, in order. */
export function overlapsOf(
  table: ReservationTable,
  lane: string,
  windows: readonly BookingWindow[],
  exceptId?: string,
): readonly Overlap<Reservation>[] {
  const [first, last] = [windows[0], windows.at(-1)]
  if (first === undefined || last === undefined) return []
  const near = table.blockingWithin(lane, { startMs: first.startMs, endMs: last.endMs })
  return findOverlaps(windows, near, exceptId)
}

/**
 * Where else would it fit: the first free window of the same length, from its start on. Undefined = not within two weeks, nor within what the
 * lane's limits allow. Of windows that belong together none is looked for. `subject`: whose limits it has to keep; undefined = they are exempt.
 */
export function nextFree(
  desk: Desk,
  table: ReservationTable,
  lane: string,
  windows: readonly BookingWindow[],
  { subject, exceptId }: { readonly subject: LimitSubject | undefined; readonly exceptId?: string },
): BookingWindow | undefined {
  const { deps } = desk
  const [wanted, ...others] = windows
  if (wanted === undefined || others.length > 0) return undefined
  const lengthMs = wanted.endMs - wanted.startMs
  const nowMs = deps.clock.nowMs()
  const fromMs = Math.max(wanted.startMs, nowMs)
  const daysAhead = deps.lane(lane)?.config.limits.max_days_ahead ?? 0
  const lastStartMs = Math.min(fromMs + FREE_WITHIN_MS, nowMs + daysAhead * DAY_MS)
  const bookings = table.blockingWithin(lane, { startMs: fromMs, endMs: lastStartMs + lengthMs })
  const free = findFreeWindow({ lengthMs, fromMs, lastStartMs, bookings, exceptId })
  if (free === undefined || subject === undefined) return free
  // What would be refused next is no offer.
  return brokenLimits(desk, table, { ...subject, windows: [free] }).length === 0 ? free : undefined
}

/** `broken`: limits that forbid it too. Errors: `reservation.overlap` naming all, what else is in the way, and where it would fit. */
export function refuseOverlaps(
  { deps, store }: Desk,
  lane: string,
  overlaps: readonly Overlap<Reservation>[],
  free: () => BookingWindow | undefined,
  broken: readonly BrokenLimit[],
): void {
  if (overlaps.length === 0) return
  // One that is not known here was written by another process.
  if (overlaps.some(({ booking }) => store.mirror.get(booking.id) === undefined)) {
    queueMicrotask(() => store.reloadLane(lane))
  }
  const named = overlaps.map(({ booking: { id, ownerId, startMs, endMs } }) => {
    return `${id} of ${personName(ownerId, deps.people)} (${isoTime(startMs)} to ${isoTime(endMs)})`
  })
  const row = windowRow(free())
  const where = row === null ? '' : `; it is free from ${row.start} to ${row.end}`
  const also = broken.length === 0 ? '' : `. It does not allow it either: ${limitsText(broken)}`
  const booked = `lane ${lane} is booked already: ${listNames(new Set(named))}`
  throw Hal0Error.of('reservation.overlap', `${booked}${where}${also}`, {
    details: {
      conflicts: overlaps.map((overlap) => conflictRow(overlap, deps.people)),
      ...(row && { next_free: row }),
      ...(broken.length > 0 && { limits: broken }),
    },
  })
}
