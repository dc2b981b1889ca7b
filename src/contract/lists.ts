import { z } from 'zod'
import { hal0EventSchema } from './events.ts'
import { slotRowSchema } from './slot-row.ts'

/** GET /api/slots, in name order. */
export const slotListSchema = z.object({ slots: z.array(slotRowSchema) })
export type SlotList = z.infer<typeof slotListSchema>

/** GET /api/events, newest last. */
export const eventListSchema = z.object({ events: z.array(hal0EventSchema) })
export type EventList = z.infer<typeof eventListSchema>
