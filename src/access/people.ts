import type { KeyMade, KeyRequest, KeyRow, UserChange, UserMade, UserRequest, UserRow } from '../contract/user.ts'
import type { AuditTrail } from './audit.ts'
import type { Caller } from './caller.ts'

/** How messages and rows name somebody who is no user any more. */
export const DELETED_USER = 'deleted user'

/** A person as other rooms need one. */
export interface Person {
  readonly id: string
  readonly name: string
  readonly role: 'member' | 'admin'
  readonly email: string | undefined
  /** IANA; undefined = UTC. */
  readonly timeZone: string | undefined
  readonly isDisabled: boolean
}

/** Users from memory: costs nothing, and goes on while the store cannot be read. Source: SPEC 13, 14. */
export interface People {
  /** Undefined = no such user. `local` is known too: an admin of that name. */
  byId(id: string): Person | undefined
  /** Case does not matter. */
  byName(name: string): Person | undefined
  /** Who is defined; empty = nobody, or it cannot be read who. `local` is never among them. */
  all(): readonly Person[]
  /** Everybody with this role who may come in; `local` while nobody is defined. */
  admins(): readonly Person[]
}

/** Users and keys as admins (and people themselves) manage them. Every write is in the store when it resolves. Source: SPEC 14. */
export interface Accounts extends People {
  /** Who did what. */
  readonly audit: AuditTrail
  /** In order of name. Errors: none. */
  users(): readonly UserRow[]
  /** The first one has to be an admin. Errors: `validation.invalid`, `auth.forbidden`, `lane.store_unavailable`. */
  createUser(request: UserRequest, by: Caller): Promise<UserMade>
  /** `name` or id. Members change themselves only, and neither role nor disabled. The last admin stays one. Errors: also `auth.forbidden`. */
  changeUser(user: string, change: UserChange, by: Caller): Promise<UserRow>
  /** With keys and sessions; refused while the last admin, but the only user there is may be removed by the local admin. Errors: as `changeUser`. */
  removeUser(user: string, by: Caller): Promise<void>
  /** Own ones; admins: of everybody, or of `user`. Newest first. Errors: `auth.forbidden`, `validation.invalid`. */
  keys(by: Caller, user?: string): readonly KeyRow[]
  createKey(request: KeyRequest, by: Caller): Promise<KeyMade>
  /** By id or prefix; what others own is unknown to a member. Idempotent. Errors: `validation.invalid`, `lane.store_unavailable`. */
  revokeKey(key: string, by: Caller): Promise<KeyRow>
  /** New token for calendar feeds of this user; the last one ends. Told once. The local admin has one while nobody is defined. Errors: `validation.invalid`, `lane.store_unavailable`. */
  createCalendarToken(by: Caller): Promise<string>
  /** Whose token is it? Undefined = nobody's. */
  byCalendarToken(token: string): Person | undefined
}
