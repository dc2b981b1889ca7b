import { z } from 'zod'

/** What people are told of a booking, each once per person. Source: SPEC 13 "Notifications". */
export const NOTICE_EVENTS = [
  'requested',
  'approved',
  'rejected',
  'cancelled',
  'changed',
  'starting_soon',
  'started',
  'fallback',
  'recovered',
  'memory_held',
  'ending_soon',
  'ended',
] as const
export const noticeEventSchema = z.enum(NOTICE_EVENTS)
export type NoticeEvent = z.infer<typeof noticeEventSchema>

export const notificationRowSchema = z.object({
  id: z.number().int().positive(),
  event: noticeEventSchema,
  reservation_id: z.string(),
  lane: z.string(),
  /** One line. */
  title: z.string(),
  /** Sentences. */
  body: z.string(),
  created_at: z.string(),
  read_at: z.string().nullable(),
})
export type NotificationRow = z.infer<typeof notificationRowSchema>
export const notificationListSchema = z.object({
  unread: z.number().int().nonnegative(),
  notifications: z.array(notificationRowSchema),
})
