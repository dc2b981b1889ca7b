import { z } from 'zod'
import { slotTypeSchema } from './slot-row.ts'
import { slotStateSchema } from './slot-state.ts'

/** `chosen`: it decided. `passed`: it did not apply. `failed`: it decided that nothing answers. */
export const STEP_OUTCOMES = ['chosen', 'passed', 'failed'] as const

/** One step of the resolution. Source: SPEC 11 "Resolution". */
export const routeStepSchema = z.object({
  /** As numbered in docs/api.md. */
  n: z.number().int().min(1).max(5),
  text: z.string(),
  outcome: z.enum(STEP_OUTCOMES),
})
export type RouteStep = z.infer<typeof routeStepSchema>

/** GET /api/dispatch/explain: how a request for this name on this path would be answered at this moment. Source: SPEC 11. */
export const routeExplanationSchema = z.object({
  model: z.string(),
  path: z.string(),
  /** What the path needs; null = it has no route, or names its slot itself (`/upstream/SLOT/…`). */
  route: z
    .object({
      /** As the engine knows it. */
      engine_path: z.string(),
      needs: slotTypeSchema,
      dialect: z.string(),
    })
    .nullable(),
  /** `fallback`: nobody knows the name, and the answer says so (`X-Hal0-Route`). `on_demand`: the slot loads this model first. */
  decision: z.enum(['slot', 'fallback', 'on_demand', 'error']),
  /** Null = none answers. */
  slot: z.string().nullable(),
  /** The step that decided, as in the log. */
  reason: z.string(),
  steps: z.array(routeStepSchema),
  /** Every slot, the chosen one first, then those that can serve at once, those that load, cold ones, failed ones; of a path that names its slot only that one. */
  candidates: z.array(
    z.object({
      slot: z.string(),
      state: slotStateSchema,
      type: slotTypeSchema,
      model_id: z.string().nullable(),
      in_flight: z.number().int().nonnegative(),
      reason: z.string(),
    }),
  ),
  /** The request would start a load. */
  would_load: z.boolean(),
  /** Why it would fail, as far as it can be told without asking an engine; null = it would not. */
  error: z.object({ status: z.number().int(), code: z.string(), message: z.string(), remedy: z.string() }).nullable(),
})
export type RouteExplanation = z.infer<typeof routeExplanationSchema>
