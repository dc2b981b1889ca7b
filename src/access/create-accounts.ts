import type { Database } from 'better-sqlite3'
import type { NewEvent } from '../contract/events.ts'
import type { Clock } from '../kernel/clock.ts'
import { messageOf } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { HOUR_MS, SECOND_MS } from '../kernel/units.ts'
import { createAccountJournal } from './accounts/account-journal.ts'
import { AccountMemory } from './accounts/account-memory.ts'
import { type AccountTables, openAccountTables } from './accounts/account-tables.ts'
import { createAuditTrail } from './accounts/audit-trail.ts'
import { createCredentialsCheck } from './accounts/credentials-check.ts'
import { createDoors } from './accounts/doors.ts'
import { createLateWrites } from './accounts/late-writes.ts'
import { createKeyManagement } from './accounts/manage-keys.ts'
import { createSessionManagement } from './accounts/manage-sessions.ts'
import { createUserManagement } from './accounts/manage-users.ts'
import { noteLimitReached } from './accounts/note-limit-reached.ts'
import { createSignInAttempts } from './accounts/sign-in-attempts.ts'
import { type Caller, LOCAL_USER_ID } from './caller.ts'
import type { Credentials } from './credentials.ts'
import { createPasswords, type PasswordCost } from './password.ts'
import type { Accounts } from './people.ts'
import { hashSecret } from './secrets.ts'
import type { Sessions } from './sessions.ts'
import { createSetUpToken } from './set-up-token.ts'
import type { UsersMarker } from './users-marker.ts'

export interface AccountsDeps {
  /** hal0.db with its schema up to date; undefined = it cannot be used in this life. */
  readonly db: Database | undefined
  readonly clock: Clock
  readonly log: Log
  readonly publish: (event: NewEvent) => void
  readonly marker: UsersMarker
  /** Asked each time: an edit applies at once. */
  readonly settings: () => {
    readonly sessionHours: number
    readonly signInAttempts: number
    readonly signInWindowS: number
    readonly trustedProxies: readonly string[]
  }
  /** hal0 is no longer open from here on. */
  readonly onFirstUser?: (userId: string) => void
  /** Before somebody is deleted or disabled: ends what they have booked, and says how much it was. What it throws refuses the change. */
  readonly onUserGone?: ((userId: string, why: 'deleted' | 'disabled', by: Caller) => number) | undefined
  /** Absent = what it should be. Tests take less. */
  readonly passwordCost?: PasswordCost
}

/** All that is known about people, for those who manage them and for the guard. */
export interface AccountRooms extends Accounts, Sessions, Credentials {
  /** To be printed at the start; undefined = a user is defined. */
  readonly setUpToken: string | undefined
  /** While hal0 is locked: why, and what to do; undefined = it is not. */
  readonly lock: string | undefined
  /** Writes what waits. Never throws. */
  close(): void
}

/** Reads everybody into memory. Never throws: what cannot be read locks the doors, and is told. Source: SPEC 13, 14. */
export function createAccounts(deps: AccountsDeps): AccountRooms {
  const { db, clock, log, publish, settings, onFirstUser = () => {}, onUserGone = () => 0, passwordCost } = deps
  const memory = new AccountMemory()
  const { tables, problem } = read(db, memory)
  const doors = createDoors(deps, memory, problem)
  const { mode, lock } = doors

  const sessionMs = () => settings().sessionHours * HOUR_MS
  const journal = createAccountJournal({ db, tables, clock, log, publish })
  const late = createLateWrites({ db, tables, clock, log })
  const passwords = createPasswords(passwordCost)
  const check = createCredentialsCheck({ memory, late, clock, sessionMs })
  const context = { memory, journal, clock }
  const setUpToken = createSetUpToken(() => mode() === 'open')
  memory.onChange(() => {
    if (memory.userCount > 0) setUpToken.end()
  })
  const { createFirstAdmin, ...users } = createUserManagement({
    ...context,
    passwords,
    onFirstUser,
    onUserGone,
    marker: doors,
  })
  const limit = () => ({ attempts: settings().signInAttempts, windowMs: settings().signInWindowS * SECOND_MS })
  const sessions = createSessionManagement({
    ...context,
    passwords,
    attempts: createSignInAttempts(clock, limit, noteLimitReached({ memory, journal })),
    check,
    late,
    setUpToken,
    createFirstAdmin,
    mode,
    lock,
    settings: () => ({ sessionMs: sessionMs(), trustedProxies: settings().trustedProxies }),
  })

  return {
    ...users,
    ...createKeyManagement(context),
    ...sessions,
    audit: createAuditTrail(journal, clock),
    key: check.key,
    session: check.session,
    byId: (id) => memory.byId(id),
    byName: (name) => memory.byName(name),
    all: () => memory.all(),
    admins: () => memory.admins(),
    byCalendarToken(token) {
      const owner = memory.calendarOwner(hashSecret(token))
      if (owner === undefined || (owner === LOCAL_USER_ID && mode() !== 'open')) return undefined
      const person = memory.byId(owner)
      return person?.isDisabled === true ? undefined : person
    },
    get mode() {
      return mode()
    },
    get lock() {
      return lock()
    },
    get setUpToken() {
      return setUpToken.secret
    },
    close: () => late.close(),
  }
}

/** `problem`: why the store does not say who there is; then memory is empty, and nothing is written. */
function read(
  db: Database | undefined,
  memory: AccountMemory,
): { readonly tables: AccountTables | undefined; readonly problem: string | undefined } {
  if (db === undefined) return { tables: undefined, problem: 'it cannot be used' }
  try {
    const tables = openAccountTables(db)
    memory.load(tables)
    return { tables, problem: undefined }
  } catch (cause) {
    return { tables: undefined, problem: messageOf(cause) }
  }
}
