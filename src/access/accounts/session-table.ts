import type { Database } from 'better-sqlite3'
import type { SessionRecord } from './records.ts'

/** The table `sessions` of hal0.db. Errors of every call: SQLite's own. */
export interface SessionTable {
  all(): readonly SessionRecord[]
  add(session: SessionRecord): void
  extend(hash: string, expiresAtMs: number): void
  remove(hash: string): void
  removeOf(userId: string): void
  /** Those that ended at `nowMs` or before. */
  removeEnded(nowMs: number): void
}

interface Row {
  readonly hash: string
  readonly user_id: string
  readonly created_at_ms: number
  readonly expires_at_ms: number
}

export function openSessionTable(db: Database): SessionTable {
  const all = db.prepare<[], Row>('SELECT * FROM sessions')
  const add = db.prepare<Row>(
    'INSERT INTO sessions (hash, user_id, created_at_ms, expires_at_ms) VALUES (@hash, @user_id, @created_at_ms, @expires_at_ms)',
  )
  const extend = db.prepare<[number, string]>('UPDATE sessions SET expires_at_ms = ? WHERE hash = ?')
  const remove = db.prepare<[string]>('DELETE FROM sessions WHERE hash = ?')
  const removeOf = db.prepare<[string]>('DELETE FROM sessions WHERE user_id = ?')
  const removeEnded = db.prepare<[number]>('DELETE FROM sessions WHERE expires_at_ms <= ?')
  return {
    all: () =>
      all.all().map((row) => ({
        hash: row.hash,
        userId: row.user_id,
        createdAtMs: row.created_at_ms,
        expiresAtMs: row.expires_at_ms,
      })),
    add: ({ hash, userId, createdAtMs, expiresAtMs }) =>
      void add.run({ hash, user_id: userId, created_at_ms: createdAtMs, expires_at_ms: expiresAtMs }),
    extend: (hash, expiresAtMs) => void extend.run(expiresAtMs, hash),
    remove: (hash) => void remove.run(hash),
    removeOf: (userId) => void removeOf.run(userId),
    removeEnded: (nowMs) => void removeEnded.run(nowMs),
  }
}
