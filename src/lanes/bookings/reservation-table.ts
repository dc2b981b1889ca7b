import type { Database } from 'better-sqlite3'
import type { ReservationStatus } from '../../contract/reservation.ts'
import type { BookingWindow } from '../rules/booking-window.ts'
import type { Reservation } from './reservation.ts'
import { COLUMNS, type ReservationRecord, recordOf, reservationOf } from './reservation-record.ts'

/** Which reservations? What is absent does not matter. Epoch ms. */
export interface TableQuery {
  readonly lane: string | undefined
  /** Owner or member. */
  readonly userId: string | undefined
  readonly status: readonly ReservationStatus[]
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
  readonly limit: number
}

/** The tables `reservations` and `reservation_members` of hal0.db. Errors of every call: SQLite's own. */
export interface ReservationTable {
  get(id: string): Reservation | undefined
  insert(reservation: Reservation): void
  /** Writes all of it but its id, lane, owner and when it was made. False = it is not there, or its status is not `was` any more. */
  update(reservation: Reservation, was: ReservationStatus): boolean
  /** Blocking ones of a lane that end after the window's start and start before its end; in order. */
  blockingWithin(lane: string, window: BookingWindow): readonly Reservation[]
  /** Blocking ones of all lanes, by lane and in order. */
  allBlocking(): readonly Reservation[]
  blockingOf(lane: string): readonly Reservation[]
  /** Start of the last one of each lane that is running or was, as far as its status says so. */
  lastStarts(): readonly { readonly lane: string; readonly startMs: number }[]
  countOpen(lane: string, ownerId: string): number
  /** What an owner has, had or wants of a lane within a window, but for one. */
  ownedWithin(lane: string, ownerId: string, window: BookingWindow, exceptId: string): readonly BookingWindow[]
  /** Blocking ones of an owner, of all lanes, by lane and in order. */
  openOf(ownerId: string): readonly Reservation[]
  /** Blocking ones that somebody is a member of; order as in `openOf`. */
  openWithMember(userId: string): readonly Reservation[]
  /** Pending and approved ones of a series, in order. */
  openOfSeries(seriesId: string): readonly Reservation[]
  setFirstUsed(id: string, usedMs: number): void
  /** In order of start; without `fromMs` the last ones. */
  find(query: TableQuery): readonly Reservation[]
  /** Everything of one person is another's from now on (epoch ms). */
  handOver(fromUserId: string, toUserId: string, nowMs: number): void
  isTaken(id: string): boolean
}

/** Only with exactly these words SQLite takes the index `reservations_open`. */
const BLOCKING = "status IN ('pending', 'approved', 'active')"
const SELECT = `SELECT ${COLUMNS}, (SELECT json_group_array(user_id) FROM reservation_members WHERE reservation_id = id) AS members FROM reservations`

