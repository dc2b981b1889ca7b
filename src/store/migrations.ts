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
