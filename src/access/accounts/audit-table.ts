import type { Database } from 'better-sqlite3'

/** What somebody did about people and keys. Holds no secret. */
export interface AuditRow {
  readonly atMs: number
  readonly type: string
  readonly byUserId: string
  readonly byName: string
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
}

/** The table `audit` of hal0.db. Errors of every call: SQLite's own. */
export interface AuditTable {
  /** Rows before `oldestMs` (epoch ms) go. */
  add(row: AuditRow, oldestMs: number): void
}

export function openAuditTable(db: Database): AuditTable {
  const add = db.prepare<[number, string, string, string, string, string]>(
    'INSERT INTO audit (at_ms, type, by_user_id, by_name, message, data) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const expire = db.prepare<[number]>('DELETE FROM audit WHERE at_ms < ?')
  return {
    add({ atMs, type, byUserId, byName, message, data }, oldestMs) {
      add.run(atMs, type, byUserId, byName, message, JSON.stringify(data))
      expire.run(oldestMs)
    },
  }
}
