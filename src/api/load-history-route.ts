import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { loadListSchema } from '../contract/load-record.ts'
import { requireRow } from '../slots/slot-manager.ts'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { numberParam, slotNameParams } from './query.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

const DEFAULT_LOADS = 20
/** As many as are kept of one slot. */
const MAX_LOADS = 200

const loadsRoute = createRoute({
  method: 'get',
  path: '/api/slots/{name}/loads',
  tags: ['slots'],
  summary: 'The last loads of a slot, with the time of each phase',
  request: {
    params: slotNameParams,
    query: z.strictObject({
      limit: numberParam({
        min: 1,
        max: MAX_LOADS,
        whole: true,
        description: `How many; default ${DEFAULT_LOADS}.`,
      }).optional(),
    }),
  },
  responses: { 200: jsonAnswer(loadListSchema, 'Loads that have ended, newest first.'), ...errorResponse },
})

/** Errors: `slot.not_found`. Source: SPEC 5 (phases), 16. */
export function addLoadHistoryRoute(app: OpenAPIHono<ApiEnv>, { slots, ports }: ApiContext): void {
  app.openapi(loadsRoute, (c) => {
    const { name } = requireRow(slots, c.req.valid('param').name)
    const limit = c.req.valid('query').limit ?? DEFAULT_LOADS
    return c.json({ loads: [...ports.loads.recent(name, limit)] }, 200)
  })
}
