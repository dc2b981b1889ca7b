import type { z } from 'zod'
import { notificationListSchema } from '../contract/notification.ts'
import type { Http } from './http.ts'

type NotificationList = z.infer<typeof notificationListSchema>

/** What one was told of bookings. Errors of every call: ClientError, UnreachableError. Source: SPEC 13, 16. */
export interface NotificationsClient {
  /** Own ones, newest first. */
  list(): Promise<NotificationList>
  /** Those up to this id count as read. */
  markRead(upToId: number): Promise<void>
}

/** The calls of `NotificationsClient` over one connection. */
export function notificationsClient(http: Http): NotificationsClient {
  return {
    list: () => http.json(notificationListSchema, '/api/notifications'),
    async markRead(upToId) {
      await http.text('/api/notifications/read', { method: 'POST', body: { up_to: upToId } })
    },
  }
}
