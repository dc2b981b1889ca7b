import type { Database } from 'better-sqlite3'
import { requireInPlace } from './in-place.ts'

/**
 * Runs one transaction that is on the disk when this returns: what people were promised survives a power cut too. What is only counted is written
 * without waiting for the disk (see open-database.ts). Synchronous, so nothing else of this process comes between.
 * Errors: those of `work`, and SQLite's own (also that its file was deleted or replaced); then nothing of it is written.
 */
export function durably<T>(db: Database, work: () => T): T {
  requireInPlace(db)
  db.pragma('synchronous = FULL')
  try {
    return db.transaction(work).immediate()
  } finally {
    db.pragma('synchronous = NORMAL')
  }
}

/**
 * One transaction that is on the disk soon: it survives the death of the process at once, and a power cut after the next one that is `durably` written.
 * For what follows from the clock, or from something that was durably written. Errors: as `durably`.
 */
export function soon<T>(db: Database, work: () => T): T {
  requireInPlace(db)
  return db.transaction(work).immediate()
}
