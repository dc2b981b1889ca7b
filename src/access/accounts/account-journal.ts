import type { Database } from 'better-sqlite3'
import type { NewEvent } from '../../contract/events.ts'
import type { Clock } from '../../kernel/clock.ts'
import { errnoOf, Hal0Error, messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { HOUR_MS } from '../../kernel/units.ts'
import { durably, soon } from '../../store/durably.ts'
import type { AccountTables } from './account-tables.ts'

/** As long as usage: somebody who looks back at a bill sees who made the key. */
export const AUDIT_KEPT_MS = 400 * 24 * HOUR_MS
/** Years of a busy house; whoever makes rows in a loop does not fill the disk. */
export const AUDIT_MAX_ROWS = 100_000
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
    | 'sign_in_limited'
    | 'signed_out'
    | 'set_up'
    | 'set_up_failed'
    | 'calendar_token_created'
    | 'refused'
  readonly severity?: NewEvent['severity']
  readonly by: { readonly id: string; readonly name: string }
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A row of the audit that nobody is told of. `type`: whole, with what stands before the dot. */
export interface AuditNote extends Pick<AuditEntry, 'by' | 'message' | 'data'> {
  readonly type: string
}

/** Every change goes through here: first into the store, with its audit, then it is told as `access.…`. */
export interface AccountJournal {
  /** All of it is on the disk when this returns, or nothing of it is and nothing is remembered. Errors: `lane.store_unavailable`. */
  commit(change: AccountChange): void
  /** Tells what changed nothing, or what is remembered only. Never throws. */
  note(entry: AuditEntry): void
  /** Writes it down and tells nobody: others did. Never throws. */
  record(note: AuditNote): void
  /** Errors: `lane.store_unavailable`. */
  read<T>(work: (tables: AccountTables) => T): T
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
  function write(audit: AccountTables['audit'], { type, by, message, data }: AuditNote): void {
    const atMs = clock.nowMs()
    const row = { atMs, type, byUserId: by.id, byName: by.name, message, data }
    audit.add(row, { oldestMs: atMs - AUDIT_KEPT_MS, maxRows: AUDIT_MAX_ROWS })
  }

  function record(note: AuditNote): void {
    try {
      if (db !== undefined && tables !== undefined) soon(db, () => write(tables.audit, note))
    } catch (cause) {
      log.warn({ reason: messageOf(cause), type: note.type }, 'the audit could not be written')
    }
  }

  function tell({ type, severity = 'info', by, message, data }: AuditEntry): void {
    publish({ type: `access.${type}`, severity, source: 'access', message, data: { ...data, by: by.name } })
  }

  return {
    commit({ entries, write: change, remember }) {
      if (db === undefined || tables === undefined) throw unavailable('it cannot be used', BROKEN_RETRY_S)
      try {
        durably(db, () => {
          change(tables)
          for (const entry of entries) write(tables.audit, { ...entry, type: `access.${entry.type}` })
        })
      } catch (cause) {
        if (cause instanceof Hal0Error) throw cause
        log.warn({ reason: messageOf(cause) }, 'a change of users or keys was not written')
        throw unavailable(messageOf(cause), isBusy(cause) ? BUSY_RETRY_S : BROKEN_RETRY_S, cause)
      }
      remember()
      for (const entry of entries) tell(entry)
    },
    note(entry) {
      record({ ...entry, type: `access.${entry.type}` })
      tell(entry)
    },
    record,
    read(work) {
      if (tables === undefined) throw unreadable('it cannot be used', BROKEN_RETRY_S)
      try {
        return work(tables)
      } catch (cause) {
        throw unreadable(messageOf(cause), isBusy(cause) ? BUSY_RETRY_S : BROKEN_RETRY_S, cause)
      }
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

function unreadable(reason: string, retryAfterS: number, cause?: unknown): Hal0Error {
  return Hal0Error.of('lane.store_unavailable', `hal0.db cannot be read now (${reason})`, { retryAfterS, cause })
}

function isBusy(cause: unknown): boolean {
  return errnoOf(cause)?.startsWith('SQLITE_BUSY') === true
}
