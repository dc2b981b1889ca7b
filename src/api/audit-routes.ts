import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { auditListSchema, MAX_AUDIT_ROWS } from '../contract/audit.ts'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { limitParam, numberParam } from './query.ts'
import { errorResponse, jsonAnswer } from './responses.ts'
import { refuseEmptyWindow, timeParam } from './time-param.ts'

const DEFAULT_ROWS = 100
/** As far as `numberParam` reads. */
const MAX_ID = 999_999_999
const MAX_WORD_CHARS = 64

const word = (description: string) =>
  z
    .string()
    .min(1, 'expected a word')
    .max(MAX_WORD_CHARS, `expected ${MAX_WORD_CHARS} characters or less`)
    .openapi({ param: { description } })
    .optional()

const list = createRoute({
  method: 'get',
  path: '/api/audit',
  tags: ['people'],
  summary: 'Who did what, newest first',
  description:
    'Users, keys, sign-ins, what admins changed through the API, and who was refused. Holds no key, password or token.',
  request: {
    query: z.strictObject({
      actor: word('Only what this user did, by name or id; `local`: this machine’s admin.'),
      type: word('Only of this type, or of all that begin with it up to a dot: `access`, `admin.lanes`.'),
      since: timeParam('Only from then on.').optional(),
      until: timeParam('Only before then.').optional(),
      limit: limitParam({ max: MAX_AUDIT_ROWS, fallback: DEFAULT_ROWS }),
      before: numberParam({
        min: 1,
        max: MAX_ID,
        whole: true,
        description: 'Only rows before the one of this id: the `next` of the last answer.',
      }).optional(),
    }),
  },
  responses: { 200: jsonAnswer(auditListSchema, '`next`: what `before` takes to go on.'), ...errorResponse },
})

/** Errors: `lane.store_unavailable`. Source: SPEC 14, 16. */
export function addAuditRoutes(app: OpenAPIHono<ApiEnv>, { ports: { accounts } }: ApiContext): void {
  app.openapi(list, (c) => {
    const { since: sinceMs, until: untilMs, limit = DEFAULT_ROWS, ...only } = c.req.valid('query')
    if (sinceMs !== undefined && untilMs !== undefined) refuseEmptyWindow(sinceMs, untilMs, ['since', 'until'])
    return c.json(accounts.audit.list({ ...only, sinceMs, untilMs, limit }), 200)
  })
}
