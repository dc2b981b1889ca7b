import { nameOf, userIdOf } from '../caller.ts'
import type { Accounts } from '../people.ts'
import { hashSecret, newSecret } from '../secrets.ts'
import { byOf, invalid } from './account-context.ts'
import { createUserChanging } from './change-users.ts'
import { createUserMaking, type UserMaking } from './make-users.ts'
import { userRowOf } from './rows.ts'
import { createUserChanges, type UserChangesDeps } from './user-changes.ts'

export interface UserManagementDeps extends UserChangesDeps {
  readonly onFirstUser: (userId: string) => void
}

export interface UserManagement
  extends UserMaking,
    Pick<Accounts, 'users' | 'changeUser' | 'removeUser' | 'createCalendarToken'> {}

/** The users of `Accounts`. */
export function createUserManagement(deps: UserManagementDeps): UserManagement {
  const { journal, memory, onFirstUser } = deps
  const changes = createUserChanges(deps)
  return {
    ...createUserMaking({ ...changes, onFirstUser }),
    ...createUserChanging(changes),

    users: () =>
      memory
        .users()
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map(userRowOf),

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
}
