import type { Database } from 'better-sqlite3'
import type { Clock } from '../../kernel/clock.ts'
import { messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'
import { createWriteLater } from '../../store/write-later.ts'
import type { AccountTables } from './account-tables.ts'
import type { KeyRecord, SessionRecord } from './records.ts'

/** A key's last use is known to the minute. */
export const USED_EVERY_MS = MINUTE_MS

/** What is written off the path of requests. Never throws. */
export interface LateWrites {
  keyUsed(key: KeyRecord): void
  sessionExtended(session: SessionRecord): void
  /** Tried at once; again until the store takes it. */
  sessionEnded(hash: string): void
  /** Writes for the last time. */
  close(): void
}

export function createLateWrites(deps: {
  readonly db: Database | undefined
  readonly tables: AccountTables | undefined
  readonly clock: Clock
  readonly log: Log
}): LateWrites {
  const { db, tables, clock, log } = deps
  const keys = new Set<KeyRecord>()
  const extended = new Set<SessionRecord>()
  const ended = new Set<string>()
  let isFailing = false

  const later = createWriteLater({
    clock,
    write() {
      if (keys.size + extended.size + ended.size === 0 || db === undefined || tables === undefined) return false
      db.transaction(() => {
        for (const { id, lastUsedAtMs } of keys) if (lastUsedAtMs !== undefined) tables.keys.used(id, lastUsedAtMs)
        for (const { hash, expiresAtMs } of extended) tables.sessions.extend(hash, expiresAtMs)
        for (const hash of ended) tables.sessions.remove(hash)
      }).immediate()
      keys.clear()
      extended.clear()
      ended.clear()
      return true
    },
    onWritten() {
      isFailing = false
    },
    onFailed(thrown) {
      if (!isFailing)
        log.warn({ reason: messageOf(thrown) }, 'last uses of keys and sessions are not written; tried again')
      isFailing = true
      return 'later'
    },
  })
  if (tables === undefined) later.giveUp()

  return {
    keyUsed(key) {
      if (later.isOver) return
      keys.add(key)
      later.arm(USED_EVERY_MS)
    },
    sessionExtended(session) {
      if (later.isOver) return
      extended.add(session)
      later.arm(SECOND_MS)
    },
    sessionEnded(hash) {
      if (later.isOver) return
      ended.add(hash)
      later.flush()
    },
    close: () => later.close(),
  }
}
