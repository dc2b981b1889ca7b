import type { Database } from 'better-sqlite3'
import { type NoticeEvent, type NotificationRow, notificationRowSchema } from '../../contract/notification.ts'
import { isoTime } from '../../kernel/units.ts'
import { soon } from '../../store/durably.ts'
import type { Channel } from './delivery-table.ts'

/** A notice for one person, not written yet. */
export interface NewNotice {
  /** Higher than those before; the table may give it a higher one still. */
  readonly id: number
  readonly event: NoticeEvent
  readonly reservationId: string
  readonly occasion: string
  readonly userId: string
  readonly lane: string
  readonly title: string
  readonly body: string
  /** JSON: the booking as it was then. */
  readonly reservation: string
  /** Epoch ms, whole. */
  readonly createdMs: number
  /** Undefined = not read. */
  readonly readMs: number | undefined
  /** Where it is to be sent to besides. */
  readonly channels: readonly Channel[]
}

/** By which a notice is told once. */
export type NoticeKey = Pick<NewNotice, 'reservationId' | 'event' | 'occasion' | 'userId'>

/** The table `notifications` of hal0.db. Errors of every call: SQLite's own. */
export interface NoticeTable {
  /**
   * All of them with what is to be sent, in one transaction; those that were told before are left out. On the disk when it returns; within
   * a transaction of the caller's it is part of that one. `perUser`: of more, the oldest go. The answer: the highest id.
   */
  add(notices: readonly NewNotice[], limits: { readonly perUser: number }): number
  has(key: NoticeKey): boolean
  /** Was anybody told it, whatever the occasion? */
  hasAny(key: Pick<NoticeKey, 'reservationId' | 'event'>): boolean
  /** Newest first. A row that is no notice (edited by hand) is left out. */
  list(userId: string, options: { readonly unreadOnly: boolean; readonly limit: number }): readonly NotificationRow[]
  unread(userId: string): number
  markRead(userId: string, upToId: number | undefined, nowMs: number): void
  /** Those created before (epoch ms) go, with what is still to be sent of them. */
  expire(oldestMs: number): void
  /** 0 = none. */
  lastId(): number
}

interface Row {
  readonly id: number
  readonly event: string
  readonly reservation_id: string
  readonly lane: string
  readonly title: string
  readonly body: string
  readonly created_at_ms: number
  readonly read_at_ms: number | null
}

export function openNoticeTable(db: Database): NoticeTable {
  // The id is taken from the table too: one that is in use would make SQLite leave the notice out as told before.
  const insert = db.prepare<Omit<NewNotice, 'channels' | 'readMs'> & { readMs: number | null }>(`
    INSERT OR IGNORE INTO notifications
      (id, event, reservation_id, occasion, user_id, lane, title, body, reservation, created_at_ms, read_at_ms)
    VALUES (max(@id, (SELECT coalesce(max(id), 0) + 1 FROM notifications)), @event, @reservationId, @occasion, @userId, @lane, @title, @body,
      @reservation, @createdMs, @readMs)
  `)
  const send = db.prepare<[number | bigint, Channel, number]>(
    'INSERT INTO deliveries (notification_id, channel, attempts, next_at_ms) VALUES (?, ?, 0, ?)',
  )
  const known = db.prepare<NoticeKey>(`
    SELECT 1 FROM notifications
    WHERE reservation_id = @reservationId AND event = @event AND occasion = @occasion AND user_id = @userId
  `)
  const knownToAny = db.prepare<Pick<NoticeKey, 'reservationId' | 'event'>>(
    'SELECT 1 FROM notifications WHERE reservation_id = @reservationId AND event = @event LIMIT 1',
  )
  const columns = 'id, event, reservation_id, lane, title, body, created_at_ms, read_at_ms'
  const all = db.prepare<[string, number], Row>(
    `SELECT ${columns} FROM notifications WHERE user_id = ? ORDER BY id DESC LIMIT ?`,
  )
  const unreadOnes = db.prepare<[string, number], Row>(
    `SELECT ${columns} FROM notifications WHERE user_id = ? AND read_at_ms IS NULL ORDER BY id DESC LIMIT ?`,
  )
  const countUnread = db
    .prepare<[string], number>('SELECT count(*) FROM notifications WHERE user_id = ? AND read_at_ms IS NULL')
    .pluck()
  const read = db.prepare<[number, string, number]>(
    'UPDATE notifications SET read_at_ms = ? WHERE user_id = ? AND read_at_ms IS NULL AND id <= ?',
  )
  // Where a person has no more than is kept, the inner query is empty, and nothing compares with it.
  const trim = db.prepare<{ userId: string; keep: number }>(`
    DELETE FROM notifications WHERE user_id = @userId
    AND id <= (SELECT id FROM notifications WHERE user_id = @userId ORDER BY id DESC LIMIT 1 OFFSET @keep)
  `)
  const expire = db.prepare<[number]>('DELETE FROM notifications WHERE created_at_ms < ?')
  const last = db.prepare<[], number | null>('SELECT max(id) FROM notifications').pluck()

  function write(notices: readonly NewNotice[], perUser: number): number {
    const grown = new Set<string>()
    for (const { channels, readMs, ...notice } of notices) {
      const { changes, lastInsertRowid } = insert.run({ ...notice, readMs: readMs ?? null })
      if (changes === 0) continue
      grown.add(notice.userId)
      for (const channel of channels) send.run(lastInsertRowid, channel, notice.createdMs)
    }
    for (const userId of grown) trim.run({ userId, keep: perUser })
    return last.get() ?? 0
  }
  const nested = db.transaction(write)

  return {
    add: (notices, { perUser }) =>
      db.inTransaction ? nested(notices, perUser) : soon(db, () => write(notices, perUser)),
    has: ({ reservationId, event, occasion, userId }) =>
      known.get({ reservationId, event, occasion, userId }) !== undefined,
    hasAny: ({ reservationId, event }) => knownToAny.get({ reservationId, event }) !== undefined,
    list: (userId, { unreadOnly, limit }) =>
      (unreadOnly ? unreadOnes : all).all(userId, limit).flatMap((row) => rowOf(row) ?? []),
    unread: (userId) => countUnread.get(userId) ?? 0,
    markRead: (userId, upToId, nowMs) => void read.run(Math.round(nowMs), userId, upToId ?? Number.MAX_SAFE_INTEGER),
    expire: (oldestMs) => void expire.run(Math.round(oldestMs)),
    lastId: () => last.get() ?? 0,
  }
}

function rowOf({ created_at_ms, read_at_ms, ...rest }: Row): NotificationRow | undefined {
  const row = { ...rest, created_at: isoTime(created_at_ms), read_at: read_at_ms === null ? null : isoTime(read_at_ms) }
  return notificationRowSchema.safeParse(row).data
}
