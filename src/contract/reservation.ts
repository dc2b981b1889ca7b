import { z } from 'zod'
import { laneTargetSchema } from './lane.ts'
import { modelIdSchema } from './model.ts'
import { isShowable, nameSchema, SHOWABLE_RULE } from './names.ts'

/** `pending → approved → active → completed`, or one of the last three. Source: SPEC 13. */
export const RESERVATION_STATUSES = [
  'pending',
  'approved',
  'active',
  'completed',
  'rejected',
  'cancelled',
  'ended_early',
] as const

/** A status in a sentence: `ended_early` → `ended early`. */
export function statusText(status: string): string {
  return status.replaceAll('_', ' ')
}

export const reservationStatusSchema = z.enum(RESERVATION_STATUSES)
export type ReservationStatus = z.infer<typeof reservationStatusSchema>

const title = z.string().max(200, 'expected 200 characters or less').refine(isShowable, `expected ${SHOWABLE_RULE}`)
const members = z.array(z.string().min(1, 'expected the name of a user')).max(100, 'expected 100 names or less')
const time = z.iso.datetime({ offset: true, error: 'expected a time with a zone, such as 2026-12-01T18:00:00Z' })
/** A wall-clock time; its zone is said beside it. */
const localTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/, 'expected a time such as 2026-12-01T18:00')
const when = z.union(
  [time, localTime],
  'expected a time such as 2026-12-01T18:00:00Z, or 2026-12-01T18:00 with a time zone',
)

/** Without `count` it needs `until`. The first is the booking itself. Source: SPEC 13 "repeats". */
export const repeatSchema = z
  .strictObject({
    every: z.enum(['day', 'week'], 'expected day or week'),
    /** How many in all, the first one too. */
    count: z.number().int().min(2, 'expected 2 or more').max(366, 'expected 366 or less').optional(),
    /** The last day (its date, in the zone) on which one may start. */
    until: z.iso.date('expected a date such as 2026-12-24').optional(),
    /** For `week`: on these days; absent = the day of the first. */
    days: z
      .array(z.enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']))
      .min(1)
      .optional(),
  })
  .refine((repeat) => (repeat.count === undefined) !== (repeat.until === undefined), 'expected either count or until')
export type Repeat = z.infer<typeof repeatSchema>

/** POST /api/reservations and /check. `end` may be given as `minutes`. */
export const reservationRequestSchema = z
  .strictObject({
    lane: nameSchema,
    start: when,
    end: when.optional(),
    minutes: z.number().positive('expected more than 0').optional(),
    /** IANA, for times without an offset and for repeats; absent = the user's own, else UTC. */
    time_zone: z.string().min(1).optional(),
    /** Absent together with `exclusive: false` = the lane's default. */
    model: modelIdSchema.optional(),
    profile: nameSchema.optional(),
    exclusive: z.boolean().default(false),
    title: title.default(''),
    /** Names of users who may use it too. */
    members: members.default([]),
    /** For somebody else; admins only. */
    owner: z.string().min(1).optional(),
    repeat: repeatSchema.optional(),
  })
  .refine((request) => (request.end === undefined) !== (request.minutes === undefined), {
    message: 'expected either end or minutes',
    path: ['end'],
  })
  .refine((request) => !(request.exclusive && request.model !== undefined), {
    message: 'an exclusive booking loads no model: leave out one of the two',
    path: ['exclusive'],
  })
export type ReservationRequest = z.output<typeof reservationRequestSchema>

/** PATCH /api/reservations/{id}: what is absent stays. `scope`: this one, or this and the later ones of its series. */
export const reservationChangeSchema = z.strictObject({
  start: when.optional(),
  end: when.optional(),
  time_zone: z.string().min(1).optional(),
  model: modelIdSchema.optional(),
  profile: nameSchema.optional(),
  exclusive: z.boolean().optional(),
  title: title.optional(),
  members: members.optional(),
})
export type ReservationChange = z.output<typeof reservationChangeSchema>

export const reservationRowSchema = z.object({
  id: z.string(),
  lane: z.string(),
  status: reservationStatusSchema,
  /** ISO 8601 UTC; half-open. */
  start: z.string(),
  end: z.string(),
  /** What it says of its end, before it was ended early. */
  booked_end: z.string(),
  /** Null = exclusive. */
  target: laneTargetSchema.nullable(),
  title: z.string(),
  owner: z.object({ id: z.string(), name: z.string() }),
  members: z.array(z.object({ id: z.string(), name: z.string() })),
  /** Of those that were booked together; null = by itself. */
  series_id: z.string().nullable(),
  time_zone: z.string(),
  created_at: z.string(),
  /** When it was last changed, by somebody or by the clock; when it was made, if never. */
  changed_at: z.string(),
  /** How often it was changed: of two rows of one reservation the higher one is newer. */
  revision: z.number().int().nonnegative(),
  /** Why it was rejected, cancelled or released; null = nothing to say. */
  note: z.string().nullable(),
  /** First request of a holder; null = none yet. */
  first_used_at: z.string().nullable(),
})
export type ReservationRow = z.infer<typeof reservationRowSchema>
export const reservationListSchema = z.object({ reservations: z.array(reservationRowSchema) })

/** One thing that is in the way of a booking, or worth knowing. */
export const bookingConflictSchema = z.object({
  /** The booking that is in the way. */
  id: z.string(),
  start: z.string(),
  end: z.string(),
  /** Null for those who may not know. */
  owner: z.string().nullable(),
  /** Which of the asked-for windows it is in the way of (a repeat has several). */
  wanted_start: z.string(),
})
export type BookingConflict = z.infer<typeof bookingConflictSchema>

export const bookingWarningSchema = z.object({
  kind: z.enum([
    'neighbour_before',
    'neighbour_after',
    'exceeds_vram',
    'outside_limits',
    'needs_approval',
    'never_loaded',
    'wall_time',
  ]),
  message: z.string(),
})
export type BookingWarning = z.infer<typeof bookingWarningSchema>

export const bookingCheckSchema = z.object({
  /** Would a booking succeed now? */
  ok: z.boolean(),
  windows: z.array(z.object({ start: z.string(), end: z.string() })),
  conflicts: z.array(bookingConflictSchema),
  /** Where one of the same length would fit, at the earliest; null = nothing is in the way, or not soon, or it repeats. */
  next_free: z.object({ start: z.string(), end: z.string() }).nullable(),
  /** Limits that forbid it; empty for admins. */
  limits: z.array(z.object({ limit: z.string(), message: z.string() })),
  warnings: z.array(bookingWarningSchema),
  target: laneTargetSchema.nullable(),
})
export type BookingCheck = z.infer<typeof bookingCheckSchema>

/** Answer of a create: one, or a whole series. */
export const reservationMadeSchema = z.object({
  reservations: z.array(reservationRowSchema),
  warnings: z.array(bookingWarningSchema),
})
export type ReservationMade = z.infer<typeof reservationMadeSchema>
