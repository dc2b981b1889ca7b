import type { KeyRow, UserRow } from '../../contract/user.ts'
import { isoTime } from '../../kernel/units.ts'
import type { KeyRecord, UserRecord } from './records.ts'

/** A user as people see one: without the hash. */
export function userRowOf(user: UserRecord): UserRow {
  return {
    id: user.id,
    name: user.name,
    role: user.role,
    email: user.email ?? null,
    time_zone: user.timeZone ?? null,
    has_password: user.passwordHash !== undefined,
    disabled_at: isoOrNull(user.disabledAtMs),
    created_at: isoTime(user.createdAtMs),
  }
}

/** A key as people see one: without the hash. */
export function keyRowOf(key: KeyRecord, userName: string): KeyRow {
  return {
    id: key.id,
    prefix: key.prefix,
    name: key.name,
    user: { id: key.userId, name: userName },
    created_at: isoTime(key.createdAtMs),
    expires_at: isoOrNull(key.expiresAtMs),
    revoked_at: isoOrNull(key.revokedAtMs),
    last_used_at: isoOrNull(key.lastUsedAtMs),
  }
}

export function isoOrNull(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : isoTime(epochMs)
}
