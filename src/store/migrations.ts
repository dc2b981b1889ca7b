import type { Database } from 'better-sqlite3'
import { Hal0Error } from '../kernel/errors.ts'

/** One step of the schema. What has been released is never changed; a later step mends an earlier one. */
export interface Migration {
  /** 1, 2, 3 … without holes. */
  readonly number: number
  /** What it brings, for people who look into the table. */
  readonly title: string
  readonly sql: string
}

/** The schema of hal0.db, forward only. Source: SPEC 2 (hal0.db). */
export const MIGRATIONS: readonly Migration[] = [
  {
    number: 1,
    title: 'load history',
    sql: `
      CREATE TABLE loads (
        id INTEGER PRIMARY KEY,
        slot TEXT NOT NULL,
        attempt_id TEXT NOT NULL,
        model_id TEXT,
        profile TEXT,
        begun_at_ms INTEGER NOT NULL,
        took_ms INTEGER NOT NULL,
        phases TEXT NOT NULL,
        outcome TEXT NOT NULL,
        code TEXT
      ) STRICT;
      CREATE INDEX loads_by_slot ON loads (slot, id);
      CREATE INDEX loads_by_time ON loads (begun_at_ms);
    `,
  },
  {
    number: 2,
    title: 'usage by the hour',
    sql: `
      CREATE TABLE usage (
        hour_ms INTEGER NOT NULL,
        slot TEXT NOT NULL,
        route TEXT NOT NULL,
        key_id TEXT NOT NULL,
        user_id TEXT NOT NULL,
        reservation_id TEXT NOT NULL,
        requests INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL,
        unknown INTEGER NOT NULL,
        busy_ms INTEGER NOT NULL,
        PRIMARY KEY (hour_ms, slot, route, key_id, user_id, reservation_id)
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    number: 3,
    title: 'users, keys and sessions',
    sql: `
      CREATE TABLE users (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE COLLATE NOCASE,
        role TEXT NOT NULL CHECK (role IN ('member', 'admin')),
        password_hash TEXT,
        email TEXT,
        time_zone TEXT,
        disabled_at_ms INTEGER,
        created_at_ms INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE keys (
        id TEXT PRIMARY KEY,
        user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        prefix TEXT NOT NULL,
        hash TEXT NOT NULL UNIQUE,
        created_at_ms INTEGER NOT NULL,
        expires_at_ms INTEGER,
        revoked_at_ms INTEGER,
        last_used_at_ms INTEGER
      ) STRICT;
      CREATE INDEX keys_by_user ON keys (user_id);
      CREATE TABLE sessions (
        hash TEXT PRIMARY KEY,
        user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        created_at_ms INTEGER NOT NULL,
        expires_at_ms INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX sessions_by_user ON sessions (user_id);
      CREATE TABLE calendar_tokens (
        user_id TEXT PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE audit (
        id INTEGER PRIMARY KEY,
        at_ms INTEGER NOT NULL,
        type TEXT NOT NULL,
        by_user_id TEXT NOT NULL,
        by_name TEXT NOT NULL,
        message TEXT NOT NULL,
        data TEXT NOT NULL
      ) STRICT;
      CREATE INDEX audit_by_time ON audit (at_ms);
    `,
  },
  {
    number: 4,
    title: 'reservations',
    sql: `
      CREATE TABLE reservations (
        id TEXT PRIMARY KEY,
        lane TEXT NOT NULL,
        owner_id TEXT NOT NULL,
        title TEXT NOT NULL,
        start_ms INTEGER NOT NULL,
        end_ms INTEGER NOT NULL CHECK (end_ms > start_ms OR status IN ('cancelled', 'rejected', 'ended_early')),
        booked_end_ms INTEGER NOT NULL,
        model TEXT,
        profile TEXT,
        status TEXT NOT NULL,
        series_id TEXT,
        time_zone TEXT NOT NULL,
        created_at_ms INTEGER NOT NULL,
        changed_at_ms INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        note TEXT,
        first_used_at_ms INTEGER,
        CHECK ((model IS NULL) = (profile IS NULL))
      ) STRICT;
      CREATE INDEX reservations_by_lane ON reservations (lane, start_ms);
      CREATE INDEX reservations_open ON reservations (lane, end_ms) WHERE status IN ('pending', 'approved', 'active');
      CREATE INDEX reservations_by_owner ON reservations (owner_id, lane, end_ms);
      CREATE INDEX reservations_by_series ON reservations (series_id) WHERE series_id IS NOT NULL;
      CREATE TABLE reservation_members (
        reservation_id TEXT NOT NULL REFERENCES reservations (id) ON DELETE CASCADE,
        user_id TEXT NOT NULL,
        PRIMARY KEY (reservation_id, user_id)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX reservation_members_by_user ON reservation_members (user_id);
    `,
  },
  {
    number: 5,
    title: 'notifications',
    sql: `
      CREATE TABLE notifications (
        id INTEGER PRIMARY KEY,
        event TEXT NOT NULL,
        reservation_id TEXT NOT NULL,
        occasion TEXT NOT NULL,
        user_id TEXT NOT NULL,
        lane TEXT NOT NULL,
        title TEXT NOT NULL,
        body TEXT NOT NULL,
        reservation TEXT NOT NULL,
        created_at_ms INTEGER NOT NULL,
        read_at_ms INTEGER,
        UNIQUE (reservation_id, event, occasion, user_id)
      ) STRICT;
      CREATE INDEX notifications_by_user ON notifications (user_id, id);
      CREATE INDEX notifications_unread ON notifications (user_id, id) WHERE read_at_ms IS NULL;
      CREATE TABLE deliveries (
        notification_id INTEGER NOT NULL REFERENCES notifications (id) ON DELETE CASCADE,
        channel TEXT NOT NULL CHECK (channel IN ('webhook', 'smtp')),
        attempts INTEGER NOT NULL,
        next_at_ms INTEGER,
        done_at_ms INTEGER,
        last_error TEXT,
        PRIMARY KEY (notification_id, channel)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX deliveries_due ON deliveries (next_at_ms) WHERE next_at_ms IS NOT NULL;
    `,
  },
  {
    number: 6,
    title: 'manual choices of lanes',
    sql: `
      CREATE TABLE lane_manual (
        lane TEXT PRIMARY KEY,
        model TEXT,
        profile TEXT,
        made_at_ms INTEGER NOT NULL,
        made_by TEXT NOT NULL,
        until_ms INTEGER,
        CHECK ((model IS NULL) = (profile IS NULL))
      ) STRICT, WITHOUT ROWID;
    `,
  },
]

export interface MigrateOptions {
  readonly nowMs: number
  /** Of the hal0 that migrates: written beside each step, so that an older one can say who it was. */
  readonly version: string
  /** Names the file in messages. */
  readonly path: string
  readonly migrations?: readonly Migration[]
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS migrations (
    number INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    hal0_version TEXT NOT NULL,
    applied_at_ms INTEGER NOT NULL
  ) STRICT
`

/**
 * Brings the schema up to date: each missing step in a transaction of its own, so a daemon that is killed between two goes on at the next.
 * Several processes may do it at once: a step is chosen under SQLite's write lock. The answer: the numbers applied now, in order.
 * Errors: `config.invalid` when a newer hal0 has migrated it; SQLite's own.
 */
export function migrate(db: Database, options: MigrateOptions): readonly number[] {
  const { nowMs, version, migrations = MIGRATIONS } = options
  const applied: number[] = []
  const step = db.transaction((): boolean => {
    db.exec(TABLE)
    refuseNewer(db, options, migrations.length)
    const next = migrations[doneOf(db)]
    if (next === undefined) return false
    db.exec(next.sql)
    db.prepare('INSERT INTO migrations (number, title, hal0_version, applied_at_ms) VALUES (?, ?, ?, ?)').run(
      next.number,
      next.title,
      version,
      nowMs,
    )
    applied.push(next.number)
    return true
  })
  // Asked first without the write lock: a file that is up to date, or another's, is not written to.
  if (isUpToDate(db, options, migrations.length)) return applied
  while (step.immediate());
  return applied
}

function isUpToDate(db: Database, options: MigrateOptions, known: number): boolean {
  const table = db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'").get()
  if (table === undefined) return false
  refuseNewer(db, options, known)
  return doneOf(db) === known
}

/** The number of the last step that was applied; 0 = none. */
function doneOf(db: Database): number {
  const row = db.prepare<[], { done: number | null }>('SELECT max(number) AS done FROM migrations').get()
  return row?.done ?? 0
}

function refuseNewer(db: Database, { path, version }: MigrateOptions, known: number): void {
  const done = doneOf(db)
  if (done <= known) return
  const row = db
    .prepare<[number], { by: string }>('SELECT hal0_version AS by FROM migrations WHERE number = ?')
    .get(done)
  const by = row?.by ?? 'a newer one'
  throw Hal0Error.of(
    'config.invalid',
    `${path} has schema ${done}, written by hal0 ${by}; this is hal0 ${version}, which knows schemas up to ${known}`,
    {
      details: {
        schema: done,
        known_schema: known,
        written_by: by,
        remedy: `Start hal0 ${by} or a later one. To go on with this version without what that file holds, move it away while no daemon runs.`,
      },
    },
  )
}
