import type { Role } from '../contract/user.ts'

/**
 * Who asks. `local_admin`: nobody is defined and the request is this machine's own, or it carries the daemon's own key of this machine
 * (`daemon.json`). Source: SPEC 14.
 */
export type Caller =
  | { readonly kind: 'local_admin' }
  | {
      readonly kind: 'user'
      readonly userId: string
      readonly name: string
      readonly role: Role
      /** Undefined = signed in with a password. */
      readonly keyId: string | undefined
    }

/** What the bookings of the local admin belong to; no user has this id. */
export const LOCAL_USER_ID = 'local'

export function userIdOf(caller: Caller): string {
  return caller.kind === 'user' ? caller.userId : LOCAL_USER_ID
}

export function isAdmin(caller: Caller): boolean {
  return caller.kind === 'local_admin' || caller.role === 'admin'
}

/** For messages and the audit. */
export function nameOf(caller: Caller): string {
  return caller.kind === 'user' ? caller.name : LOCAL_USER_ID
}
