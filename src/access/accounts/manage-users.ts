import type { UserChange, UserMade, UserRequest } from '../../contract/user.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { counted } from '../../kernel/sentence.ts'
import { type Caller, isAdmin, nameOf, userIdOf } from '../caller.ts'
import type { Passwords } from '../password.ts'
import type { Accounts } from '../people.ts'
import { findLastAdminFault, findNewUserFault, type UserFacts } from '../rules/user-rules.ts'
import { hashSecret, newId, newSecret } from '../secrets.ts'
import { type AccountContext, byOf, callerNow, demandAdmin, findUser, invalid } from './account-context.ts'
import type { AuditEntry } from './account-journal.ts'
import { drawKey, madeOf } from './manage-keys.ts'
import type { UserRecord } from './records.ts'
import { userRowOf } from './rows.ts'
import { findTimeZoneFault } from './time-zone-fault.ts'

export interface UserManagementDeps extends AccountContext {
  readonly passwords: Passwords
  /** Before the first user is written, and after the last one was removed. Errors: `lane.store_unavailable`. */
  readonly marker: { set(): Promise<void>; clear(): Promise<void> }
  readonly onFirstUser: (userId: string) => void
  /** See `AccountsDeps.onUserGone`. */
  readonly onUserGone: (userId: string, why: 'deleted' | 'disabled', by: Caller) => number
}

export interface UserManagement
  extends Pick<Accounts, 'users' | 'createUser' | 'changeUser' | 'removeUser' | 'createCalendarToken'> {
  /** By the set-up token. Errors: as `createUser`; `auth.required` when somebody was faster. */
  readonly createFirstAdmin: (request: { readonly name: string; readonly password: string }) => Promise<UserRecord>
}

const LOCAL: Caller = { kind: 'local_admin' }
const MAKING = 'Making a user'
const REMOVING = 'Removing a user'

