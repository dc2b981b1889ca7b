import type { AccountContext } from './account-context.ts'
import type { OnLimited } from './sign-in-attempts.ts'

/** Writes down that somebody tries to sign in too often. A name that nobody has is not said: it may be a password in the wrong field. */
export function noteLimitReached({ memory, journal }: Pick<AccountContext, 'memory' | 'journal'>): OnLimited {
  return ({ by, address, name }) => {
    const user = memory.userByName(name)
    const who = user === undefined ? '' : ` as ${user.name}`
    const why = by === 'address' ? 'too many attempts from this address' : 'too many attempts as this user'
    journal.note({
      type: 'sign_in_limited',
      severity: 'warning',
      by: { id: user?.id ?? '', name: user?.name ?? '' },
      message: `Signing in${who} from ${address} is refused for a while: ${why}`,
      data: { user_id: user?.id ?? null, name: user?.name ?? null, address },
    })
  }
}
