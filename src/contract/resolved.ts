import { z } from 'zod'
import { LAUNCH_LAYERS } from './launch-plan.ts'
import { CONTEXT_SOURCES } from './slot-row.ts'

/** Why a flag that a layer named is not in the command. */
export const REMOVAL_REASONS = ['replaced', 'denied', 'no_effect'] as const
export type RemovalReason = (typeof REMOVAL_REASONS)[number]

const layer = z.enum(LAUNCH_LAYERS)

/** GET /api/slots/{n}/resolved: the command flag by flag, as a start now would run it. Source: SPEC 9. */
export const resolvedLaunchSchema = z.object({
  slot: z.string(),
  model_id: z.string().nullable(),
  profile: z.string(),
  /** `slot` = its file names it, `model` = preferred by a swap, `default` = the seed of the slot's type. */
  profile_source: z.enum(['slot', 'model', 'default']),
  runner: z.string(),
  argv: z.array(z.string()),
  flags: z.array(
    z.object({
      flag: z.string(),
      values: z.array(z.string()),
      layer,
      /** The name under which spellings are compared. */
      canonical: z.string(),
      /** What it replaced: earlier settings of the same flag, lowest layer first. */
      replaced: z.array(z.object({ flag: z.string(), values: z.array(z.string()), layer })),
    }),
  ),
  removed: z.array(
    z.object({
      flag: z.string(),
      values: z.array(z.string()),
      layer,
      reason: z.enum(REMOVAL_REASONS),
      /** One clause for people: who owns it, or what replaced it. */
      detail: z.string(),
    }),
  ),
  /** Without secrets. */
  env: z.record(z.string(), z.string()),
  ctx_effective: z.number().int().positive(),
  ctx_source: z.enum(CONTEXT_SOURCES),
  speculation: z.object({ mode: z.string(), detail: z.string() }),
  thinking: z.object({
    /** What new requests get unless they say; null = the template decides. */
    enabled: z.boolean().nullable(),
    source: z.enum(['slot', 'profile', 'flags', 'template']),
    /** The profile flag that no override can change; null = none. */
    pinned_by: z.string().nullable(),
  }),
  /** Things worth knowing that are no error, for example a window beyond the model's own. */
  notes: z.array(z.string()),
  /** The live process runs something else on these; empty = it does not, or nothing runs. */
  config_drift: z.array(z.string()),
  restart_needed: z.array(z.string()),
})
export type ResolvedLaunch = z.infer<typeof resolvedLaunchSchema>
