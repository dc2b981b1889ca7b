import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { capacitySchema } from '../contract/capacity.ts'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

const capacityRoute = createRoute({
  method: 'get',
  path: '/api/capacity',
  tags: ['slots'],
  summary: 'Memory: what there is, what is promised to loads, who holds what, who would be evicted first',
  responses: { 200: jsonAnswer(capacitySchema, 'Read at this moment; null = it cannot be told.'), ...errorResponse },
})

/** Evicts and wakes nothing. Source: SPEC 7, 16. */
export function addCapacityRoute(app: OpenAPIHono<ApiEnv>, { ports }: ApiContext): void {
  app.openapi(capacityRoute, async (c) => c.json(await ports.capacity(), 200))
}
