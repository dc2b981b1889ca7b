import { z } from 'zod'
import { type AuditList, auditListSchema } from '../contract/audit.ts'
import {
  type KeyMade,
  type KeyRequest,
  type KeyRow,
  keyListSchema,
  keyMadeSchema,
  keyRowSchema,
  type SessionInfo,
  sessionSchema,
  type UserChange,
  type UserMade,
  type UserRequest,
  type UserRow,
  userListSchema,
  userMadeSchema,
  userRowSchema,
} from '../contract/user.ts'
import type { Http } from './http.ts'

/** `base_url`: where the daemon believes that people reach it; older ones do not say. */
const calendarTokenSchema = z.object({ token: z.string().min(1), base_url: z.string().optional() })
type CalendarToken = z.infer<typeof calendarTokenSchema>

/** What of the audit is asked for; what is absent does not matter. */
interface AuditQuestion {
  /** Name or id. */
  readonly actor?: string | undefined
  /** Whole, or its beginning up to a dot. */
  readonly type?: string | undefined
  /** ISO 8601, half-open. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly limit?: number | undefined
  /** The `next` of the last answer. */
  readonly before?: number | undefined
}

/** Users, keys, and who is asking. Errors of every call: ClientError, UnreachableError. Source: SPEC 14, 16. */
export interface PeopleClient {
  /** In order of name. */
  users(): Promise<readonly UserRow[]>
  /** `user`: name or id, as everywhere here. */
  user(user: string): Promise<UserRow>
  /** The key's secret is told in this answer and never again. */
  createUser(request: UserRequest): Promise<UserMade>
  /** Absent keys stay, null takes a value away. */
  changeUser(user: string, change: UserChange): Promise<UserRow>
  removeUser(user: string): Promise<void>
  /** Newest first. Own ones; an admin's: everybody's, or those of `user`. */
  keys(options?: { readonly user?: string | undefined }): Promise<readonly KeyRow[]>
  /** The secret is told in this answer and never again. */
  createKey(request: KeyRequest): Promise<KeyMade>
  /** By id or first characters. */
  revokeKey(key: string): Promise<KeyRow>
  session(): Promise<SessionInfo>
  /** Newest first; for admins. */
  audit(question: AuditQuestion): Promise<AuditList>
  /** A new token for calendar feeds; the one before ends. */
  createCalendarToken(): Promise<CalendarToken>
}

/** The calls of `PeopleClient` over one connection. */
export function peopleClient(http: Http): PeopleClient {
  const at = (user: string) => `/api/users/${encodeURIComponent(user)}`
  return {
    users: async () => (await http.json(userListSchema, '/api/users')).users,
    user: (user) => http.json(userRowSchema, at(user)),
    createUser: (body) => http.json(userMadeSchema, '/api/users', { method: 'POST', body }),
    changeUser: (user, body) => http.json(userRowSchema, at(user), { method: 'PATCH', body }),
    async removeUser(user) {
      await http.text(at(user), { method: 'DELETE' })
    },
    keys: async ({ user } = {}) => (await http.json(keyListSchema, '/api/keys', { query: { user } })).keys,
    createKey: (body) => http.json(keyMadeSchema, '/api/keys', { method: 'POST', body }),
    revokeKey: (key) => http.json(keyRowSchema, `/api/keys/${encodeURIComponent(key)}`, { method: 'DELETE' }),
    session: () => http.json(sessionSchema, '/api/session'),
    audit: (question) => http.json(auditListSchema, '/api/audit', { query: { ...question } }),
    createCalendarToken: () => http.json(calendarTokenSchema, '/api/calendar-token', { method: 'POST' }),
  }
}
