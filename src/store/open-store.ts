import type { Database } from 'better-sqlite3'
import type { NewEvent } from '../contract/events.ts'
import { databasePath, type Home } from '../files/home.ts'
import type { Clock } from '../kernel/clock.ts'
import { errnoOf, messageOf } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { MINUTE_MS } from '../kernel/units.ts'
import { ownVersion } from '../version.ts'
import { createLoadHistory, type LoadHistory } from './load-history.ts'
import { type LoadTable, openLoadTable } from './load-table.ts'
import { isDamage, openDatabase } from './open-database.ts'

/** A backup is over by then; who holds the file longer is a reason to speak of it. */
const MAX_BUSY_MS = MINUTE_MS
const FOR_THIS_LIFE = 'until the next start of the daemon'

/** hal0.db: what is kept in tables. The daemon serves whether it can be used or not. Source: SPEC 2. */
export interface Store {
  /** For rooms that keep tables of their own (their schema is a step in migrations.ts). Undefined = it cannot be used in this life. */
  readonly db: Database | undefined
  readonly loads: LoadHistory
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
  let problem: string | undefined

  function tell(severity: NewEvent['severity'], type: string, message: string): void {
    log[severity === 'info' ? 'info' : 'warn']({ file: path }, message)
    publish({ type, severity, source: 'store', message, data: { file: path } })
  }

  function turnOff(reason: string, end: string): void {
    if (problem === undefined) {
      tell('warning', 'store.off', `history is not written: ${path}: ${reason}; hal0 serves without it, ${end}`)
    }
    problem = reason
  }

  function turnOn(): void {
    if (problem === undefined) return
    problem = undefined
    tell('info', 'store.on', `history is written to ${path} again`)
  }

  if (opened.kind === 'off') turnOff(opened.reason, FOR_THIS_LIFE)
  else if (opened.movedTo !== undefined) {
    const what = 'Only history was in it; settings and slots are not touched.'
    tell(
      'warning',
      'store.damaged',
      `${path} was damaged (${opened.damage}); it is kept as ${opened.movedTo}, and a new one was begun. ${what}`,
    )
  }
  const db = opened.kind === 'open' ? opened.db : undefined
  let busySinceMs: number | undefined

  /** Undefined where somebody has changed the schema by hand. */
  function openTable(): LoadTable | undefined {
    try {
      return db === undefined ? undefined : openLoadTable(db)
    } catch (cause) {
      turnOff(`its tables are not as hal0 made them (${messageOf(cause)})`, FOR_THIS_LIFE)
      return undefined
    }
  }

  const loads = createLoadHistory({
    clock,
    table: openTable(),
    onWritten() {
      busySinceMs = undefined
      turnOn()
    },
    onFailed(thrown) {
      const isBusy = errnoOf(thrown)?.startsWith('SQLITE_BUSY') === true
      busySinceMs = isBusy ? (busySinceMs ?? clock.monotonicMs()) : undefined
      // Another process has the file for a moment: nothing is lost.
      if (busySinceMs !== undefined && clock.monotonicMs() - busySinceMs < MAX_BUSY_MS) return 'soon'
      if (isDamage(thrown)) {
        turnOff(`it is damaged (${messageOf(thrown)})`, 'and the next start of the daemon begins a new one')
        return 'never'
      }
      turnOff(messageOf(thrown), 'and tries again every minute')
      return 'later'
    },
  })
  return {
    db,
    loads,
    get problem() {
      return problem
    },
    close() {
      loads.close()
      try {
        db?.close()
      } catch (cause) {
        log.warn({ file: path, reason: messageOf(cause) }, 'the database could not be closed')
      }
    },
  }
}
