import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { routeExplanationSchema } from '../contract/route-explanation.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { errorResponse, jsonAnswer } from './responses.ts'
import { redactExplanation } from './rules/redact-explanation.ts'
import { seenBy } from './seen-by.ts'

/** What a request is asked about that names no path. */
const CHAT_PATH = '/v1/chat/completions'
/** Far beyond any name and any path that there is. */
const MAX_CHARS = 1_000

const explainRouteDefinition = createRoute({
  method: 'get',
  path: '/api/dispatch/explain',
  tags: ['system'],
  summary: 'Which slot a request would go to now, and why',
  request: {
    query: z.strictObject({
      model: z
        .string()
        .max(MAX_CHARS, `expected at most ${MAX_CHARS} characters`)
        .optional()
        .openapi({ param: { description: 'As a request names it; absent = the request names none.' } }),
      path: z
        .string()
        .max(MAX_CHARS, `expected at most ${MAX_CHARS} characters`)
        .startsWith('/', 'expected a path such as /v1/chat/completions')
        .optional()
        .openapi({ param: { description: `Where it is sent; default \`${CHAT_PATH}\`.` } }),
    }),
  },
  responses: {
    200: jsonAnswer(routeExplanationSchema, 'The walk through the resolution, and every slot, best first.'),
    ...errorResponse,
  },
})

/** Asks no engine and wakes nothing. Source: SPEC 11 `explain`, 16. */
export function addDispatchRoutes(app: OpenAPIHono<ApiEnv>, { explainRoute }: ApiContext): void {
  app.openapi(explainRouteDefinition, (c) => {
    const { model = '', path = CHAT_PATH } = c.req.valid('query')
    const caller = callerOf(c)
    return c.json(seenBy(caller, redactExplanation)(explainRoute({ model, path, caller })), 200)
  })
}
