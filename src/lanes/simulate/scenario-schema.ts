import { z } from 'zod'
import { daemonSettingsSchema } from '../../config/settings/daemon-settings.ts'
import { laneConfigSchema } from '../../contract/lane-config.ts'
import { modelIdSchema } from '../../contract/model.ts'
import { NAME_PATTERN, NAME_RULE } from '../../contract/names.ts'
import { repeatSchema } from '../../contract/reservation.ts'
import { oneOf } from '../../contract/tune.ts'
import { ROLES, userNameSchema } from '../../contract/user.ts'

const TIME_RULE =
  'expected a time such as "10:00" (of the first day), "2026-12-01T10:00" or "2026-12-01T10:00:00+01:00"'
const TIME =
  /^(?:\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?|\d{4}-\d\d-\d\d[Tt ]\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?)$/

/** Of the beginning of the whole: there is no first day yet. */
const START_RULE = 'expected a day and a time, such as "2026-12-01T08:00" or "2026-12-01T08:00:00+01:00"'
const time = z.string(TIME_RULE).regex(TIME, TIME_RULE)
const name = z.string(`expected ${NAME_RULE}`).regex(NAME_PATTERN, `expected ${NAME_RULE}`)
const seconds = z.number('expected a number of seconds').nonnegative('expected 0 or more seconds')
const minutes = z.number('expected a number of minutes').positive('expected more than 0')
const flag = z.boolean('expected true or false')

const model = z.strictObject({
  size_gb: z.number('expected a number of gigabytes').positive('expected more than 0').optional(),
  /** How long a load really takes; absent = as estimated by its size. */
  load_s: seconds.optional(),
  profile: name.default('chat'),
  /** The first so many loads fail, at their end. */
  fails: z.number('expected a number of loads').int('expected a whole number').min(0, 'expected 0 or more').default(0),
  /** Loads that end from then on fail; absent together with `fails_until` = none does. */
  fails_from: time.optional(),
  /** Loads that end before fail. */
  fails_until: time.optional(),
  fails_message: z
    .string('expected a text')
    .min(1, 'expected a text')
    .default('the engine exited with code 1 while it loaded'),
})

const user = z.strictObject({
  role: oneOf(ROLES).default('member'),
  time_zone: z.string('expected a time zone').optional(),
})

const booking = z.strictObject({
  /** What [[do]] and the timeline call it. */
  id: name.optional(),
  lane: name,
  user: userNameSchema,
  start: time,
  end: time.optional(),
  minutes: minutes.optional(),
  model: modelIdSchema.optional(),
  profile: name.optional(),
  exclusive: flag.default(false),
  title: z.string('expected a text').max(200, 'expected 200 characters or less').default(''),
  members: z.array(userNameSchema, 'expected a list of users').default([]),
  repeat: repeatSchema.optional(),
  /** Absent = when the day begins. */
  booked_at: time.optional(),
  /** Where the lane asks for approval: false = it waits for a step `approve`. */
  approve: flag.default(true),
})

const ofLane = z.strictObject({ lane: name })

const step = z.strictObject({
  at: time,
  end: name.optional(),
  cancel: name.optional(),
  approve: name.optional(),
  reject: name.optional(),
  extend: z.strictObject({ booking: name, minutes }).optional(),
  /** Without a model nothing is to run. */
  manual: z
    .strictObject({ lane: name, model: modelIdSchema.optional(), profile: name.optional(), until: time.optional() })
    .optional(),
  clear: ofLane.optional(),
  crash: ofLane.optional(),
  request: z.strictObject({ lane: name, user: userNameSchema, seconds }).optional(),
  clock_jump_s: z.number('expected a number of seconds').optional(),
})

/** The file of `hal0 lane simulate`. What several keys say together is looked at by `findScenarioMistakes`. */
export const scenarioSchema = z.strictObject({
  start: z.string(START_RULE).regex(TIME, START_RULE),
  time_zone: z.string('expected a time zone').default('UTC'),
  hours: z.number('expected a number of hours').positive('expected more than 0').optional(),
  end: time.optional(),
  /** How long an engine takes to stop. */
  stop_s: seconds.default(2),
  scheduler: daemonSettingsSchema.shape.scheduler,
  models: z.record(modelIdSchema, model).default({}),
  users: z.record(userNameSchema, user).default({}),
  lanes: z.record(name, laneConfigSchema),
  bookings: z.array(booking, 'expected [[bookings]]').default([]),
  do: z.array(step, 'expected [[do]]').default([]),
})
export type ScenarioFile = z.output<typeof scenarioSchema>
