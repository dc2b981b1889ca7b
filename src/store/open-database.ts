import { chmodSync, closeSync, existsSync, openSync, renameSync } from 'node:fs'
import Sqlite, { type Database } from 'better-sqlite3'
import { explainBinding } from '../files/sqlite-binding.ts'
import { errnoOf, Hal0Error, messageOf } from '../kernel/errors.ts'
import { SECOND_MS } from '../kernel/units.ts'
import { rememberPlace } from './in-place.ts'
import { type MigrateOptions, migrate } from './migrations.ts'

/** At the start there is time to wait for another process that has the file, a backup for example. */
const OPENING_BUSY_MS = 5 * SECOND_MS
/** Afterwards SQLite waits on the thread that serves requests: who finds the file busy comes back later. */
const BUSY_MS = 20
const MODE = 0o600

/** `off`: it cannot be used now, and nothing of it was touched. */
export type OpenedDatabase =
  | { readonly kind: 'open'; readonly db: Database; readonly movedTo: string | undefined; readonly damage: string }
  | { readonly kind: 'off'; readonly reason: string }

/**
 * Opens hal0.db, makes it (0600, WAL) or brings its schema up to date. A damaged file is moved aside, `movedTo` says where (`damage`: what
 * SQLite said), and a new one is begun. Errors: `config.invalid` when a newer hal0 has written it. Source: SPEC 2.
 */
export function openDatabase(options: MigrateOptions): OpenedDatabase {
  const { path } = options
  try {
    return { kind: 'open', db: openWhole(options), movedTo: undefined, damage: '' }
  } catch (cause) {
    if (cause instanceof Hal0Error) throw cause
    if (!isDamage(cause)) return { kind: 'off', reason: explainBinding(cause) ?? messageOf(cause) }
    try {
      const movedTo = moveAside(path)
      return { kind: 'open', db: openWhole(options), movedTo, damage: messageOf(cause) }
    } catch (again) {
      return {
        kind: 'off',
        reason: `it is damaged (${messageOf(cause)}), and replacing it failed: ${messageOf(again)}`,
      }
    }
  }
}

/** Is the file itself broken? All other errors may be over at the next try. */
export function isDamage(thrown: unknown): boolean {
  const code = errnoOf(thrown) ?? ''
  return code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')
}

function openWhole(options: MigrateOptions): Database {
  const { path } = options
  // SQLite makes its files readable for everybody; those it puts beside a database get the database's own mode.
  closeSync(openSync(path, 'a', MODE))
  chmodSync(path, MODE)
  const db = new Sqlite(path, { timeout: OPENING_BUSY_MS, fileMustExist: true })
  try {
    const found = db.pragma('quick_check(1)', { simple: true })
    if (found !== 'ok') throw new Sqlite.SqliteError(firstFinding(String(found)), 'SQLITE_CORRUPT')
    const mode = db.pragma('journal_mode = WAL', { simple: true })
    if (mode !== 'wal')
      throw new Error(`its file system does not allow a write-ahead log (journal mode ${String(mode)})`)
    // In WAL mode a killed process loses nothing by it, and a power cut at most the last commits; each commit is spared an fsync.
    db.pragma('synchronous = NORMAL')
    db.pragma('foreign_keys = ON')
    migrate(db, options)
    db.pragma(`busy_timeout = ${BUSY_MS}`)
    rememberPlace(db)
    return db
  } catch (cause) {
    db.close()
    throw cause
  }
}

/** SQLite puts a head line above what it found. */
function firstFinding(text: string): string {
  return text.split('\n').at(-1) ?? text
}

/** The log goes with its database: what it holds belongs to that file, and would break a new one. */
function moveAside(path: string): string {
  let n = 1
  while (existsSync(`${path}.bad-${n}`)) n++
  const target = `${path}.bad-${n}`
  renameSync(path, target)
  for (const suffix of ['-wal', '-shm']) {
    if (existsSync(path + suffix)) renameSync(path + suffix, target + suffix)
  }
  return target
}
