import { z } from 'zod'
import { isShowable, SHOWABLE_RULE } from './names.ts'

/** Source: SPEC 14 "Roles". */
export const ROLES = ['member', 'admin'] as const
export const roleSchema = z.enum(ROLES)
export type Role = z.infer<typeof roleSchema>

/** User names: what people type and read. */
export const USER_NAME_PATTERN = /^[a-z0-9][a-z0-9._-]{0,31}$/
export const USER_NAME_RULE = '1 to 32 of a-z 0-9 . _ -, starting with a letter or digit'
export const userNameSchema = z.string().regex(USER_NAME_PATTERN, `expected ${USER_NAME_RULE}`)

/** Long enough that guessing takes longer than anybody lives, short enough that hashing it costs nothing. */
const password = z.string().min(10, 'expected 10 characters or more').max(200, 'expected 200 characters or less')
const keyName = z
  .string()
  .min(1, 'expected a name')
  .max(64, 'expected 64 characters or less')
  .refine(isShowable, `expected ${SHOWABLE_RULE}`)
const timeZone = z.string().min(1)
const email = z.email('expected an e-mail address')

export const userRowSchema = z.object({
  id: z.string(),
  name: z.string(),
  role: roleSchema,
  email: z.string().nullable(),
  /** IANA; null = UTC. */
  time_zone: z.string().nullable(),
  has_password: z.boolean(),
  /** ISO 8601; null = may come in. */
  disabled_at: z.string().nullable(),
  created_at: z.string(),
})
export type UserRow = z.infer<typeof userRowSchema>
export const userListSchema = z.object({ users: z.array(userRowSchema) })

export const userRequestSchema = z.strictObject({
  name: userNameSchema,
  role: roleSchema.default('member'),
  password: password.optional(),
  email: email.optional(),
  time_zone: timeZone.optional(),
  /** A key of this name is made at once and told in the answer. */
  key_name: keyName.optional(),
})
export type UserRequest = z.output<typeof userRequestSchema>

/** Null takes a value away. Members may change their own password, e-mail and time zone. */
export const userChangeSchema = z.strictObject({
  role: roleSchema.optional(),
  password: password.nullable().optional(),
  email: email.nullable().optional(),
  time_zone: timeZone.nullable().optional(),
  disabled: z.boolean().optional(),
})
export type UserChange = z.output<typeof userChangeSchema>

export const keyRowSchema = z.object({
  id: z.string(),
  /** Its first characters, by which people know it. */
  prefix: z.string(),
  name: z.string(),
  user: z.object({ id: z.string(), name: z.string() }),
  created_at: z.string(),
  expires_at: z.string().nullable(),
  revoked_at: z.string().nullable(),
  last_used_at: z.string().nullable(),
})
export type KeyRow = z.infer<typeof keyRowSchema>
export const keyListSchema = z.object({ keys: z.array(keyRowSchema) })

export const keyRequestSchema = z.strictObject({
  name: keyName,
  /** Whose; admins only. Absent = the caller's own. */
  user: z.string().min(1).optional(),
  expires_at: z.iso.datetime({ offset: true }).optional(),
})
export type KeyRequest = z.output<typeof keyRequestSchema>

/** `secret` is told this once. */
export const keyMadeSchema = z.object({ key: keyRowSchema, secret: z.string() })
export type KeyMade = z.infer<typeof keyMadeSchema>
export const userMadeSchema = z.object({ user: userRowSchema, key: keyMadeSchema.nullable() })
export type UserMade = z.infer<typeof userMadeSchema>

export const signInSchema = z.strictObject({ name: z.string().min(1), password: z.string().min(1) })
export const setUpSchema = z.strictObject({ token: z.string().min(1), name: userNameSchema, password })

/** GET /api/session: who am I? */
export const sessionSchema = z.object({
  /** `open`: no user is defined; `local`: the daemon's own key of this machine; `key` and `session`: somebody. */
  kind: z.enum(['open', 'local', 'key', 'session']),
  role: roleSchema,
  /** `open`: no user is defined; `users`: somebody is; `locked`: somebody was, and hal0 cannot read who. */
  state: z.enum(['open', 'users', 'locked']),
  /** While it is locked: why, and what to do; null = it is not. */
  lock: z.string().nullable(),
  /** Null unless somebody. */
  user: userRowSchema.nullable(),
  /** No user is defined yet. */
  needs_set_up: z.boolean(),
  expires_at: z.string().nullable(),
})
export type SessionInfo = z.infer<typeof sessionSchema>
