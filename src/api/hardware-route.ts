import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { hardwareSchema } from '../contract/hardware.ts'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

const hardware = createRoute({
  method: 'get',
  path: '/api/hardware',
  tags: ['system'],
  summary: 'Processor, memory, GPUs and NPU of this machine, read now',
  responses: {
    200: jsonAnswer(hardwareSchema, 'The hardware. Null = it cannot be read; `problems` says why.'),
    ...errorResponse,
  },
})

/** Source: SPEC 16. */
export function addHardwareRoute(app: OpenAPIHono<ApiEnv>, { ports }: ApiContext): void {
  app.openapi(hardware, async (c) => c.json(await ports.hardware(), 200))
}
