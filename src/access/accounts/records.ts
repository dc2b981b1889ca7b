import type { Role } from '../../contract/user.ts'

/** A user as kept. Times are epoch ms. */
export interface UserRecord {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly passwordHash: string | undefined
  readonly email: string | undefined
  readonly timeZone: string | undefined
  /** Undefined = may come in. */
  readonly disabledAtMs: number | undefined
  readonly createdAtMs: number
}

export interface KeyRecord {
  readonly id: string
  readonly userId: string
  readonly name: string
  readonly prefix: string
  /** SHA-256, hex. */
  readonly hash: string
  readonly createdAtMs: number
  /** Good while now < this; undefined = for ever. */
  readonly expiresAtMs: number | undefined
  readonly revokedAtMs: number | undefined
  /** To the minute. Changes without anything else changing, on the path of requests. */
  lastUsedAtMs: number | undefined
}

export interface SessionRecord {
  /** SHA-256 of the cookie's value, hex. */
  readonly hash: string
  readonly userId: string
  readonly createdAtMs: number
  /** Good while now < this. Moves on while it is used. */
  expiresAtMs: number
}
