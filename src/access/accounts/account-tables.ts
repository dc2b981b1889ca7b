import type { Database } from 'better-sqlite3'
import { type AuditTable, openAuditTable } from './audit-table.ts'
import { type KeyTable, openKeyTable } from './key-table.ts'
import { openSessionTable, type SessionTable } from './session-table.ts'
import { openUserTable, type UserTable } from './user-table.ts'

/** All that hal0.db keeps about people. */
export interface AccountTables {
  readonly users: UserTable
  readonly keys: KeyTable
  readonly sessions: SessionTable
  readonly audit: AuditTable
}

/** Errors: SQLite's own, where somebody has changed the schema by hand. */
export function openAccountTables(db: Database): AccountTables {
  return {
    users: openUserTable(db),
    keys: openKeyTable(db),
    sessions: openSessionTable(db),
    audit: openAuditTable(db),
  }
}
