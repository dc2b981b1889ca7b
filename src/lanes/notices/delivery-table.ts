import type { Database } from 'better-sqlite3'
import type { NoticeEvent } from '../../contract/notification.ts'
import { HOUR_MS } from '../../kernel/units.ts'
import { durably } from '../../store/durably.ts'
import type { NextDelivery } from './rules/next-delivery.ts'

/** Ways out of the house; in the app everybody is told anyway. */
export const CHANNELS = ['webhook', 'smtp'] as const
export type Channel = (typeof CHANNELS)[number]

/** A notice that is to go out on one channel. */
export interface Delivery {
  readonly notificationId: number
  readonly channel: Channel
  /** Begun before this one. */
  readonly attempts: number
  readonly event: NoticeEvent
  readonly reservationId: string
  readonly occasion: string
  readonly userId: string
  readonly lane: string
  readonly title: string
  readonly body: string
  /** JSON: the booking when it was told. */
  readonly reservation: string
  readonly createdMs: number
}

/** What stands in the table from the begin of an attempt until its end is known: for ever, when the daemon was killed in between. */
export const UNKNOWN_END =
  'unknown: the attempt was begun, and hal0 ended before its outcome was known; it is not repeated'

/**
 * The outbox, table `deliveries` of hal0.db. At most once: `begin` writes what is true if hal0 dies in the next moment (not due any more, outcome
 * unknown), and only `end` makes it due again. Errors of every call: SQLite's own. Source: SPEC 13 "each once per event and person".
 */
export interface DeliveryTable {
  /** Those of the channel whose time has come, oldest notice first. */
  due(channel: Channel, nowMs: number, limit: number): readonly Delivery[]
  /** When the next one of the channel is due, epoch ms; undefined = none waits. */
  nextAtMs(channel: Channel): number | undefined
  /** On the disk when it returns. Must come before anything is sent. */
  begin(delivery: Delivery): void
  /** On the disk when it returns. Also without a `begin`, for what is not sent at all. */
  end(delivery: Delivery, next: NextDelivery, nowMs: number): void
}

/** No pause is longer; what is due later than that was written under a clock that has been set back since. */
const MAX_AHEAD_MS = HOUR_MS

export function openDeliveryTable(db: Database): DeliveryTable {
  const due = db.prepare<{ channel: Channel; nowMs: number; maxMs: number; limit: number }, Delivery>(`
    SELECT notification_id AS notificationId, channel, attempts, event, reservation_id AS reservationId, occasion, user_id AS userId,
      lane, title, body, reservation, created_at_ms AS createdMs
    FROM deliveries JOIN notifications ON id = notification_id
    WHERE channel = @channel AND next_at_ms IS NOT NULL AND (next_at_ms <= @nowMs OR next_at_ms > @maxMs)
    ORDER BY notification_id LIMIT @limit
  `)
  const next = db
    .prepare<[Channel], number | null>(
      'SELECT min(next_at_ms) FROM deliveries WHERE channel = ? AND next_at_ms IS NOT NULL',
    )
    .pluck()
  const begin = db.prepare<[string, number, Channel]>(
    'UPDATE deliveries SET attempts = attempts + 1, next_at_ms = NULL, last_error = ? WHERE notification_id = ? AND channel = ?',
  )
  const end = db.prepare<[number | null, number | null, string | null, number, Channel]>(
    'UPDATE deliveries SET next_at_ms = ?, done_at_ms = ?, last_error = ? WHERE notification_id = ? AND channel = ?',
  )
  return {
    due: (channel, nowMs, limit) => due.all({ channel, nowMs, maxMs: nowMs + MAX_AHEAD_MS, limit }),
    nextAtMs: (channel) => next.get(channel) ?? undefined,
    begin: ({ notificationId, channel }) => durably(db, () => void begin.run(UNKNOWN_END, notificationId, channel)),
    end({ notificationId, channel }, outcome, nowMs) {
      const nextAtMs = outcome.kind === 'retry' ? Math.round(outcome.atMs) : null
      const doneAtMs = outcome.kind === 'done' ? Math.round(nowMs) : null
      const error = outcome.kind === 'done' ? null : outcome.reason
      durably(db, () => void end.run(nextAtMs, doneAtMs, error, notificationId, channel))
    },
  }
}
