import type { Database } from 'better-sqlite3'
import type { KeyRecord } from './records.ts'

/** The table `keys` of hal0.db. Errors of every call: SQLite's own. */
export interface KeyTable {
  all(): readonly KeyRecord[]
  add(key: KeyRecord): void
  revoke(id: string, atMs: number): void
  used(id: string, atMs: number): void
}

interface Row {
  readonly id: string
  readonly user_id: string
  readonly name: string
  readonly prefix: string
  readonly hash: string
  readonly created_at_ms: number
  readonly expires_at_ms: number | null
  readonly revoked_at_ms: number | null
  readonly last_used_at_ms: number | null
}

export function openKeyTable(db: Database): KeyTable {
  const all = db.prepare<[], Row>('SELECT * FROM keys')
  const add = db.prepare<Row>(`
    INSERT INTO keys (id, user_id, name, prefix, hash, created_at_ms, expires_at_ms, revoked_at_ms, last_used_at_ms)
    VALUES (@id, @user_id, @name, @prefix, @hash, @created_at_ms, @expires_at_ms, @revoked_at_ms, @last_used_at_ms)
  `)
  const revoke = db.prepare<[number, string]>('UPDATE keys SET revoked_at_ms = ? WHERE id = ?')
  const used = db.prepare<[number, string]>('UPDATE keys SET last_used_at_ms = ? WHERE id = ?')
  return {
    all: () => all.all().map(recordOf),
    add: (key) => void add.run(rowOf(key)),
    revoke: (id, atMs) => void revoke.run(atMs, id),
    used: (id, atMs) => void used.run(atMs, id),
  }
}

function recordOf(row: Row): KeyRecord {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    prefix: row.prefix,
    hash: row.hash,
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms ?? undefined,
    revokedAtMs: row.revoked_at_ms ?? undefined,
    lastUsedAtMs: row.last_used_at_ms ?? undefined,
  }
}

function rowOf(key: KeyRecord): Row {
  return {
    id: key.id,
    user_id: key.userId,
    name: key.name,
    prefix: key.prefix,
    hash: key.hash,
    created_at_ms: key.createdAtMs,
    expires_at_ms: key.expiresAtMs ?? null,
    revoked_at_ms: key.revokedAtMs ?? null,
    last_used_at_ms: key.lastUsedAtMs ?? null,
  }
}
