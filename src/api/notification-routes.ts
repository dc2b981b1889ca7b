import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { userIdOf } from '../access/caller.ts'
import { notificationListSchema } from '../contract/notification.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { flagParam, limitParam } from './query.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

const tags = ['people']

const DEFAULT_ROWS = 100
const MAX_ROWS = 1_000

const readSchema = z.strictObject({
  up_to: z.number('expected the id of a notification').int().positive('expected the id of a notification').optional(),
})

const list = createRoute({
  method: 'get',
  path: '/api/notifications',
  tags,
  summary: 'What you were told, newest first',
  request: {
    query: z.strictObject({
      unread: flagParam('true: only what is not marked as read.').optional(),
      limit: limitParam({ max: MAX_ROWS, fallback: DEFAULT_ROWS }),
    }),
  },
  responses: { 200: jsonAnswer(notificationListSchema, '`unread`: of all, also beyond `limit`.'), ...errorResponse },
})

const markRead = createRoute({
  method: 'post',
  path: '/api/notifications/read',
  tags,
  summary: 'Mark what you were told as read',
  middleware: readJsonBody(readSchema, { isOptional: true }),
  request: {
    body: { ...jsonBody(readSchema, '`up_to`: this one and all before it; absent = all.'), required: false },
  },
  responses: { 200: jsonAnswer(notificationListSchema, 'What is not read yet.'), ...errorResponse },
})

/** Each caller's own. Source: SPEC 13 "Notifications", 16. */
export function addNotificationRoutes(app: OpenAPIHono<ApiEnv>, { ports: { notices } }: ApiContext): void {
  function told(userId: string, options: { readonly unreadOnly: boolean; readonly limit: number }) {
    return { unread: notices.unread(userId), notifications: [...notices.list(userId, options)] }
  }

  app.openapi(list, (c) => {
    const { unread: unreadOnly = false, limit = DEFAULT_ROWS } = c.req.valid('query')
    return c.json(told(userIdOf(callerOf(c)), { unreadOnly, limit }), 200)
  })
  app.openapi(markRead, (c) => {
    const userId = userIdOf(callerOf(c))
    notices.markRead(userId, c.req.valid('json').up_to)
    return c.json(told(userId, { unreadOnly: true, limit: DEFAULT_ROWS }), 200)
  })
}
