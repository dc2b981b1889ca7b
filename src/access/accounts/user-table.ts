import type { Database } from 'better-sqlite3'
import type { UserRecord } from './records.ts'

/** The tables `users` and `calendar_tokens` of hal0.db. Errors of every call: SQLite's own. */
export interface UserTable {
  all(): readonly UserRecord[]
  /** Adds one, or replaces the one of this id. */
  put(user: UserRecord): void
  /** With keys and sessions. */
  remove(id: string): void
  /** Hash of the token → whose. */
  calendarTokens(): ReadonlyMap<string, string>
  putCalendarToken(userId: string, hash: string): void
}

interface Row {
  readonly id: string
  readonly name: string
  readonly role: string
  readonly password_hash: string | null
  readonly email: string | null
  readonly time_zone: string | null
  readonly disabled_at_ms: number | null
  readonly created_at_ms: number
}

export function openUserTable(db: Database): UserTable {
  const all = db.prepare<[], Row>('SELECT * FROM users')
  const put = db.prepare<Row>(`
    INSERT INTO users (id, name, role, password_hash, email, time_zone, disabled_at_ms, created_at_ms)
    VALUES (@id, @name, @role, @password_hash, @email, @time_zone, @disabled_at_ms, @created_at_ms)
    ON CONFLICT (id) DO UPDATE SET role = @role, password_hash = @password_hash, email = @email,
      time_zone = @time_zone, disabled_at_ms = @disabled_at_ms
  `)
  const remove = db.prepare<[string]>('DELETE FROM users WHERE id = ?')
  const tokens = db.prepare<[], { hash: string; user_id: string }>('SELECT hash, user_id FROM calendar_tokens')
  const putToken = db.prepare<[string, string]>(
    'INSERT INTO calendar_tokens (user_id, hash) VALUES (?, ?) ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash',
  )
  const removeToken = db.prepare<[string]>('DELETE FROM calendar_tokens WHERE user_id = ?')
  return {
    all: () => all.all().map(recordOf),
    put: (user) => void put.run(rowOf(user)),
    remove(id) {
      removeToken.run(id)
      remove.run(id)
    },
    calendarTokens: () => new Map(tokens.all().map(({ hash, user_id }) => [hash, user_id])),
    putCalendarToken: (userId, hash) => void putToken.run(userId, hash),
  }
}

function recordOf(row: Row): UserRecord {
  return {
    id: row.id,
    name: row.name,
    // The table allows no third.
    role: row.role === 'admin' ? 'admin' : 'member',
    passwordHash: row.password_hash ?? undefined,
    email: row.email ?? undefined,
    timeZone: row.time_zone ?? undefined,
    disabledAtMs: row.disabled_at_ms ?? undefined,
    createdAtMs: row.created_at_ms,
  }
}

function rowOf(user: UserRecord): Row {
  return {
    id: user.id,
    name: user.name,
    role: user.role,
    password_hash: user.passwordHash ?? null,
    email: user.email ?? null,
    time_zone: user.timeZone ?? null,
    disabled_at_ms: user.disabledAtMs ?? null,
    created_at_ms: user.createdAtMs,
  }
}