/** The users of `Accounts`. Changes go one after the other; passwords are hashed before. */
export function createUserManagement(deps: UserManagementDeps): UserManagement {
  const { memory, journal, clock, passwords, marker, onFirstUser, onUserGone } = deps
  let tail: Promise<unknown> = Promise.resolve()

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = tail.then(work)
    tail = turn.catch(() => undefined)
    return turn
  }

  const facts = (): UserFacts[] =>
    memory.users().map((user) => ({ ...user, isDisabled: user.disabledAtMs !== undefined }))

  function refuseTimeZone(timeZone: string | null | undefined): void {
    const fault = typeof timeZone === 'string' ? findTimeZoneFault(timeZone) : undefined
    if (fault !== undefined) throw invalid(fault)
  }

  async function create(
    request: UserRequest,
    by: Caller,
    more: readonly AuditEntry[],
  ): Promise<[UserRecord, UserMade]> {
    const fault = findNewUserFault(facts(), request)
    if (fault !== undefined) throw invalid(fault)
    refuseTimeZone(request.time_zone)
    const passwordHash =
      request.password === undefined ? undefined : await passwords.hash(request.password, userIdOf(by))
    return inTurn(async () => {
      demandAdmin(callerNow(deps, by), MAKING)
      // Somebody may have been made meanwhile.
      const late = findNewUserFault(facts(), request)
      if (late !== undefined) throw invalid(late)
      if (more.length > 0 && memory.userCount > 0) throw setUpIsOver()
      const isFirst = memory.userCount === 0
      if (isFirst) await marker.set()
      try {
        const made = write(request, passwordHash, by, more)
        if (isFirst) onFirstUser(made[0].id)
        return made
      } catch (cause) {
        if (memory.userCount === 0) await marker.clear()
        throw cause
      }
    })
  }

  function write(
    request: UserRequest,
    passwordHash: string | undefined,
    by: Caller,
    more: readonly AuditEntry[],
  ): [UserRecord, UserMade] {
    const nowMs = clock.nowMs()
    const { name, role, email, time_zone: timeZone } = request
    const id = newId('usr_')
    const user: UserRecord = {
      id,
      name,
      role,
      passwordHash,
      email,
      timeZone,
      disabledAtMs: undefined,
      createdAtMs: nowMs,
    }
    const key = request.key_name === undefined ? undefined : drawKey(user, { name: request.key_name }, by, nowMs)
    const made: AuditEntry = {
      type: 'user_created',
      by: byOf(by),
      message: `${nameOf(by)} made the user ${name}, ${role === 'admin' ? 'an admin' : 'a member'}`,
      data: { user_id: id, name, role },
    }
    journal.commit({
      entries: [...more, made, ...(key === undefined ? [] : [key.entry])],
      write({ users, keys }) {
        users.put(user)
        if (key !== undefined) keys.add(key.record)
      },
      remember() {
        memory.putUser(user)
        if (key !== undefined) memory.putKey(key.record)
      },
    })
    return [user, { user: userRowOf(user), key: key === undefined ? null : madeOf(key, name) }]
  }

  return {
    users: () =>
      memory
        .users()
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map(userRowOf),

    async createUser(request, by) {
      demandAdmin(by, MAKING)
      const [, made] = await create(request, by, [])
      return made
    },

    async createFirstAdmin({ name, password }) {
      const message = `${name} was made the first admin by the set-up token`
      const entry: AuditEntry = { type: 'set_up', by: byOf(LOCAL), message, data: { name } }
      const [user] = await create({ name, password, role: 'admin' }, LOCAL, [entry])
      return user
    },

    async changeUser(name, change, by) {
      refuseForeignChange(name, change, by)
      const { id } = findUser(memory, name)
      refuseTimeZone(change.time_zone)
      const { password } = change
      const hash = typeof password === 'string' ? await passwords.hash(password, userIdOf(by)) : undefined
      return inTurn(async () => {
        refuseForeignChange(id, change, callerNow(deps, by))
        const user = findUser(memory, id)
        const after = changed(user, change, hash, clock.nowMs())
        const fault = findLastAdminFault(facts(), id, {
          role: after.role,
          isDisabled: after.disabledAtMs !== undefined,
        })
        if (fault !== undefined) throw invalid(fault)
        const keysChanged = Object.entries(change).flatMap(([key, value]) => (value === undefined ? [] : [key]))
        if (keysChanged.length === 0) return userRowOf(user)
        const isDisabledNow = user.disabledAtMs === undefined && after.disabledAtMs !== undefined
        const released = isDisabledNow ? onUserGone(id, 'disabled', by) : 0
        const endsSessions = change.password !== undefined || after.disabledAtMs !== undefined
        journal.commit({
          entries: [
            {
              type: 'user_changed',
              by: byOf(by),
              message: `${nameOf(by)} changed ${keysChanged.join(', ')} of ${user.name}${releasedText(released)}`,
              data: {
                user_id: id,
                name: user.name,
                changed: keysChanged,
                role: after.role,
                disabled: after.disabledAtMs !== undefined,
                ...(isDisabledNow && { released_reservations: released }),
                ...(endsSessions && { ended_sessions: memory.sessionsOf(id).length }),
              },
            },
          ],
          write({ users, sessions }) {
            users.put(after)
            if (endsSessions) sessions.removeOf(id)
          },
          remember() {
            memory.putUser(after)
            if (endsSessions) memory.removeSessionsOf(id)
          },
        })
        return userRowOf(after)
      })
    },

    async removeUser(name, by) {
      demandAdmin(by, REMOVING)
      return inTurn(async () => {
        demandAdmin(callerNow(deps, by), REMOVING)
        const user = findUser(memory, name)
        const isOnly = memory.userCount === 1
        // Who reads this machine's own key owns all of it anyway; nobody else opens it to everybody.
        const fault = isOnly && by.kind === 'local_admin' ? undefined : findLastAdminFault(facts(), user.id, undefined)
        if (fault !== undefined) throw invalid(fault)
        const released = onUserGone(user.id, 'deleted', by)
        journal.commit({
          entries: [
            {
              type: 'user_removed',
              by: byOf(by),
              message: `${nameOf(by)} removed the user ${user.name}${releasedText(released)}${isOnly ? '; no user is left, and hal0 is open to this machine' : ''}`,
              data: { user_id: user.id, name: user.name, released_reservations: released },
            },
          ],
          write: ({ users }) => users.remove(user.id),
          remember: () => memory.removeUser(user),
        })
        if (isOnly) await marker.clear()
      })
    },

    async createCalendarToken(by) {
      const userId = userIdOf(by)
      if (by.kind === 'local_admin' && memory.userCount > 0) {
        throw invalid({ param: 'user', message: "This machine's own key has no calendar feed; ask with a user's key." })
      }
      const token = newSecret('hal0_cal_')
      const hash = hashSecret(token)
      const name = nameOf(by)
      const message = `${name} made a new address for calendar feeds; the last one ended`
      journal.commit({
        entries: [{ type: 'calendar_token_created', by: byOf(by), message, data: { user_id: userId, name } }],
        write: ({ users }) => users.putCalendarToken(userId, hash),
        remember: () => memory.putCalendarToken(userId, hash),
      })
      return token
    },
  }

  function refuseForeignChange(name: string, change: UserChange, by: Caller): void {
    if (isAdmin(by)) return
    const own = memory.user(userIdOf(by))
    if (own === undefined || (name !== own.id && name.toLowerCase() !== own.name)) {
      throw Hal0Error.of('auth.forbidden', `${nameOf(by)} is a member, and may change nobody else.`, { param: 'user' })
    }
    const denied = (['role', 'disabled'] as const).find((key) => change[key] !== undefined)
    if (denied === undefined) return
    throw Hal0Error.of('auth.forbidden', `${nameOf(by)} is a member, and may not change ${denied}.`, { param: denied })
  }
}

/** What became of their bookings, for the audit; '' = they had none. */
function releasedText(count: number): string {
  if (count === 0) return ''
  return `; ${counted(count, 'open reservation')} of theirs ${count === 1 ? 'was' : 'were'} cancelled or ended`
}

function setUpIsOver(): Hal0Error {
  return Hal0Error.of('auth.required', 'Set-up is over: a user is defined. Sign in instead.', {
    param: 'token',
    details: { remedy: 'Sign in, or ask an admin for a user.' },
  })
}

function changed(user: UserRecord, change: UserChange, hash: string | undefined, nowMs: number): UserRecord {
  const { role, password, email, time_zone: timeZone, disabled } = change
  const disabledAtMs = disabled === true ? (user.disabledAtMs ?? nowMs) : undefined
  return {
    ...user,
    role: role ?? user.role,
    passwordHash: password === undefined ? user.passwordHash : hash,
    email: email === undefined ? user.email : (email ?? undefined),
    timeZone: timeZone === undefined ? user.timeZone : (timeZone ?? undefined),
    disabledAtMs: disabled === undefined ? user.disabledAtMs : disabledAtMs,
  }
}
