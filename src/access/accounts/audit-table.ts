import type { Database } from 'better-sqlite3'
import { maskKeys } from '../../kernel/mask-keys.ts'
import type { AuditQuery } from '../audit.ts'

/** What somebody did. Holds no secret. */
export interface AuditRecord {
  readonly atMs: number
  readonly type: string
  /** '' = somebody unknown. */
  readonly byUserId: string
  readonly byName: string
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
}

/** What of the table stays. */
export interface AuditBounds {
  /** Rows before it (epoch ms) go. */
  readonly oldestMs: number
  /** The newest so many stay. */
  readonly maxRows: number
}

/** The table `audit` of hal0.db. Errors of every call: SQLite's own. */
export interface AuditTable {
  add(row: AuditRecord, bounds: AuditBounds): void
  /** Newest first: the order in which they were written, whatever the clock said. */
  select(query: AuditQuery): readonly (AuditRecord & { readonly id: number })[]
}

interface Row {
  readonly id: number
  readonly at_ms: number
  readonly type: string
  readonly by_user_id: string
  readonly by_name: string
  readonly message: string
  readonly data: string
}

export function openAuditTable(db: Database): AuditTable {
  const add = db.prepare<[number, string, string, string, string, string]>(
    'INSERT INTO audit (at_ms, type, by_user_id, by_name, message, data) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const expire = db.prepare<[number]>('DELETE FROM audit WHERE at_ms < ?')
  const cut = db.prepare<[number]>('DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?')
  const select = db.prepare<Record<string, string | number | null>, Row>(`
    SELECT * FROM audit
    WHERE (@before IS NULL OR id < @before)
      AND (@actor IS NULL OR by_user_id = @actor OR by_name = @actor COLLATE NOCASE)
      AND (@type IS NULL OR type = @type OR substr(type, 1, length(@type) + 1) = @type || '.')
      AND (@sinceMs IS NULL OR at_ms >= @sinceMs)
      AND (@untilMs IS NULL OR at_ms < @untilMs)
    ORDER BY id DESC LIMIT @limit
  `)
  return {
    add({ atMs, type, byUserId, byName, message, data }, { oldestMs, maxRows }) {
      // Somebody may have called a key, or a lane, by a key.
      add.run(atMs, type, byUserId, byName, maskKeys(message), maskKeys(JSON.stringify(data)))
      expire.run(oldestMs)
      cut.run(maxRows)
    },
    select({ actor = null, type = null, sinceMs = null, untilMs = null, before = null, limit }) {
      return select.all({ actor, type, sinceMs, untilMs, before, limit }).map((row) => ({
        id: row.id,
        atMs: row.at_ms,
        type: row.type,
        byUserId: row.by_user_id,
        byName: row.by_name,
        message: row.message,
        data: readData(row.data),
      }))
    },
  }
}

/** Empty where somebody has changed it by hand. */
function readData(text: string): Readonly<Record<string, unknown>> {
  try {
    const data: unknown = JSON.parse(text)
    return typeof data === 'object' && data !== null ? { ...data } : {}
  } catch {
    return {}
  }
}
