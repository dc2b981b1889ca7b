import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { laneExplanationSchema, laneTimelineSchema } from '../contract/lane.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { HOUR_MS } from '../kernel/units.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { laneNameParams } from './query.ts'
import { errorResponse, jsonAnswer } from './responses.ts'
import { refuseEmptyWindow, timeParam } from './time-param.ts'

const tags = ['lanes']

const DAY_MS = 24 * HOUR_MS
/** What a timeline shows when nobody says: the last day, and the week to come. */
const DEFAULT_BACK_MS = DAY_MS
const DEFAULT_SPAN_MS = 8 * DAY_MS
/** Of a timeline: a year. */
const MAX_SPAN_MS = 366 * DAY_MS

const timeline = createRoute({
  method: 'get',
  path: '/api/lanes/{name}/timeline',
  tags,
  summary: 'What a lane did, what is booked, and what is planned',
  request: {
    params: laneNameParams,
    query: z.strictObject({
      from: timeParam('The beginning; default: a day ago, or 8 days before `to`.').optional(),
      to: timeParam('The end (not in it); default: 8 days after `from`.').optional(),
    }),
  },
  responses: { 200: jsonAnswer(laneTimelineSchema, 'In order of time.'), ...errorResponse },
})

const explain = createRoute({
  method: 'get',
  path: '/api/lanes/{name}/explain',
  tags,
  summary: 'Which rule decides what the lane runs, what would change that, and the plan of the next 24 hours',
  request: {
    params: laneNameParams,
    query: z.strictObject({ at: timeParam('At this moment; default: now.').optional() }),
  },
  responses: { 200: jsonAnswer(laneExplanationSchema, 'The branches up to the one that decides.'), ...errorResponse },
})

/** Errors: `lane.not_found`, `validation.invalid`. Source: SPEC 12, 16. */
export function addLanePlanRoutes(app: OpenAPIHono<ApiEnv>, { ports: { lanes }, clock }: ApiContext): void {
  app.openapi(timeline, (c) => {
    const { from, to } = c.req.valid('query')
    const fromMs = from ?? (to === undefined ? clock.nowMs() - DEFAULT_BACK_MS : to - DEFAULT_SPAN_MS)
    const toMs = to ?? fromMs + DEFAULT_SPAN_MS
    refuseEmptyWindow(fromMs, toMs)
    refuseLongWindow(fromMs, toMs)
    return c.json(lanes.timeline(c.req.valid('param').name, { fromMs, toMs }, callerOf(c)), 200)
  })
  app.openapi(explain, (c) => c.json(lanes.explain(c.req.valid('param').name, c.req.valid('query').at), 200))
}

function refuseLongWindow(fromMs: number, toMs: number): void {
  if (toMs - fromMs <= MAX_SPAN_MS) return
  const message = `expected a time at most ${MAX_SPAN_MS / DAY_MS} days after \`from\``
  throw Hal0Error.of('validation.invalid', `The query string is not valid. to: ${message}.`, {
    param: 'to',
    details: { fields: [{ param: 'to', message }] },
  })
}
