import { z } from 'zod'

/**
 * `data` of `event: resync` on an event stream: something was not delivered. Read the state afresh (GET), then go on with the stream.
 * Source: SPEC 17.
 */
export const resyncSchema = z.object({
  /** `gap`: what came after Last-Event-ID is no longer kept. `slow_reader`: the reader took too long. `rotated`: the log was cut. */
  reason: z.enum(['gap', 'slow_reader', 'rotated']),
})
export type Resync = z.infer<typeof resyncSchema>
