import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { arbiterPinSchema, arbiterStatusSchema, arbiterSwitchSchema } from '../contract/arbiter.ts'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

const tags = ['images']

const status = createRoute({
  method: 'get',
  path: '/api/comfyui/status',
  tags,
  summary: 'Which slots have the GPU memory, language models or images, and what ComfyUI does',
  responses: { 200: jsonAnswer(arbiterStatusSchema, 'The status.'), ...errorResponse },
})

const pin = createRoute({
  method: 'post',
  path: '/api/comfyui/pin',
  tags,
  summary: 'Keep the mode that is on until it is unpinned',
  middleware: readJsonBody(arbiterPinSchema),
  request: { body: jsonBody(arbiterPinSchema, 'While it is pinned, requests for the other mode are 503 at once.') },
  responses: { 200: jsonAnswer(arbiterStatusSchema, 'The status now.'), ...errorResponse },
})

const switchover = createRoute({
  method: 'post',
  path: '/api/comfyui/switchover',
  tags,
  summary: 'Give the GPU memory to images, or back to the language models',
  description: 'Waits until the mode is on: running requests end first, and a render is never cut short.',
  middleware: readJsonBody(arbiterSwitchSchema),
  request: {
    body: jsonBody(arbiterSwitchSchema, '`force`: also against a pin. `pin`: pin, or unpin, the mode once it is on.'),
  },
  responses: { 200: jsonAnswer(arbiterStatusSchema, 'The status once the mode is on.'), ...errorResponse },
})

/** Errors: those of Arbiter. Source: SPEC 8, 16. */
export function addComfyuiRoutes(app: OpenAPIHono<ApiEnv>, { ports: { arbiter } }: ApiContext): void {
  app.openapi(status, async (c) => c.json(await arbiter.status(), 200))
  app.openapi(pin, async (c) => {
    await arbiter.pin(c.req.valid('json').pinned)
    return c.json(await arbiter.status(), 200)
  })
  app.openapi(switchover, async (c) => {
    const { mode, force, pin: pinned } = c.req.valid('json')
    await arbiter.switchover({ mode, force, ...(pinned === undefined ? {} : { pin: pinned }) })
    return c.json(await arbiter.status(), 200)
  })
}
