import { z } from 'zod'

export const ARBITER_MODES = ['llm', 'img'] as const
export const arbiterModeSchema = z.enum(ARBITER_MODES)

/** GET /api/comfyui/status. Source: SPEC 8. */
export const arbiterStatusSchema = z.object({
  /** False = no image slot shares a GPU with others, or `[slots] arbiter = "off"`. */
  active: z.boolean(),
  mode: arbiterModeSchema,
  /** The mode it is switching to; null = it is not switching. */
  switching_to: arbiterModeSchema.nullable(),
  pinned: z.boolean(),
  /** ISO 8601. */
  since: z.string(),
  image_slot: z.string().nullable(),
  /** Arbitrated language-model slots. */
  llm_slots: z.array(z.string()),
  /** Unloaded for images, to be loaded again. */
  saved_slots: z.array(z.string()),
  /** Requests that wait for their mode. */
  waiting: z.object({ llm: z.number().int().nonnegative(), img: z.number().int().nonnegative() }),
  /** Image requests that run. */
  rendering: z.number().int().nonnegative(),
  /** ComfyUI's own queue; null = it cannot be read, or the image slot is off. */
  queue: z.object({ running: z.number().int().nonnegative(), pending: z.number().int().nonnegative() }).nullable(),
  /** ComfyUI's own figures; null as above. */
  system_stats: z.record(z.string(), z.unknown()).nullable(),
})
export type ArbiterStatus = z.infer<typeof arbiterStatusSchema>

/** POST /api/comfyui/pin. */
export const arbiterPinSchema = z.strictObject({ pinned: z.boolean() })
/** POST /api/comfyui/switchover. */
export const arbiterSwitchSchema = z.strictObject({
  mode: arbiterModeSchema,
  force: z.boolean().default(false),
  pin: z.boolean().optional(),
})

/** `var-lib/hal0/gpu_arbiter.json`. */
export const arbiterStateSchema = z.object({
  mode: arbiterModeSchema,
  /** Persisted before anything is touched: a switch that a restart interrupted is taken up again. */
  switching_to: arbiterModeSchema.nullable(),
  pinned: z.boolean(),
  since_ms: z.number(),
  saved_slots: z.array(z.string()),
})
export type ArbiterState = z.infer<typeof arbiterStateSchema>
