import type { KeyMade, KeyRequest, KeyRow } from '../../contract/user.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { shortText } from '../../kernel/short-text.ts'
import { type Caller, isAdmin, userIdOf } from '../caller.ts'
import type { Accounts } from '../people.ts'
import { hashSecret, newId, newSecret, prefixOf } from '../secrets.ts'
import { type AccountContext, byOf, demandAdmin, findUser, invalid } from './account-context.ts'
import type { AuditEntry } from './account-journal.ts'
import type { KeyRecord, UserRecord } from './records.ts'
import { isoOrNull, keyRowOf } from './rows.ts'

/** More than anybody needs; whoever makes keys in a loop is stopped before memory is. Revoked ones count: they are listed. */
export const MAX_KEYS_PER_USER = 200

/** A key that was drawn and is not written yet. */
export interface DrawnKey {
  readonly record: KeyRecord
  readonly secret: string
  readonly entry: AuditEntry
}

export function drawKey(
  user: UserRecord,
  wanted: { readonly name: string; readonly expiresAtMs?: number | undefined },
  by: Caller,
  nowMs: number,
): DrawnKey {
  const secret = newSecret('hal0_')
  const record: KeyRecord = {
    id: newId('key_'),
    userId: user.id,
    name: wanted.name,
    prefix: prefixOf(secret),
    hash: hashSecret(secret),
    createdAtMs: nowMs,
    expiresAtMs: wanted.expiresAtMs,
    revokedAtMs: undefined,
    lastUsedAtMs: undefined,
  }
  return { record, secret, entry: entryOf('key_created', record, user, by) }
}

export function madeOf({ record, secret }: DrawnKey, userName: string): KeyMade {
  return { key: keyRowOf(record, userName), secret }
}

function entryOf(type: 'key_created' | 'key_revoked', key: KeyRecord, user: UserRecord, by: Caller): AuditEntry {
  const done = type === 'key_created' ? 'made' : 'revoked'
  return {
    type,
    by: byOf(by),
    message: `${byOf(by).name} ${done} the key ${key.prefix}… of ${user.name}`,
    data: {
      key_id: key.id,
      prefix: key.prefix,
      name: key.name,
      user_id: user.id,
      user: user.name,
      expires_at: isoOrNull(key.expiresAtMs),
    },
  }
}

/** The keys of `Accounts`. */
export function createKeyManagement(context: AccountContext): Pick<Accounts, 'keys' | 'createKey' | 'revokeKey'> {
  const { memory, journal, clock } = context

  function rowOf(key: KeyRecord): KeyRow {
    return keyRowOf(key, memory.user(key.userId)?.name ?? 'deleted user')
  }

  /** Own ones, or those an admin asks about. Undefined = of everybody. */
  function whose(by: Caller, user: string | undefined): UserRecord | undefined {
    const own = memory.user(userIdOf(by))
    if (user === undefined) return isAdmin(by) ? undefined : own
    if (own !== undefined && (user === own.id || user.toLowerCase() === own.name)) return own
    demandAdmin(by, 'The keys of other people')
    return findUser(memory, user)
  }

  function owner(by: Caller, user: string | undefined): UserRecord {
    const found = user === undefined ? memory.user(userIdOf(by)) : whose(by, user)
    if (found !== undefined) return found
    throw invalid({
      param: 'user',
      message:
        'A key belongs to a user, and this request is the local admin; say whose key (`hal0 key create NAME --user USER`).',
    })
  }

  /** What others own is unknown to a member. */
  function findKey(key: string, by: Caller): KeyRecord {
    const mine = isAdmin(by) ? memory.keys() : memory.keysOf(userIdOf(by))
    const found = mine.filter(({ id, prefix }) => id === key || prefix === key)
    if (found.length > 1) {
      throw invalid({ param: 'key', message: `${found.length} keys begin like this; say the id of one.` })
    }
    if (found[0] !== undefined) return found[0]
    // Whoever pastes a whole key must not find it in a log.
    const shown = key.length <= 12 || key.startsWith('key_') ? ` ${JSON.stringify(shortText(key, 40))}` : ''
    throw invalid({ param: 'key', message: `There is no key${shown}; expected its id or its first characters.` })
  }

  return {
    keys(by, user) {
      const one = whose(by, user)
      if (one === undefined && !isAdmin(by)) return []
      const found = one === undefined ? memory.keys() : memory.keysOf(one.id)
      return found.toSorted((a, b) => b.createdAtMs - a.createdAtMs).map(rowOf)
    },
    // Async, so that a refusal is a rejection.
    async createKey(request: KeyRequest, by) {
      const user = owner(by, request.user)
      const nowMs = clock.nowMs()
      const expiresAtMs = request.expires_at === undefined ? undefined : Date.parse(request.expires_at)
      if (expiresAtMs !== undefined && expiresAtMs <= nowMs) {
        throw invalid({ param: 'expires_at', message: `${request.expires_at} is over; expected a time to come.` })
      }
      if (memory.keysOf(user.id).length >= MAX_KEYS_PER_USER) {
        throw invalid({ param: 'user', message: `${user.name} has ${MAX_KEYS_PER_USER} keys, which is the most.` })
      }
      const drawn = drawKey(user, { name: request.name, expiresAtMs }, by, nowMs)
      journal.commit({
        entries: [drawn.entry],
        write: ({ keys }) => keys.add(drawn.record),
        remember: () => memory.putKey(drawn.record),
      })
      return madeOf(drawn, user.name)
    },
    async revokeKey(key, by) {
      const record = findKey(key, by)
      if (record.revokedAtMs !== undefined) return rowOf(record)
      const user = memory.user(record.userId)
      if (user === undefined) throw Hal0Error.of('internal', 'a key without its user')
      const revoked: KeyRecord = { ...record, revokedAtMs: clock.nowMs() }
      journal.commit({
        entries: [entryOf('key_revoked', revoked, user, by)],
        write: ({ keys }) => keys.revoke(revoked.id, clock.nowMs()),
        remember: () => memory.putKey(revoked),
      })
      return rowOf(revoked)
    },
  }
}
