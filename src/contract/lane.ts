import { z } from 'zod'
import { modelIdSchema } from './model.ts'
import { nameSchema } from './names.ts'
import { deviceSchema } from './slot-row.ts'
import { FAILURE_CAUSES } from './slot-state.ts'

/** A model with its profile, or nothing: what a lane should run. The pair is one identity. Source: SPEC 1 "target". */
export const laneTargetSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('model'), model: z.string(), profile: z.string() }),
  z.object({ kind: z.literal('nothing') }),
])
export type LaneTarget = z.infer<typeof laneTargetSchema>

/** Which of the five numbered branches decided. Source: SPEC 12 "Target". */
export const TARGET_REASONS = ['reserved', 'exclusive', 'preload', 'gap', 'manual', 'default'] as const
export const targetReasonSchema = z.enum(TARGET_REASONS)
export type TargetReason = z.infer<typeof targetReasonSchema>

/**
 * What a lane is doing. `off`: nothing is targeted, nothing runs. `draining`: requests run on, then another target; `stopping`: the engine ends;
 * `loading`; `ready`: it serves what it should, or (`is_fallback`) the default in its place; `waiting`: the last load failed, the next try is due.
 */
export const LANE_PHASES = ['off', 'draining', 'stopping', 'loading', 'ready', 'waiting'] as const
export const lanePhaseSchema = z.enum(LANE_PHASES)
export type LanePhase = z.infer<typeof lanePhaseSchema>

/** A target that could not be loaded. Source: SPEC 12 "Failure". */
export const laneFailureSchema = z.object({
  target: laneTargetSchema,
  /** In a row. */
  failures: z.number().int().positive(),
  code: z.string(),
  /** What it means, where that is known. Older daemons do not say. */
  cause: z.enum(FAILURE_CAUSES).nullable().default(null),
  /** Why, with what helps; to members in plain words. */
  message: z.string(),
  failed_at: z.string(),
  /** ISO 8601; null = not before the model or the profile is another. */
  retry_at: z.string().nullable(),
})
export type LaneFailure = z.infer<typeof laneFailureSchema>

/** A booking as a lane's row tells it; who may not know its owner reads null there. */
export const laneBookingSchema = z.object({
  id: z.string(),
  start: z.string(),
  end: z.string(),
  /** Null = exclusive. */
  target: laneTargetSchema.nullable(),
  owner: z.string().nullable(),
})
export type LaneBooking = z.infer<typeof laneBookingSchema>

/** What an admin put in the place of the default. Source: SPEC 12 "Target" 4. */
export const laneManualSchema = z.object({
  target: laneTargetSchema,
  made_at: z.string(),
  made_by: z.string(),
  /** Null = until the next booking starts, or it is taken back. */
  until: z.string().nullable(),
})
export type LaneManual = z.infer<typeof laneManualSchema>

/** A row of GET /api/lanes, and GET /api/lanes/{n}. Source: SPEC 12, 16. */
export const laneRowSchema = z.object({
  name: z.string(),
  device: deviceSchema,
  gpus: z.array(z.number().int().nonnegative()),
  phase: lanePhaseSchema,
  /** What the timetable wants. */
  target: laneTargetSchema,
  reason: targetReasonSchema,
  /** ISO 8601: the next moment at which the answer may change by itself; null = none. */
  review_at: z.string().nullable(),
  /** What runs or is being loaded. */
  current: laneTargetSchema,
  /** The default serves the holder, because the reserved target cannot be loaded now. */
  is_fallback: z.boolean(),
  active: laneBookingSchema.nullable(),
  next: laneBookingSchema.nullable(),
  manual: laneManualSchema.nullable(),
  default: laneTargetSchema,
  failures: z.array(laneFailureSchema),
  approval: z.enum(['none', 'required']),
  allow_exclusive: z.boolean(),
  in_flight: z.number().int().nonnegative(),
  /** What is wrong with its file; what it said before still counts. Null = nothing. */
  config_problem: z.string().nullable(),
  /** The reservations cannot be read at present. */
  store_problem: z.string().nullable(),
  /** What is worth knowing of its file, such as bookings that it would not allow any more. Older daemons do not say. */
  warnings: z.array(z.string()).default([]),
})
export type LaneRow = z.infer<typeof laneRowSchema>
export const laneListSchema = z.object({ lanes: z.array(laneRowSchema) })

