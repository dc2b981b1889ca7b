import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { errorResponse } from './responses.ts'

const metricsRoute = createRoute({
  method: 'get',
  path: '/metrics',
  tags: ['system'],
  summary: 'Counts and states for Prometheus',
  responses: {
    200: { description: 'Text format 0.0.4.', content: { 'text/plain': { schema: z.string() } } },
    ...errorResponse,
  },
})

/**
 * Of the management class, like /api: the guard has let the caller in. A query is ignored, since scrapers may add parameters of their own.
 * Wakes nothing. Source: SPEC 16, 17.
 */
export function addMetricsRoute(app: OpenAPIHono<ApiEnv>, { ports }: ApiContext): void {
  app.openapi(metricsRoute, async (c) => {
    const { contentType, body } = await ports.metrics()
    return c.text(body, 200, { 'content-type': contentType })
  })
}
