import type { UserChange } from '../../contract/user.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { counted } from '../../kernel/sentence.ts'
import { type Caller, isAdmin, nameOf, userIdOf } from '../caller.ts'
import type { Accounts } from '../people.ts'
import { findLastAdminFault } from '../rules/user-rules.ts'
import { byOf, callerNow, demandAdmin, findUser, invalid } from './account-context.ts'
import type { UserRecord } from './records.ts'
import { userRowOf } from './rows.ts'
import type { UserChanges } from './user-changes.ts'

const REMOVING = 'Removing a user'

export function createUserChanging(changes: UserChanges): Pick<Accounts, 'changeUser' | 'removeUser'> {
  const { clock, facts, inTurn, journal, marker, memory, onUserGone, passwords, refuseTimeZone } = changes

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

  return {
    async changeUser(name, change, by) {
      refuseForeignChange(name, change, by)
      const { id } = findUser(memory, name)
      refuseTimeZone(change.time_zone)
      const { password } = change
      const hash = typeof password === 'string' ? await passwords.hash(password, userIdOf(by)) : undefined
      return inTurn(async () => {
        refuseForeignChange(id, change, callerNow(changes, by))
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
        demandAdmin(callerNow(changes, by), REMOVING)
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
  }
}

/** What became of their bookings, for the audit; '' = they had none. */
function releasedText(count: number): string {
  if (count === 0) return ''
  return `; ${counted(count, 'open reservation')} of theirs ${count === 1 ? 'was' : 'were'} cancelled or ended`
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