export function openReservationTable(db: Database): ReservationTable {
  const one = db.prepare<[string], ReservationRecord>(`${SELECT} WHERE id = ?`)
  const insert = db.prepare(
    `INSERT INTO reservations (${COLUMNS}) VALUES (${COLUMNS.split(', ')
      .map((column) => `@${column}`)
      .join(', ')})`,
  )
  const update = db.prepare<ReservationRecord & { was: string }>(`
    UPDATE reservations SET title = @title, start_ms = @start_ms, end_ms = @end_ms, booked_end_ms = @booked_end_ms, model = @model,
      profile = @profile, status = @status, time_zone = @time_zone, note = @note, first_used_at_ms = @first_used_at_ms, changed_at_ms = @changed_at_ms,
      revision = @revision
    WHERE id = @id AND status = @was
  `)
  const addMember = db.prepare<[string, string]>(
    'INSERT INTO reservation_members (reservation_id, user_id) VALUES (?, ?)',
  )
  const dropMembers = db.prepare<[string]>('DELETE FROM reservation_members WHERE reservation_id = ?')
  // As they do not overlap, the order of their ends is that of their starts; by ends there is an index.
  const within = db.prepare<[string, number], ReservationRecord>(
    `${SELECT} WHERE lane = ? AND ${BLOCKING} AND end_ms > ? ORDER BY end_ms`,
  )
  const allBlocking = db.prepare<[], ReservationRecord>(
    `${SELECT} INDEXED BY reservations_open WHERE ${BLOCKING} ORDER BY lane, end_ms`,
  )
  const blockingOf = db.prepare<[string], ReservationRecord>(`${SELECT} WHERE lane = ? AND ${BLOCKING} ORDER BY end_ms`)
  const lastStarts = db.prepare<[], { lane: string; startMs: number }>(
    "SELECT lane, max(start_ms) AS startMs FROM reservations WHERE status IN ('active', 'completed', 'ended_early') GROUP BY lane",
  )
  const countOpen = db.prepare<[string, string], { n: number }>(
    `SELECT count(*) AS n FROM reservations INDEXED BY reservations_by_owner WHERE owner_id = ? AND lane = ? AND ${BLOCKING}`,
  )
  const owned = db.prepare<[string, number, string, number, string], { startMs: number; endMs: number }>(
    `SELECT start_ms AS startMs, end_ms AS endMs FROM reservations
     WHERE owner_id = ? AND start_ms < ? AND lane = ? AND end_ms > ? AND id <> ? AND status NOT IN ('rejected', 'cancelled')`,
  )
  const openOf = db.prepare<[string], ReservationRecord>(
    `${SELECT} INDEXED BY reservations_by_owner WHERE owner_id = ? AND ${BLOCKING} ORDER BY lane, end_ms`,
  )
  const openWith = db.prepare<[string], ReservationRecord>(
    `${SELECT} WHERE id IN (SELECT reservation_id FROM reservation_members WHERE user_id = ?) AND ${BLOCKING} ORDER BY lane, end_ms`,
  )
  const ofSeries = db.prepare<[string], ReservationRecord>(
    `${SELECT} WHERE series_id = ? AND status IN ('pending', 'approved') ORDER BY start_ms`,
  )
  const setUsed = db.prepare<[number, string]>(
    'UPDATE reservations SET first_used_at_ms = ? WHERE id = ? AND first_used_at_ms IS NULL',
  )
  const handOwned = db.prepare<[string, number, string]>(
    'UPDATE reservations SET owner_id = ?, changed_at_ms = ?, revision = revision + 1 WHERE owner_id = ?',
  )
  const handMember = db.prepare<[string, string]>(
    'UPDATE OR REPLACE reservation_members SET user_id = ? WHERE user_id = ?',
  )
  const dropOwnersOwn = db.prepare<[string, string]>(
    'DELETE FROM reservation_members WHERE user_id = ? AND reservation_id IN (SELECT id FROM reservations WHERE owner_id = ?)',
  )
  const taken = db.prepare<[string, string]>('SELECT 1 FROM reservations WHERE id = ? OR series_id = ?')

  return {
    get(id) {
      const record = one.get(id)
      return record === undefined ? undefined : reservationOf(record)
    },
    insert(reservation) {
      insert.run(recordOf(reservation))
      for (const userId of reservation.memberIds) addMember.run(reservation.id, userId)
    },
    update(reservation, was) {
      if (update.run({ ...recordOf(reservation), was }).changes === 0) return false
      dropMembers.run(reservation.id)
      for (const userId of reservation.memberIds) addMember.run(reservation.id, userId)
      return true
    },
    blockingWithin(lane, { startMs, endMs }) {
      const found: Reservation[] = []
      for (const record of within.iterate(lane, startMs)) {
        if (record.start_ms >= endMs) break
        found.push(reservationOf(record))
      }
      return found
    },
    allBlocking: () => allBlocking.all().map(reservationOf),
    blockingOf: (lane) => blockingOf.all(lane).map(reservationOf),
    lastStarts: () => lastStarts.all(),
    countOpen: (lane, ownerId) => countOpen.get(ownerId, lane)?.n ?? 0,
    ownedWithin: (lane, ownerId, { startMs, endMs }, exceptId) => owned.all(ownerId, endMs, lane, startMs, exceptId),
    openOf: (ownerId) => openOf.all(ownerId).map(reservationOf),
    openWithMember: (userId) => openWith.all(userId).map(reservationOf),
    openOfSeries: (seriesId) => ofSeries.all(seriesId).map(reservationOf),
    setFirstUsed: (id, usedMs) => void setUsed.run(usedMs, id),
    find: (query) => find(db, query).map(reservationOf),
    handOver(fromUserId, toUserId, nowMs) {
      handOwned.run(toUserId, Math.round(nowMs), fromUserId)
      handMember.run(toUserId, fromUserId)
      dropOwnersOwn.run(toUserId, toUserId)
    },
    isTaken: (id) => taken.get(id, id) !== undefined,
  }
}

function find(db: Database, { lane, userId, status, fromMs, toMs, limit }: TableQuery): readonly ReservationRecord[] {
  const parts: string[] = []
  const values: (string | number)[] = []
  const and = (sql: string, ...more: (string | number)[]) => {
    parts.push(sql)
    values.push(...more)
  }
  if (lane !== undefined) and('lane = ?', lane)
  if (userId !== undefined) {
    and('(owner_id = ? OR id IN (SELECT reservation_id FROM reservation_members WHERE user_id = ?))', userId, userId)
  }
  if (status.length > 0) and(`status IN (${status.map(() => '?').join(', ')})`, ...status)
  if (fromMs !== undefined) and('end_ms > ?', fromMs)
  if (toMs !== undefined) and('start_ms < ?', toMs)
  const where = parts.length === 0 ? '' : `WHERE ${parts.join(' AND ')}`
  const direction = fromMs === undefined ? 'DESC' : 'ASC'
  const sql = `${SELECT} ${where} ORDER BY start_ms ${direction}, id ${direction} LIMIT ?`
  const records = db.prepare<(string | number)[], ReservationRecord>(sql).all(...values, limit)
  return fromMs === undefined ? records.toReversed() : records
}
