import type { UserMade, UserRequest } from '../../contract/user.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { type Caller, nameOf, userIdOf } from '../caller.ts'
import type { Accounts } from '../people.ts'
import { findNewUserFault } from '../rules/user-rules.ts'
import { newId } from '../secrets.ts'
import { byOf, callerNow, demandAdmin, invalid } from './account-context.ts'
import type { AuditEntry } from './account-journal.ts'
import { drawKey, madeOf } from './manage-keys.ts'
import type { UserRecord } from './records.ts'
import { userRowOf } from './rows.ts'
import type { UserChanges } from './user-changes.ts'

export interface UserMaking extends Pick<Accounts, 'createUser'> {
  /** By the set-up token. Errors: as `createUser`; `auth.required` when somebody was faster. */
  readonly createFirstAdmin: (request: { readonly name: string; readonly password: string }) => Promise<UserRecord>
}

const LOCAL: Caller = { kind: 'local_admin' }
const MAKING = 'Making a user'

export function createUserMaking(
  changes: UserChanges & { readonly onFirstUser: (userId: string) => void },
): UserMaking {
  const { clock, facts, inTurn, journal, marker, memory, onFirstUser, passwords, refuseTimeZone } = changes

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
      demandAdmin(callerNow(changes, by), MAKING)
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
  }
}

function setUpIsOver(): Hal0Error {
  return Hal0Error.of('auth.required', 'Set-up is over: a user is defined. Sign in instead.', {
    param: 'token',
    details: { remedy: 'Sign in, or ask an admin for a user.' },
  })
}
