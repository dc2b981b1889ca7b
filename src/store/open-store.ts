import type { Database } from 'better-sqlite3'
import type { NewEvent } from '../contract/events.ts'
import { databasePath, type Home } from '../files/home.ts'
import type { Clock } from '../kernel/clock.ts'
import { messageOf } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { ownVersion } from '../version.ts'
import { placeProblem } from './in-place.ts'
import { createLoadHistory, type LoadHistory } from './load-history.ts'
import { openLoadTable } from './load-table.ts'
import { openDatabase } from './open-database.ts'
import { createOutages } from './outages.ts'
import { createUsageStore, type UsageStore } from './usage-store.ts'
import { openUsageTable } from './usage-table.ts'

/** hal0.db: what is kept in tables. The daemon serves whether it can be used or not. Source: SPEC 2. */
export interface Store {
  /** For rooms that keep tables of their own (their schema is a step in migrations.ts). Undefined = it cannot be used in this life. */
  readonly db: Database | undefined
  readonly loads: LoadHistory
  readonly usage: UsageStore
  /** Why what is told is not written at present; undefined = it is. */
  readonly problem: string | undefined
  /** Writes what waits and closes the file. Idempotent; never throws. */
  close(): void
}

export interface StoreDeps {
  readonly log: Log
  readonly clock: Clock
  /** Told when history goes off and comes back, and of a damaged file. */
  readonly publish?: (event: NewEvent) => void
}

/**
 * Opens the database of a home whose folder is there. A disk that is full or cannot be written turns history off (it then lives in memory),
 * which is told once, and on again when it can. A damaged file is moved aside and a new one begun.
 * Errors: `config.invalid` when a newer hal0 has written the file. Source: SPEC 2.
 */
export function openStore(home: Home, { log, clock, publish = () => {} }: StoreDeps): Store {
  const path = databasePath(home)
  const opened = openDatabase({ path, nowMs: clock.nowMs(), version: ownVersion() })

  function tell(severity: NewEvent['severity'], type: string, message: string): void {
    log[severity === 'info' ? 'info' : 'warn']({ file: path }, message)
    publish({ type, severity, source: 'store', message, data: { file: path } })
  }

  const outages = createOutages({ clock, path, tell })
  if (opened.kind === 'off') outages.offForLife('file', opened.reason)
  else if (opened.movedTo !== undefined) {
    const what =
      'Users, keys, bookings and history were in it; settings, slots and lanes are not touched. A copy of an older one can be put in its place while no daemon runs.'
    tell(
      'warning',
      'store.damaged',
      `${path} was damaged (${opened.damage}); it is kept as ${opened.movedTo}, and a new one was begun. ${what}`,
    )
  }
  const db = opened.kind === 'open' ? opened.db : undefined

  /** Undefined where somebody has changed the schema by hand. */
  function openTable<Table>(name: string, open: (db: Database) => Table): Table | undefined {
    try {
      return db === undefined ? undefined : open(db)
    } catch (cause) {
      outages.offForLife(name, `its tables are not as hal0 made them (${messageOf(cause)})`)
      return undefined
    }
  }

  const loads = createLoadHistory({ clock, table: openTable('loads', openLoadTable), ...outages.judge('loads') })
  const usage = createUsageStore({ clock, table: openTable('usage', openUsageTable), ...outages.judge('usage') })
  return {
    db,
    loads,
    usage,
    get problem() {
      // A write may be long in coming: whoever asks is told at once.
      return outages.problem ?? (db === undefined ? undefined : placeProblem(db))
    },
    close() {
      loads.close()
      usage.close()
      try {
        db?.close()
      } catch (cause) {
        log.warn({ file: path, reason: messageOf(cause) }, 'the database could not be closed')
      }
    },
  }
}
