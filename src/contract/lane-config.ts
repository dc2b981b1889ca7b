import { z } from 'zod'
import { modelIdSchema } from './model.ts'
import { nameSchema } from './names.ts'
import { DEVICES } from './slot-row.ts'
import { oneOf } from './tune.ts'

const whole = (low: number) =>
  z.number(`expected a whole number, ${low} or more`).int('expected a whole number').min(low, `expected ${low} or more`)

/** `[limits]`: of one member. Source: SPEC 13. */
export const laneLimitsSchema = z.strictObject({
  min_minutes: whole(0).default(15),
  max_hours: z.number('expected a number of hours').positive('expected more than 0').default(24),
  max_days_ahead: whole(0).default(30),
  max_open_per_user: whole(1).default(5),
  /** 0 = no limit. */
  max_hours_per_week: whole(0).default(0),
})
export type LaneLimits = z.output<typeof laneLimitsSchema>

/** `lanes/<name>.toml` as the API shows it and takes it (PUT, whole). Source: SPEC 12. */
export const laneConfigSchema = z.strictObject({
  name: nameSchema.optional(),
  device: oneOf(DEVICES).default('cpu'),
  gpus: z
    .array(whole(0), 'expected a list of GPU numbers')
    .refine((gpus) => new Set(gpus).size === gpus.length, 'expected each GPU once')
    .default([]),
  /** What the lane runs when nobody booked it. */
  default: z.strictObject({ model: modelIdSchema, profile: nameSchema.optional() }).optional(),
  runner: z.string().min(1, 'expected a runner key').optional(),
  /** Of the engine on the processor; 0 = the engine decides. */
  threads: whole(0).default(0),
  min_preload_s: z.number('expected a number of seconds').nonnegative('expected 0 or more seconds').default(180),
  approval: oneOf(['none', 'required']).default('none'),
  allow_exclusive: z.boolean('expected true or false').default(false),
  /** 0 = off: a booking without a request for so long is released. */
  no_show_minutes: whole(0).default(0),
  limits: laneLimitsSchema.prefault({}),
})
export type LaneConfig = z.output<typeof laneConfigSchema>

/** GET/PUT/POST of a lane's file. */
export const laneConfigAnswerSchema = z.object({ name: z.string(), config: z.record(z.string(), z.unknown()) })

/** What a write of a lane's file answers. Older daemons have no warnings. */
export const laneConfigWrittenSchema = laneConfigAnswerSchema.extend({ warnings: z.array(z.string()).default([]) })
