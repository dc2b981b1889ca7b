import { z } from 'zod'
import { STOP_SIGNALS } from './launch-plan.ts'
import { CONTEXT_SOURCES } from './slot-row.ts'

const planSchema = z.object({
  slot: z.string(),
  command: z.tuple([z.string()], z.string()),
  flags: z.array(
    z.object({ flag: z.string(), values: z.array(z.string()), layer: z.enum(['base', 'model', 'profile', 'slot']) }),
  ),
  env: z.record(z.string(), z.string()),
  keyEnv: z.string().optional(),
  stopSignal: z.enum(STOP_SIGNALS).optional(),
  port: z.number().int().min(1).max(65_535),
})

/**
 * What one engine was started with (`var-lib/hal0/slots/<name>/launch.json`, 0600), written before its process exists: the daemon that finds
 * the engine again knows it by this. Source: SPEC 4 "Adoption".
 */
export const launchRecordSchema = z.object({
  version: z.literal(1),
  slot: z.string(),
  attempt_id: z.string(),
  plan: planSchema,
  /** Runner key. */
  runner: z.string(),
  build: z.string().nullable(),
  model_id: z.string(),
  profile: z.string(),
  profile_source: z.enum(['slot', 'model', 'default']),
  /** The slot's file as it was read. */
  config: z.record(z.string(), z.unknown()),
  /** The GPUs it may use; absent = every one. */
  gpus: z.array(z.number().int().nonnegative()).optional(),
  ctx: z.object({ ctxTokens: z.number().int().positive(), source: z.enum(CONTEXT_SOURCES) }),
  thinking: z.object({
    enabled: z.boolean().nullable(),
    source: z.enum(['slot', 'profile', 'flags', 'template']),
    pinned_by: z.string().nullable(),
  }),
  /** What tells launches apart, whatever their port. */
  fingerprint: z.string(),
  need: z.union([
    z.object({
      kind: z.literal('known'),
      gpuBytes: z.number(),
      hostBytes: z.number(),
      mappedBytes: z.number(),
      weightsBytes: z.number(),
      cacheBytes: z.number(),
      overheadBytes: z.number(),
    }),
    z.object({ kind: z.literal('unknown'), reason: z.string() }),
  ]),
})
export type LaunchRecord = z.infer<typeof launchRecordSchema>
