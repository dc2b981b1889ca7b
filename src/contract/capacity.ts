import { z } from 'zod'
import { memoryPoolSchema } from './hardware.ts'
import { slotStateSchema } from './slot-state.ts'

const bytes = z.number().int().nonnegative()

/** GET /api/capacity: what there is, what is promised to running loads, who holds what, and who would be evicted first. Source: SPEC 7, 16. */
export const capacitySchema = z.object({
  pools: z.array(memoryPoolSchema.extend({ promised_bytes: bytes })),
  slots: z.array(
    z.object({
      slot: z.string(),
      state: slotStateSchema,
      pools: z.array(z.string()),
      /** Null = it cannot be told. */
      held_bytes: bytes.nullable(),
      priority: z.number().int(),
      pinned: z.boolean(),
      in_flight: z.number().int().nonnegative(),
      /** 1 = evicted first; null = not a candidate now. */
      eviction_order: z.number().int().positive().nullable(),
    }),
  ),
  /** Loads that wait for memory, next first. */
  waiting: z.array(z.object({ slot: z.string(), needed_bytes: bytes.nullable(), waits_for: z.array(z.string()) })),
})
export type Capacity = z.infer<typeof capacitySchema>
