import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { USAGE_BY, usageReportSchema } from '../contract/usage.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { HOUR_MS } from '../kernel/units.ts'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

/** How far back a report looks when nobody says. */
const DEFAULT_SPAN_MS = 7 * 24 * HOUR_MS

const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

const DAY_CHARS = 'yyyy-mm-dd'.length

/** `Date.parse` takes 30 February for 2 March. */
function isDay(day: string): boolean {
  return new Date(Date.parse(day)).toISOString().startsWith(day)
}

/** A time in a query string → epoch ms. A day stands for its beginning in UTC. */
function timeParam(description: string) {
  const message = 'expected a time like 2026-01-31T18:00:00Z, or a day like 2026-01-31'
  return z
    .string(message)
    .refine((text) => TIME.test(text) && !Number.isNaN(Date.parse(text)) && isDay(text.slice(0, DAY_CHARS)), message)
    .transform((text) => Date.parse(text))
    .openapi({ type: 'string', format: 'date-time', param: { description } })
}

const usageRoute = createRoute({
  method: 'get',
  path: '/api/usage',
  tags: ['system'],
  summary: 'Requests, tokens and time, summed by the hour',
  request: {
    query: z.strictObject({
      from: timeParam('The beginning; default: 7 days before `to`. Its whole hour counts.').optional(),
      to: timeParam('The end; default: now. Its whole hour counts.').optional(),
      by: z
        .enum(USAGE_BY, `expected one of ${USAGE_BY.join(', ')}`)
        .optional()
        .openapi({
          param: { description: 'What one line stands for; default: slot. Hours and days are those of UTC.' },
        }),
    }),
  },
  responses: { 200: jsonAnswer(usageReportSchema, 'The sums of each group, and of all.'), ...errorResponse },
})

/** Errors: `validation.invalid`. Source: SPEC 11 "Usage", 16. */
export function addUsageRoute(app: OpenAPIHono<ApiEnv>, { ports, clock }: ApiContext): void {
  app.openapi(usageRoute, (c) => {
    const { from, to: toMs = clock.nowMs(), by = 'slot' } = c.req.valid('query')
    const fromMs = from ?? toMs - DEFAULT_SPAN_MS
    if (fromMs >= toMs) {
      throw Hal0Error.of('validation.invalid', 'The query string is not valid. from: expected a time before `to`.', {
        param: 'from',
        details: { fields: [{ param: 'from', message: 'expected a time before `to`' }] },
      })
    }
    return c.json(ports.usage.report({ fromMs, toMs, by }), 200)
  })
}
