import { join } from 'node:path'
import { z } from 'zod'
import { modelFactsSchema, modelIdSchema } from '../contract/model.ts'
import { NAME_PATTERN, NAME_RULE, nameSchema } from '../contract/names.ts'
import { profileBodySchema, profileNameSchema } from '../contract/profile.ts'
import { DEVICES, SLOT_TYPES } from '../contract/slot-row.ts'
import { oneOf } from '../contract/tune.ts'
import type { Home } from '../files/home.ts'

/**
 * `etc/hal0/stacks.toml`: custom stacks, one `[stack.<slug>]` table each. Read for its mistakes only, until stacks are built; a row's
 * further slot keys are checked when it is applied. Source: SPEC 15.
 */
export const stacksFileSchema = z.strictObject({
  stack: z
    .record(
      nameSchema,
      z.strictObject({
        name: z.string('expected some text').min(1, 'expected some text'),
        description: z.string().optional(),
        author: z.string().optional(),
        icon: z.string().optional(),
        tags: z.array(z.string(), 'expected a list of words').optional(),
        schema_version: z.literal(1, 'expected 1; a newer hal0 wrote this').default(1),
        hal0_version: z.string().optional(),
        slots: z
          .array(
            z.looseObject({
              slot: z.string(`expected ${NAME_RULE}`).regex(NAME_PATTERN, `expected ${NAME_RULE}`),
              model: modelIdSchema.optional(),
              profile: profileNameSchema.optional(),
              device: oneOf(DEVICES).optional(),
              type: oneOf(SLOT_TYPES).optional(),
            }),
            'expected a list of tables, one [[stack.<slug>.slots]] for each slot',
          )
          .default([]),
        profiles: z.record(profileNameSchema, profileBodySchema).optional(),
        models: z.record(modelIdSchema, modelFactsSchema).optional(),
      }),
    )
    .default({}),
})

export function stacksFilePath(home: Home): string {
  return join(home.etc, 'stacks.toml')
}
