import type { NotificationRow } from '../../contract/notification.ts'
import { isoTime } from '../../kernel/units.ts'
import type { NewNotice, NoticeKey } from './notice-table.ts'

/** How many notices wait for a store that cannot be written; the oldest are given up first. */
export const MAX_WAITING = 1_000

/** Notices that are not in the store: told in the app from here, and once each. */
export interface WaitingNotices {
  /** One that waits already is left out. The answer: how many were given up for it. */
  add(notices: readonly NewNotice[]): number
  has(key: NoticeKey): boolean
  /** In the order in which they were told. */
  all(): readonly NewNotice[]
  /** Newest first. */
  list(userId: string, unreadOnly: boolean): readonly NotificationRow[]
  markRead(userId: string, upToId: number | undefined, nowMs: number): void
  clear(): void
}

export function createWaitingNotices(): WaitingNotices {
  const waiting = new Map<string, NewNotice>()
  return {
    add(notices) {
      for (const notice of notices) {
        const key = keyText(notice)
        if (!waiting.has(key)) waiting.set(key, notice)
      }
      const tooMany = Math.max(0, waiting.size - MAX_WAITING)
      for (const key of [...waiting.keys()].slice(0, tooMany)) waiting.delete(key)
      return tooMany
    },
    has: (key) => waiting.has(keyText(key)),
    all: () => [...waiting.values()],
    list: (userId, unreadOnly) =>
      [...waiting.values()]
        .filter((notice) => notice.userId === userId && !(unreadOnly && notice.readMs !== undefined))
        .map(rowOf)
        .toReversed(),
    markRead(userId, upToId, nowMs) {
      for (const [key, notice] of waiting) {
        if (notice.userId !== userId || notice.readMs !== undefined) continue
        if (upToId === undefined || notice.id <= upToId) waiting.set(key, { ...notice, readMs: Math.round(nowMs) })
      }
    },
    clear: () => waiting.clear(),
  }
}

function keyText({ reservationId, event, occasion, userId }: NoticeKey): string {
  return JSON.stringify([reservationId, event, occasion, userId])
}

function rowOf({ id, event, reservationId, lane, title, body, createdMs, readMs }: NewNotice): NotificationRow {
  return {
    id,
    event,
    reservation_id: reservationId,
    lane,
    title,
    body,
    created_at: isoTime(createdMs),
    read_at: readMs === undefined ? null : isoTime(readMs),
  }
}
