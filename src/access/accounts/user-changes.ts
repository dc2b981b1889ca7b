import type { Caller } from '../caller.ts'
import type { Passwords } from '../password.ts'
import type { UserFacts } from '../rules/user-rules.ts'
import { type AccountContext, invalid } from './account-context.ts'
import { findTimeZoneFault } from './time-zone-fault.ts'

export interface UserChangesDeps extends AccountContext {
  readonly passwords: Passwords
  /** Before the first user is written, and after the last one was removed. Errors: `lane.store_unavailable`. */
  readonly marker: { set(): Promise<void>; clear(): Promise<void> }
  /** See `AccountsDeps.onUserGone`. */
  readonly onUserGone: (userId: string, why: 'deleted' | 'disabled', by: Caller) => number
}

/** What changes of users have in common: they go one after the other; passwords are hashed before. */
export interface UserChanges extends UserChangesDeps {
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>
  /** Of everybody there is. */
  readonly facts: () => readonly UserFacts[]
  /** Errors: `validation.invalid`. */
  readonly refuseTimeZone: (timeZone: string | null | undefined) => void
}

export function createUserChanges(deps: UserChangesDeps): UserChanges {
  let tail: Promise<unknown> = Promise.resolve()
  return {
    ...deps,
    inTurn(work) {
      const turn = tail.then(work)
      tail = turn.catch(() => undefined)
      return turn
    },
    facts: () => deps.memory.users().map((user) => ({ ...user, isDisabled: user.disabledAtMs !== undefined })),
    refuseTimeZone(timeZone) {
      const fault = typeof timeZone === 'string' ? findTimeZoneFault(timeZone) : undefined
      if (fault !== undefined) throw invalid(fault)
    },
  }
}
