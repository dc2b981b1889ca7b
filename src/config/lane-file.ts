import { join } from 'node:path'
import { z } from 'zod'
import { modelIdSchema } from '../contract/model.ts'
import { NAME_PATTERN, NAME_RULE } from '../contract/names.ts'
import { DEVICES } from '../contract/slot-row.ts'
import { oneOf } from '../contract/tune.ts'
import type { Home } from '../files/home.ts'
import { listNamedFiles } from './slots/slot-file.ts'

const whole = (low: number) =>
  z.number(`expected a whole number, ${low} or more`).int('expected a whole number').min(low, `expected ${low} or more`)
const profileName = z.string().regex(NAME_PATTERN, `expected ${NAME_RULE}`)

/** `etc/hal0/lanes/<name>.toml`: the name of the lane is the file's. Read for its mistakes only, until lanes are built. Source: SPEC 12. */
export const laneFileSchema = z.strictObject({
  name: z.string().regex(NAME_PATTERN, `expected ${NAME_RULE}`).optional(),
  device: oneOf(DEVICES).default('cpu'),
  gpus: z
    .array(whole(0), 'expected a list of GPU numbers')
    .refine((gpus) => new Set(gpus).size === gpus.length, 'expected each GPU once')
    .default([]),
  /** What the lane runs when nobody booked it. */
  default: z.strictObject({ model: modelIdSchema, profile: profileName.optional() }).optional(),
  runner: z.string().min(1, 'expected a runner key').optional(),
  min_preload_s: z.number('expected a number of seconds').nonnegative('expected 0 or more seconds').default(180),
  approval: oneOf(['none', 'required']).default('none'),
  allow_exclusive: z.boolean('expected true or false').default(false),
  /** 0 = off. */
  no_show_minutes: whole(0).default(0),
  limits: z
    .strictObject({
      min_minutes: whole(1).default(15),
      max_hours: z.number('expected a number of hours').positive('expected more than 0').default(24),
      max_days_ahead: whole(0).default(30),
      max_open_per_user: whole(1).default(5),
      /** 0 = no limit. */
      max_hours_per_week: whole(0).default(0),
    })
    .prefault({}),
})

export function lanesFolder(home: Home): string {
  return join(home.etc, 'lanes')
}

/** The lane files of a home, and the TOML files whose name cannot be a lane's. As `listSlotFiles`. Errors: `config.invalid`. */
export function listLaneFiles(
  home: Home,
): Promise<{ readonly names: readonly string[]; readonly unfit: readonly string[] }> {
  return listNamedFiles(lanesFolder(home))
}

export function laneFilePath(home: Home, name: string): string {
  return join(lanesFolder(home), `${name}.toml`)
}
