import type { Clock } from '../../kernel/clock.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { HOUR_MS, isoTime } from '../../kernel/units.ts'
import type { Caller } from '../caller.ts'
import type { Credentials } from '../credentials.ts'
import { hashSecret } from '../secrets.ts'
import type { AccountMemory } from './account-memory.ts'
import { type LateWrites, USED_EVERY_MS } from './late-writes.ts'
import type { KeyRecord, SessionRecord, UserRecord } from './records.ts'

/** Keys that came in lately, so that their next request costs a look into a map. */
const MAX_REMEMBERED = 1_024
/** A session in use is written at most so often, */
const EXTENDED_EVERY_MS = HOUR_MS
/** and in so many steps at least: one that lasts for an hour must not end under somebody who uses it. */
const MIN_EXTENSIONS = 20

interface Admitted {
  readonly key: KeyRecord
  readonly caller: Result<Caller, string>
}

export interface CredentialsCheckDeps {
  readonly memory: AccountMemory
  readonly late: Pick<LateWrites, 'keyUsed' | 'sessionExtended'>
  readonly clock: Clock
  readonly sessionMs: () => number
}

export interface CredentialsCheck extends Pick<Credentials, 'key' | 'session'> {
  /** The session of a cookie's value that counts now, whoever it belongs to. */
  findSession(token: string): SessionRecord | undefined
}

export function createCredentialsCheck({ memory, late, clock, sessionMs }: CredentialsCheckDeps): CredentialsCheck {
  const remembered = new Map<string, Admitted>()
  memory.onChange(() => remembered.clear())

  function lookUp(secret: string): Admitted | string {
    const key = memory.keyByHash(hashSecret(secret))
    if (key === undefined) return 'this key is not known'
    if (key.revokedAtMs !== undefined) return `this key was revoked at ${isoTime(key.revokedAtMs)}`
    const user = memory.user(key.userId)
    if (user === undefined) return 'this key is not known'
    if (user.disabledAtMs !== undefined) return 'the user of this key is disabled'
    return { key, caller: ok(callerOf(user, key.id)) }
  }

  function findSession(token: string): SessionRecord | undefined {
    const session = memory.session(hashSecret(token))
    return session === undefined || clock.nowMs() >= session.expiresAtMs ? undefined : session
  }

  return {
    key(secret) {
      let found: Admitted | string | undefined = remembered.get(secret)
      if (found === undefined) {
        found = lookUp(secret)
        if (typeof found === 'string') return err(found)
        if (remembered.size >= MAX_REMEMBERED) remembered.clear()
        remembered.set(secret, found)
      }
      const { key, caller } = found
      const nowMs = clock.nowMs()
      if (key.expiresAtMs !== undefined && nowMs >= key.expiresAtMs) {
        return err(`this key expired at ${isoTime(key.expiresAtMs)}`)
      }
      if (key.lastUsedAtMs === undefined || nowMs - key.lastUsedAtMs >= USED_EVERY_MS) {
        key.lastUsedAtMs = nowMs
        late.keyUsed(key)
      }
      return caller
    },

    session(token) {
      const session = findSession(token)
      const user = session === undefined ? undefined : memory.user(session.userId)
      if (session === undefined || user === undefined || user.disabledAtMs !== undefined) {
        return err('this session has ended')
      }
      const lengthMs = sessionMs()
      const untilMs = clock.nowMs() + lengthMs
      // It is cut where the setting was made shorter, or the clock was set back.
      if (Math.abs(untilMs - session.expiresAtMs) >= Math.min(EXTENDED_EVERY_MS, lengthMs / MIN_EXTENSIONS)) {
        session.expiresAtMs = untilMs
        late.sessionExtended(session)
      }
      return ok(callerOf(user, undefined))
    },

    findSession,
  }
}

function callerOf({ id, name, role }: UserRecord, keyId: string | undefined): Caller {
  return { kind: 'user', userId: id, name, role, keyId }
}