/** POST /api/lanes/{n}/manual: `model` null = unload. */
export const laneManualRequestSchema = z.strictObject({
  model: modelIdSchema.nullable(),
  profile: nameSchema.optional(),
  /** ISO 8601 with a zone. */
  until: z.iso.datetime({ offset: true, error: 'expected a time such as 2026-12-01T18:00:00Z' }).optional(),
})
export type LaneManualRequest = z.infer<typeof laneManualRequestSchema>

/** When and whether a manual choice counts. */
export const laneManualAnswerSchema = z.object({
  manual: laneManualSchema.nullable(),
  /** `now`; `later` at `at`; `never`: a booking begins before. */
  effect: z.enum(['now', 'later', 'never']),
  at: z.string().nullable(),
  /** When it ends; null = open. */
  ends_at: z.string().nullable(),
  message: z.string(),
  lane: laneRowSchema,
})
export type LaneManualAnswer = z.infer<typeof laneManualAnswerSchema>

/** A stretch of a plan: from `from` until the next one's. Half-open. */
export const planStepSchema = z.object({
  from: z.string(),
  until: z.string().nullable(),
  target: laneTargetSchema,
  reason: targetReasonSchema,
  reservation_id: z.string().nullable(),
})
export type PlanStep = z.infer<typeof planStepSchema>

/** GET /api/lanes/{n}/explain. Source: SPEC 12, 16. */
export const laneExplanationSchema = z.object({
  lane: z.string(),
  at: z.string(),
  target: laneTargetSchema,
  reason: targetReasonSchema,
  review_at: z.string().nullable(),
  /** What happens then, a sentence; null = there is no such moment. */
  review: z.string().nullable(),
  /** What is done because `target` cannot be loaded; null = `target` is, or it is not of now: failures are not looked ahead for. */
  instead: z
    .object({
      /** What serves, or is being loaded; `nothing` = nothing does. */
      target: laneTargetSchema,
      is_fallback: z.boolean(),
      /** Of the failure. */
      code: z.string(),
      /** ISO 8601: the next try; null = not before the model or the profile is another, or it is under way. */
      retry_at: z.string().nullable(),
      /** Sentences, for everybody: why, what serves, and what comes next. */
      text: z.string(),
    })
    .nullable()
    .default(null),
  /** The five branches in order, up to the one that decided; each says what it found. */
  branches: z.array(z.object({ n: z.number().int(), text: z.string(), outcome: z.enum(['passed', 'chosen']) })),
  /** What it would take for another answer, one sentence each. */
  to_change: z.array(z.string()),
  /** The 24 hours from `at`. */
  plan: z.array(planStepSchema),
  estimates: z.array(
    z.object({
      target: laneTargetSchema,
      seconds: z.number().nonnegative(),
      /** `history`: mean of the last loads; `size`: file size by disk speed; `stop`: nothing is loaded. */
      source: z.enum(['history', 'size', 'stop', 'unknown']),
    }),
  ),
})
export type LaneExplanation = z.infer<typeof laneExplanationSchema>

/** GET /api/lanes/{n}/timeline?from=&to=: what was, what is booked, what is planned. */
export const laneTimelineSchema = z.object({
  lane: z.string(),
  from: z.string(),
  to: z.string(),
  /** Bookings that touch the window, in order of their start, rejected and cancelled ones left out. */
  reservations: z.array(z.object({ ...laneBookingSchema.shape, status: z.string(), title: z.string() })),
  /** What the lane really did within the window, in the life of this daemon. */
  past: z.array(
    z.object({
      at: z.string(),
      phase: lanePhaseSchema,
      target: laneTargetSchema,
      reason: targetReasonSchema,
      /** What was wanted, where `target` was only its stand-in; null = it was itself. */
      in_place_of: laneTargetSchema.nullable().default(null),
    }),
  ),
  /** Loads that failed within the window, in the life of this daemon. */
  failures: z
    .array(
      z.object({
        at: z.string(),
        target: laneTargetSchema,
        code: z.string(),
        /** For everybody, without what the engine said. */
        text: z.string(),
        /** Null = not before the model or the profile is another. */
        retry_at: z.string().nullable(),
      }),
    )
    .default([]),
  /** From now on. */
  plan: z.array(planStepSchema),
})
export type LaneTimeline = z.infer<typeof laneTimelineSchema>
