import { LOCAL_USER_ID } from '../caller.ts'
import type { People, Person } from '../people.ts'
import type { AccountTables } from './account-tables.ts'
import type { KeyRecord, SessionRecord, UserRecord } from './records.ts'

const LOCAL: Person = {
  id: LOCAL_USER_ID,
  name: LOCAL_USER_ID,
  role: 'admin',
  email: undefined,
  timeZone: undefined,
  isDisabled: false,
}

/**
 * Everybody, with keys and sessions, in memory: every question is answered from here, also while the store cannot be read. Changed only after the
 * store was. Source: SPEC 13, 14.
 */
export class AccountMemory implements People {
  readonly #users = new Map<string, UserRecord>()
  readonly #byName = new Map<string, UserRecord>()
  readonly #keys = new Map<string, KeyRecord>()
  readonly #byKeyHash = new Map<string, KeyRecord>()
  readonly #sessions = new Map<string, SessionRecord>()
  readonly #calendarTokens = new Map<string, string>()
  readonly #onChange = new Set<() => void>()

  /** All or nothing. Errors: SQLite's own. */
  load(tables: AccountTables): void {
    const [users, keys, sessions] = [tables.users.all(), tables.keys.all(), tables.sessions.all()]
    const tokens = tables.users.calendarTokens()
    for (const user of users) this.putUser(user)
    for (const key of keys) this.putKey(key)
    for (const session of sessions) this.putSession(session)
    for (const [hash, userId] of tokens) this.putCalendarToken(userId, hash)
  }

  /** `changed` is called after every change of who may come in. */
  onChange(changed: () => void): void {
    this.#onChange.add(changed)
  }

  get userCount(): number {
    return this.#users.size
  }

  users(): readonly UserRecord[] {
    return [...this.#users.values()]
  }

  user(id: string): UserRecord | undefined {
    return this.#users.get(id)
  }

  userByName(name: string): UserRecord | undefined {
    return this.#byName.get(name.toLowerCase())
  }

  putUser(user: UserRecord): void {
    this.#users.set(user.id, user)
    this.#byName.set(user.name.toLowerCase(), user)
    this.#changed()
  }

  /** With keys and sessions. */
  removeUser({ id, name }: UserRecord): void {
    this.#users.delete(id)
    this.#byName.delete(name.toLowerCase())
    for (const key of this.keysOf(id)) {
      this.#keys.delete(key.id)
      this.#byKeyHash.delete(key.hash)
    }
    this.removeSessionsOf(id)
    this.#removeCalendarToken(id)
    this.#changed()
  }

  keys(): readonly KeyRecord[] {
    return [...this.#keys.values()]
  }

  keysOf(userId: string): readonly KeyRecord[] {
    return this.keys().filter((key) => key.userId === userId)
  }

  key(id: string): KeyRecord | undefined {
    return this.#keys.get(id)
  }

  keyByHash(hash: string): KeyRecord | undefined {
    return this.#byKeyHash.get(hash)
  }

  putKey(key: KeyRecord): void {
    this.#keys.set(key.id, key)
    this.#byKeyHash.set(key.hash, key)
    this.#changed()
  }

  session(hash: string): SessionRecord | undefined {
    return this.#sessions.get(hash)
  }

  /** Oldest first. */
  sessionsOf(userId: string): readonly SessionRecord[] {
    return [...this.#sessions.values()]
      .filter((session) => session.userId === userId)
      .toSorted((a, b) => a.createdAtMs - b.createdAtMs)
  }

  putSession(session: SessionRecord): void {
    this.#sessions.set(session.hash, session)
  }

  removeSession(hash: string): void {
    this.#sessions.delete(hash)
  }

  removeSessionsOf(userId: string): void {
    for (const session of this.sessionsOf(userId)) this.#sessions.delete(session.hash)
  }

  /** Those that ended at `nowMs` or before. */
  removeEndedSessions(nowMs: number): void {
    for (const [hash, { expiresAtMs }] of this.#sessions) if (expiresAtMs <= nowMs) this.#sessions.delete(hash)
  }

  /** The one that the user had before ends. */
  putCalendarToken(userId: string, hash: string): void {
    this.#removeCalendarToken(userId)
    this.#calendarTokens.set(hash, userId)
  }

  calendarOwner(hash: string): string | undefined {
    return this.#calendarTokens.get(hash)
  }

  #removeCalendarToken(userId: string): void {
    for (const [hash, owner] of this.#calendarTokens) if (owner === userId) this.#calendarTokens.delete(hash)
  }

  byId(id: string): Person | undefined {
    if (id === LOCAL_USER_ID) return LOCAL
    const user = this.#users.get(id)
    return user === undefined ? undefined : personOf(user)
  }

  byName(name: string): Person | undefined {
    if (name.toLowerCase() === LOCAL_USER_ID) return LOCAL
    const user = this.userByName(name)
    return user === undefined ? undefined : personOf(user)
  }

  all(): readonly Person[] {
    return this.users().map(personOf)
  }

  admins(): readonly Person[] {
    if (this.#users.size === 0) return [LOCAL]
    return this.all().filter(({ role, isDisabled }) => role === 'admin' && !isDisabled)
  }

  #changed(): void {
    for (const changed of this.#onChange) changed()
  }
}

function personOf({ id, name, role, email, timeZone, disabledAtMs }: UserRecord): Person {
  return { id, name, role, email, timeZone, isDisabled: disabledAtMs !== undefined }
}
