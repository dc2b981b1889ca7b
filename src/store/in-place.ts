import { statSync } from 'node:fs'
import Sqlite, { type Database } from 'better-sqlite3'
import { type FilePlace, judgePlace } from './rules/judge-place.ts'

/** Of the databases that hal0 has opened under a name. */
const places = new WeakMap<Database, FilePlace>()

/** From now on this database is looked for where it is. Never throws. */
export function rememberPlace(db: Database): void {
  const place = placeOf(db.name)
  if (typeof place === 'object') places.set(db, place)
}

/**
 * Why what is written into this database would be lost at the end of hal0: in WAL mode SQLite goes on with a file that has no name any more, and
 * says nothing. One look at the folder, no disk is read. Undefined = it would not, or it cannot be told. Never throws.
 */
export function placeProblem(db: Database): string | undefined {
  const opened = places.get(db)
  if (opened === undefined) return undefined
  const found = placeOf(db.name)
  return found === 'unknown' ? undefined : judgePlace(opened, found)
}

/** Before every write. Errors: `SQLITE_READONLY_DBMOVED`, SQLite's own word for it. */
export function requireInPlace(db: Database): void {
  const problem = placeProblem(db)
  if (problem !== undefined) throw new Sqlite.SqliteError(problem, 'SQLITE_READONLY_DBMOVED')
}

function placeOf(path: string): FilePlace | undefined | 'unknown' {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    return found && { device: found.dev, inode: found.ino }
  } catch {
    return 'unknown'
  }
}
