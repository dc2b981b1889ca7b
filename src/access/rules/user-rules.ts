import type { Role } from '../../contract/user.ts'

/** What the rules need of a user. */
export interface UserFacts {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly isDisabled: boolean
}

/** What is wrong with a request about users: which field, what it is, what to do. */
export interface UserFault {
  readonly param: string
  readonly message: string
}

/** Names that say somebody else: the local admin in lists, whoever is gone, and hal0 where it acts by itself. */
const TAKEN_BY_HAL0 = new Set(['local', 'deleted', 'hal0'])

/** May a user of this name and role be made? The first one has to be an admin: there would be nobody to make a second. Source: SPEC 14. */
export function findNewUserFault(
  users: readonly UserFacts[],
  wanted: { readonly name: string; readonly role: Role },
): UserFault | undefined {
  const { name, role } = wanted
  if (TAKEN_BY_HAL0.has(name.toLowerCase())) {
    return { param: 'name', message: `The name ${name} is hal0's own; choose another.` }
  }
  if (users.some((user) => user.name.toLowerCase() === name.toLowerCase())) {
    return { param: 'name', message: `There is a user ${name} already; choose another name.` }
  }
  if (users.length === 0 && role !== 'admin') {
    return { param: 'role', message: `The first user has to be an admin; ${name} would be a member.` }
  }
  return undefined
}

/** Somebody who may manage the rest has to stay. `after`: what the user would be; undefined = removed. Source: SPEC 14. */
export function findLastAdminFault(
  users: readonly UserFacts[],
  id: string,
  after: Pick<UserFacts, 'role' | 'isDisabled'> | undefined,
): UserFault | undefined {
  const isActing = (user: Pick<UserFacts, 'role' | 'isDisabled'>) => user.role === 'admin' && !user.isDisabled
  const user = users.find((one) => one.id === id)
  if (user === undefined || !isActing(user) || (after !== undefined && isActing(after))) return undefined
  if (users.some((one) => one.id !== id && isActing(one))) return undefined
  const what = after === undefined ? 'removed' : after.isDisabled ? 'disabled' : 'made a member'
  const param = after === undefined ? 'user' : after.isDisabled ? 'disabled' : 'role'
  return { param, message: `${user.name} is the last admin and cannot be ${what}; make another user an admin first.` }
}
