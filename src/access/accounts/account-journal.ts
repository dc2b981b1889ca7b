import type { Database } from 'better-sqlite3'
import type { NewEvent } from '../../contract/events.ts'
import type { Clock } from '../../kernel/clock.ts'
import { errnoOf, Hal0Error, messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { HOUR_MS } from '../../kernel/units.ts'
import { durably } from '../../store/durably.ts'
import type { AccountTables } from './account-tables.ts'

/** As long as usage: somebody who looks back at a bill sees who made the key. */
export const AUDIT_KEPT_MS = 400 * 24 * HOUR_MS
/** A backup is over by then. */
const BUSY_RETRY_S = 2
const BROKEN_RETRY_S = 60

/** Something people did that concerns access. `message` and `data` hold no secret, and no word that might be a password. */
export interface AuditEntry {
  readonly type:
    | 'user_created'
    | 'user_changed'
    | 'user_removed'
    | 'key_created'
    | 'key_revoked'
    | 'signed_in'
    | 'sign_in_failed'
    | 'signed_out'
    | 'set_up'
  readonly severity?: NewEvent['severity']
  readonly by: { readonly id: string; readonly name: string }
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Every change goes through here: first into the store, with its audit, then it is told as `access.…`. */
export interface AccountJournal {
  /** All of it is on the disk when this returns, or nothing of it is and nothing is remembered. Errors: `lane.store_unavailable`. */
  commit(change: AccountChange): void
  /** Tells what changed nothing, or what is remembered only. Never throws. */
  note(entry: AuditEntry): void
}

export interface AccountChange {
  readonly entries: readonly AuditEntry[]
  readonly write: (tables: AccountTables) => void
  /** Brings memory to what was written, before anybody is told. */
  readonly remember: () => void
}

export interface JournalDeps {
  readonly db: Database | undefined
  /** Undefined = the store cannot be used in this life. */
  readonly tables: AccountTables | undefined
  readonly clock: Clock
  readonly log: Log
  readonly publish: (event: NewEvent) => void
}

export function createAccountJournal({ db, tables, clock, log, publish }: JournalDeps): AccountJournal {
  function record(audit: AccountTables['audit'], { type, by, message, data }: AuditEntry): void {
    const atMs = clock.nowMs()
    const row = { atMs, type: `access.${type}`, byUserId: by.id, byName: by.name, message, data }
    audit.add(row, atMs - AUDIT_KEPT_MS)
  }

  function tell({ type, severity = 'info', by, message, data }: AuditEntry): void {
    publish({ type: `access.${type}`, severity, source: 'access', message, data: { ...data, by: by.name } })
  }

  return {
    commit({ entries, write, remember }) {
      if (db === undefined || tables === undefined) throw unavailable('it cannot be used', BROKEN_RETRY_S)
      try {
        durably(db, () => {
          write(tables)
          for (const entry of entries) record(tables.audit, entry)
        })
      } catch (cause) {
        if (cause instanceof Hal0Error) throw cause
        const isBusy = errnoOf(cause)?.startsWith('SQLITE_BUSY') === true
        log.warn({ reason: messageOf(cause) }, 'a change of users or keys was not written')
        throw unavailable(messageOf(cause), isBusy ? BUSY_RETRY_S : BROKEN_RETRY_S, cause)
      }
      remember()
      for (const entry of entries) tell(entry)
    },
    note(entry) {
      try {
        if (db !== undefined && tables !== undefined) db.transaction(() => record(tables.audit, entry)).immediate()
      } catch (cause) {
        log.warn({ reason: messageOf(cause), type: entry.type }, 'the audit could not be written')
      }
      tell(entry)
    },
  }
}

function unavailable(reason: string, retryAfterS: number, cause?: unknown): Hal0Error {
  return Hal0Error.of('lane.store_unavailable', `Nothing was changed: hal0.db cannot be written now (${reason})`, {
    retryAfterS,
    details: { remedy: 'Keys that exist go on working. Look at the disk and the rights of hal0.db, then try again.' },
    cause,
  })
}
