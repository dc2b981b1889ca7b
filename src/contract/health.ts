import { z } from 'zod'

/** GET /api/health: the daemon answers. Says nothing about slots. Source: SPEC 16. */
export const healthSchema = z.object({
  status: z.literal('ok'),
  version: z.string(),
})
export type Health = z.infer<typeof healthSchema>
