import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { HTTPException } from 'hono/http-exception'
import { healthSchema } from '../contract/health.ts'
import { operationSchema } from '../contract/operation.ts'
import { type DaemonFacts, type Status, statusSchema } from '../contract/status.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { Slots } from '../slots/slots.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { errorResponse, jsonAnswer } from './responses.ts'
import { redactStatus } from './rules/redact-status.ts'
import { seenBy } from './seen-by.ts'

const health = createRoute({
  method: 'get',
  path: '/api/health',
  tags: ['system'],
  summary: 'The daemon answers',
  responses: { 200: jsonAnswer(healthSchema, 'It does.'), ...errorResponse },
})

const status = createRoute({
  method: 'get',
  path: '/api/status',
  tags: ['system'],
  summary: 'What the daemon knows about itself, and a count of its slots',
  responses: { 200: jsonAnswer(statusSchema, 'The status.'), ...errorResponse },
})

const operation = createRoute({
  method: 'get',
  path: '/api/operations/{id}',
  tags: ['slots'],
  summary: 'An operation that a load, unload or restart with `wait` left running',
  request: { params: z.object({ id: z.string() }) },
  responses: { 200: jsonAnswer(operationSchema, 'The operation.'), ...errorResponse },
})

type Problems = ReturnType<ApiContext['ports']['problems']>

/** Source: SPEC 16. */
export function addSystemRoutes(app: OpenAPIHono<ApiEnv>, context: ApiContext): void {
  const { slots, clock, daemon, operations, ports } = context
  app.openapi(health, (c) => c.json({ status: 'ok' as const, version: daemon().version }, 200))
  app.openapi(status, (c) => {
    const whole = { ...statusOf(daemon(), slots, clock.nowMs()), ...ports.problems() }
    return c.json(seenBy(callerOf(c), redactStatus)(whole), 200)
  })
  app.openapi(operation, (c) => {
    const { id } = c.req.valid('param')
    const found = operations.find(id)
    if (found !== undefined) return c.json(found, 200)
    throw new HTTPException(404, { message: `There is no operation ${JSON.stringify(id)}, or it ended long ago.` })
  })
}

function statusOf(facts: DaemonFacts, slots: Slots, nowMs: number): Omit<Status, keyof Problems> {
  const rows = slots.rows()
  const byState: Status['slots']['by_state'] = {}
  for (const { state } of rows) byState[state] = (byState[state] ?? 0) + 1
  return {
    ...facts,
    uptime_s: Math.max(0, Math.floor((nowMs - Date.parse(facts.started_at)) / SECOND_MS)),
    slots: { total: rows.length, by_state: byState },
    in_flight: rows.reduce((sum, row) => sum + row.in_flight, 0),
    queued: rows.reduce((sum, row) => sum + row.queued, 0),
  }
}
