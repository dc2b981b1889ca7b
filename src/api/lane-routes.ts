import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import type { Caller } from '../access/caller.ts'
import { laneListSchema, laneRowSchema } from '../contract/lane.ts'
import { laneConfigAnswerSchema, laneConfigWrittenSchema } from '../contract/lane-config.ts'
import { nameSchema } from '../contract/names.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { laneNameParams } from './query.ts'
import { errorResponse, goneAnswer, jsonAnswer } from './responses.ts'
import { redactLane } from './rules/redact-lane.ts'
import { seenBy } from './seen-by.ts'

const tags = ['lanes']

/** The keys of a lane file as data; what they may say is checked where the file is written, all of it at once. */
const laneFileSchema = z.record(z.string(), z.unknown())
const laneCreateSchema = z.looseObject({ name: nameSchema })

const list = createRoute({
  method: 'get',
  path: '/api/lanes',
  tags,
  summary: 'All lanes, in name order: what each should run, what it runs, and why',
  responses: { 200: jsonAnswer(laneListSchema, 'One row per lane.'), ...errorResponse },
})

const create = createRoute({
  method: 'post',
  path: '/api/lanes',
  tags,
  summary: 'A new lane',
  middleware: readJsonBody(laneCreateSchema),
  request: { body: jsonBody(laneCreateSchema, 'The keys of a lane file, and `name`.') },
  responses: {
    201: jsonAnswer(laneConfigWrittenSchema, 'What its file says, and what is worth knowing.'),
    ...errorResponse,
  },
})

const show = createRoute({
  method: 'get',
  path: '/api/lanes/{name}',
  tags,
  summary: 'One lane',
  request: { params: laneNameParams },
  responses: { 200: jsonAnswer(laneRowSchema, 'The lane.'), ...errorResponse },
})

const remove = createRoute({
  method: 'delete',
  path: '/api/lanes/{name}',
  tags,
  summary: 'Delete the file of a lane; what it runs is stopped',
  request: { params: laneNameParams },
  responses: { 204: goneAnswer, ...errorResponse },
})

const showConfig = createRoute({
  method: 'get',
  path: '/api/lanes/{name}/config',
  tags,
  summary: 'What the file of a lane says',
  request: { params: laneNameParams },
  responses: {
    200: jsonAnswer(laneConfigAnswerSchema, 'Keys as in the file; an absent one has its default.'),
    ...errorResponse,
  },
})

const updateConfig = createRoute({
  method: 'put',
  path: '/api/lanes/{name}/config',
  tags,
  summary: 'Change the file of a lane',
  middleware: readJsonBody(laneFileSchema),
  request: {
    params: laneNameParams,
    body: jsonBody(laneFileSchema, 'Keys that are absent stay as they are; null deletes one.'),
  },
  responses: {
    200: jsonAnswer(laneConfigWrittenSchema, 'The file as it is now, and what is worth knowing.'),
    ...errorResponse,
  },
})

/** Errors: those of Lanes and LaneAdmin. Source: SPEC 12, 16. */
export function addLaneRoutes(app: OpenAPIHono<ApiEnv>, { ports: { lanes, laneFiles } }: ApiContext): void {
  app.openapi(list, (c) => {
    const caller = callerOf(c)
    return c.json({ lanes: lanes.rows(caller).map(seenBy(caller, redactLane)) }, 200)
  })
  app.openapi(create, async (c) => {
    const { name, ...config } = c.req.valid('json')
    const made = await laneFiles.create(name, config)
    return c.json({ ...made, warnings: warningsOf(made.name, callerOf(c)) }, 201, {
      location: `/api/lanes/${encodeURIComponent(made.name)}`,
    })
  })
  app.openapi(show, (c) => {
    const caller = callerOf(c)
    return c.json(seenBy(caller, redactLane)(lanes.row(c.req.valid('param').name, caller)), 200)
  })
  app.openapi(remove, async (c) => {
    await laneFiles.remove(c.req.valid('param').name)
    return c.body(null, 204)
  })
  app.openapi(showConfig, async (c) => c.json(await laneFiles.config(c.req.valid('param').name), 200))
  app.openapi(updateConfig, async (c) => {
    const changed = await laneFiles.update(c.req.valid('param').name, c.req.valid('json'))
    return c.json({ ...changed, warnings: warningsOf(changed.name, callerOf(c)) }, 200)
  })

  /** A lane that does not run (yet) has none. */
  function warningsOf(name: string, by: Caller): string[] {
    try {
      return lanes.row(name, by).warnings
    } catch {
      return []
    }
  }
}
