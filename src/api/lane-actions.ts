import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { laneManualAnswerSchema, laneManualRequestSchema, laneRowSchema } from '../contract/lane.ts'
import { slotRowSchema } from '../contract/slot-row.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { laneNameParams } from './query.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

const tags = ['lanes']

const setManual = createRoute({
  method: 'post',
  path: '/api/lanes/{name}/manual',
  tags,
  summary: 'What the lane runs in the place of its default, until a time or the next booking',
  middleware: readJsonBody(laneManualRequestSchema),
  request: {
    params: laneNameParams,
    body: jsonBody(
      laneManualRequestSchema,
      '`model` null: nothing. Without `profile`: the one that the model prefers.',
    ),
  },
  responses: {
    200: jsonAnswer(laneManualAnswerSchema, 'Whether and when it takes effect; it may still have to load.'),
    ...errorResponse,
  },
})

const clearManual = createRoute({
  method: 'delete',
  path: '/api/lanes/{name}/manual',
  tags,
  summary: 'Back to the default',
  request: { params: laneNameParams },
  responses: { 200: jsonAnswer(laneRowSchema, 'The lane; also where there was no such choice.'), ...errorResponse },
})

const reload = createRoute({
  method: 'post',
  path: '/api/lanes/{name}/reload',
  tags,
  summary: 'Start the engine of a lane anew at once, whoever uses it',
  description: 'Answers when it is ready. A caller that leaves cancels nothing. What failed before is forgotten.',
  request: { params: laneNameParams },
  responses: { 200: jsonAnswer(slotRowSchema, 'Its slot at the end.'), ...errorResponse },
})

/** Errors: those of Lanes. Source: SPEC 12 "Target" 4, 16. */
export function addLaneActions(app: OpenAPIHono<ApiEnv>, { ports: { lanes } }: ApiContext): void {
  app.openapi(setManual, async (c) =>
    c.json(await lanes.setManual(c.req.valid('param').name, c.req.valid('json'), callerOf(c)), 200),
  )
  app.openapi(clearManual, async (c) => c.json(await lanes.clearManual(c.req.valid('param').name, callerOf(c)), 200))
  app.openapi(reload, async (c) => c.json(await lanes.reload(c.req.valid('param').name, callerOf(c)), 200))
}
