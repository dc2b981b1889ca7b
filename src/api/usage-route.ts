import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { isAdmin, userIdOf } from '../access/caller.ts'
import { USAGE_BY, usageReportSchema } from '../contract/usage.ts'
import { HOUR_MS } from '../kernel/units.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { errorResponse, jsonAnswer } from './responses.ts'
import { refuseEmptyWindow, timeParam } from './time-param.ts'
import { nameGroups } from './usage-names.ts'

/** How far back a report looks when nobody says. */
const DEFAULT_SPAN_MS = 7 * 24 * HOUR_MS

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

/** Members see their own. Errors: `validation.invalid`. Source: SPEC 11 "Usage", 14, 16. */
export function addUsageRoute(app: OpenAPIHono<ApiEnv>, { ports, clock }: ApiContext): void {
  app.openapi(usageRoute, (c) => {
    const { from, to: toMs = clock.nowMs(), by = 'slot' } = c.req.valid('query')
    const fromMs = from ?? toMs - DEFAULT_SPAN_MS
    refuseEmptyWindow(fromMs, toMs)
    const caller = callerOf(c)
    const query = { fromMs, toMs, by }
    const report = ports.usage.report(isAdmin(caller) ? query : { ...query, userId: userIdOf(caller) })
    return c.json(nameGroups(report, ports, caller), 200)
  })
}
