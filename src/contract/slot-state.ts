import { z } from 'zod'

/** Slot states, also the wire words. Source: SPEC 4. */
export const SLOT_STATES = [
  'offline',
  'pulling',
  'starting',
  'warming',
  'ready',
  'serving',
  'idle',
  'unloading',
  'error',
] as const
export const slotStateSchema = z.enum(SLOT_STATES)
export type SlotState = z.infer<typeof slotStateSchema>

/** Why a slot is `idle`: it was ready and is quiet, or its engine lists no model. Source: SPEC 4. */
export const idleReasonSchema = z.enum(['quiet', 'no_model'])

/** What identifies a live process beyond its pid, so that a recycled pid is never taken for ours. */
export const processRefSchema = z.object({
  pid: z.number().int().positive(),
  /** Field 22 of /proc/PID/stat: clock ticks after boot. */
  start_ticks: z.number().int().nonnegative(),
  boot_id: z.string(),
  /** The home whose daemon started it: a copied record must not speak for another home's engine. */
  home_id: z.string().optional(),
})
export type ProcessRef = z.infer<typeof processRefSchema>

/** What is known to end engines; each runner has its own signs for them. Source: SPEC 10 "error signatures". */
export const FAILURE_CAUSES = [
  'out_of_memory',
  'bad_file',
  'unsupported_architecture',
  'port_in_use',
  'missing_library',
  'bad_flag',
] as const
export type FailureCause = (typeof FAILURE_CAUSES)[number]

/** `failure` in `extra`: why the slot is in state error. */
export const slotFailureSchema = z.object({
  code: z.string(),
  message: z.string(),
  /** What the decisive line means, where it is known. */
  cause: z.enum(FAILURE_CAUSES).nullable(),
  /** The decisive line of the engine's own output, when one was found. */
  line: z.string().nullable(),
  remedy: z.string(),
  at: z.string(),
})
export type SlotFailure = z.infer<typeof slotFailureSchema>

/** What the output-sanity gate found: `passed` it, or the engine has no route to ask. Source: SPEC 5. */
export const sanityResultSchema = z.enum(['passed', 'unsupported', 'off'])
export type SanityResult = z.infer<typeof sanityResultSchema>

/**
 * Failures of one launch that count. Kept per model: a slot that several models share must not let one of them stand for the others.
 * Source: SPEC 6.
 */
export const breakerEntrySchema = z.object({
  model_id: z.string(),
  failures: z.number().int().positive(),
  /** Epoch ms, wall clock: when the last of them happened. */
  failed_at_ms: z.number(),
  /** What was launched; another launch starts without failures. */
  launch: z.string(),
  /** Why it failed the last time, for those who are refused. */
  last: z.object({ message: z.string(), remedy: z.string() }).optional(),
})
export type BreakerEntry = z.infer<typeof breakerEntrySchema>

/** The persisted record (`var-lib/hal0/slots/<name>/state.json`). Source: SPEC 2, 4. */
export const slotStateRecordSchema = z.object({
  name: z.string(),
  state: slotStateSchema,
  model_id: z.string().nullable(),
  port: z.number().int().nullable(),
  updated_at: z.string(),
  message: z.string(),
  extra: z.looseObject({
    process: processRefSchema.optional(),
    attempt_id: z.string().optional(),
    idle_reason: idleReasonSchema.optional(),
    forced: z.boolean().optional(),
    /** It is being ended although the state does not say so: a load that is not wanted any more. */
    stopping: z.boolean().optional(),
    failure: slotFailureSchema.optional(),
    /** Of the engine that runs. */
    sanity: sanityResultSchema.optional(),
    breakers: z.array(breakerEntrySchema).optional(),
  }),
})
export type SlotStateRecord = z.infer<typeof slotStateRecordSchema>
