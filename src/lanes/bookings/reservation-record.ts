import { reservationStatusSchema } from '../../contract/reservation.ts'
import type { Reservation } from './reservation.ts'

/** A row as SQLite gives and takes it. */
export interface ReservationRecord {
  readonly id: string
  readonly lane: string
  readonly owner_id: string
  readonly title: string
  readonly start_ms: number
  readonly end_ms: number
  readonly booked_end_ms: number
  readonly model: string | null
  readonly profile: string | null
  readonly status: string
  readonly series_id: string | null
  readonly time_zone: string
  readonly created_at_ms: number
  readonly changed_at_ms: number
  readonly revision: number
  readonly note: string | null
  readonly first_used_at_ms: number | null
  /** JSON list of user ids; only where it was asked for. */
  readonly members?: string
}

/** All columns of `reservations`. */
export const COLUMNS =
  'id, lane, owner_id, title, start_ms, end_ms, booked_end_ms, model, profile, status, series_id, time_zone, created_at_ms, changed_at_ms, revision, note, first_used_at_ms'

export function recordOf(reservation: Reservation): ReservationRecord {
  const { use } = reservation
  return {
    id: reservation.id,
    lane: reservation.lane,
    owner_id: reservation.ownerId,
    title: reservation.title,
    start_ms: reservation.startMs,
    end_ms: reservation.endMs,
    booked_end_ms: reservation.bookedEndMs,
    model: use.kind === 'model' ? use.model : null,
    profile: use.kind === 'model' ? use.profile : null,
    status: reservation.status,
    series_id: reservation.seriesId ?? null,
    time_zone: reservation.timeZone,
    created_at_ms: reservation.createdAtMs,
    changed_at_ms: reservation.changedAtMs,
    revision: reservation.revision,
    note: reservation.note ?? null,
    first_used_at_ms: reservation.firstUsedMs ?? null,
  }
}

/** A status that is none (edited by hand) is read as cancelled: it blocks nobody, and the other bookings go on. */
const statusOf = reservationStatusSchema.catch('cancelled')

export function reservationOf(record: ReservationRecord): Reservation {
  const { model, profile } = record
  return {
    id: record.id,
    lane: record.lane,
    ownerId: record.owner_id,
    memberIds: membersOf(record.members),
    title: record.title,
    startMs: record.start_ms,
    endMs: record.end_ms,
    bookedEndMs: record.booked_end_ms,
    use: model === null || profile === null ? { kind: 'exclusive' } : { kind: 'model', model, profile },
    status: statusOf.parse(record.status),
    seriesId: record.series_id ?? undefined,
    timeZone: record.time_zone,
    createdAtMs: record.created_at_ms,
    changedAtMs: record.changed_at_ms,
    revision: record.revision,
    note: record.note ?? undefined,
    firstUsedMs: record.first_used_at_ms ?? undefined,
  }
}

function membersOf(json: string | undefined): readonly string[] {
  if (json === undefined || json === '[]') return []
  const members: unknown = JSON.parse(json)
  return Array.isArray(members) ? members.map(String) : []
}
