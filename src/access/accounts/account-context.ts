import type { Clock } from '../../kernel/clock.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { shortText } from '../../kernel/short-text.ts'
import { type Caller, isAdmin, nameOf, userIdOf } from '../caller.ts'
import type { UserFault } from '../rules/user-rules.ts'
import type { AccountJournal, AuditEntry } from './account-journal.ts'
import type { AccountMemory } from './account-memory.ts'
import type { UserRecord } from './records.ts'

/** What managing people works with. */
export interface AccountContext {
  readonly memory: AccountMemory
  readonly journal: AccountJournal
  readonly clock: Clock
}

export function byOf(caller: Caller): AuditEntry['by'] {
  return { id: userIdOf(caller), name: nameOf(caller) }
}

export function invalid({ param, message }: UserFault): Hal0Error {
  return Hal0Error.of('validation.invalid', message, { param })
}

/** By id, or by name in any case. Errors: `validation.invalid`. */
export function findUser(memory: AccountMemory, user: string): UserRecord {
  const found = memory.user(user) ?? memory.userByName(user)
  if (found !== undefined) return found
  throw invalid({ param: 'user', message: `There is no user ${JSON.stringify(shortText(user, 64))}.` })
}

/**
 * Who asks, as of now: while a password was hashed they may have been removed, disabled or made a member, or their key may have ended.
 * Errors: `auth.required`. Source: SPEC 14.
 */
export function callerNow({ memory, clock }: Pick<AccountContext, 'memory' | 'clock'>, caller: Caller): Caller {
  if (caller.kind === 'local_admin') return caller
  const user = memory.user(caller.userId)
  const key = caller.keyId === undefined ? undefined : memory.key(caller.keyId)
  const isKeyOver =
    key !== undefined &&
    (key.revokedAtMs !== undefined || (key.expiresAtMs ?? Number.POSITIVE_INFINITY) <= clock.nowMs())
  if (user !== undefined && user.disabledAtMs === undefined && !isKeyOver) return { ...caller, role: user.role }
  throw Hal0Error.of('auth.required', `${nameOf(caller)} may not come in any more; nothing was changed.`)
}

/** Errors: `auth.forbidden`. */
export function demandAdmin(caller: Caller, what: string): void {
  if (isAdmin(caller)) return
  throw Hal0Error.of('auth.forbidden', `${what} needs the role admin; ${nameOf(caller)} is a member.`)
}
