import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import type { Caller } from '../access/caller.ts'
import type { Person } from '../access/people.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { HOUR_MS } from '../kernel/units.ts'
import { renderCalendar } from '../lanes/calendar-feed.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { laneNameParams } from './query.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

const tags = ['lanes']

/** Bookings that ended earlier are in no feed: calendars keep what they were given. */
const PAST_MS = 31 * 24 * HOUR_MS
/** The largest feed: calendars fetch it again and again. */
const MAX_BOOKINGS = 5_000

const tokenSchema = z.object({
  token: z.string(),
  /** Where people reach this daemon: the address of a feed begins with it. */
  base_url: z.string(),
})

const calendar = createRoute({
  method: 'get',
  path: '/api/lanes/{name}/calendar.ics',
  tags,
  summary: 'The bookings of a lane as an iCalendar feed',
  description: 'For calendars, which have no keys: the token of POST /api/calendar-token says who reads it.',
  request: {
    params: laneNameParams,
    query: z.strictObject({
      token: z
        .string()
        .optional()
        .openapi({ param: { description: 'A calendar token; it opens nothing else.' } }),
    }),
  },
  responses: {
    200: { description: 'From 31 days ago on.', content: { 'text/calendar': { schema: z.string() } } },
    ...errorResponse,
  },
})

const newToken = createRoute({
  method: 'post',
  path: '/api/calendar-token',
  tags,
  summary: 'A new token for your calendar feeds; the last one ends',
  responses: { 200: jsonAnswer(tokenSchema, 'It is told this once.'), ...errorResponse },
})

/** Errors: `auth.required` (the feed, without a token that is somebody’s), those of Lanes, Bookings and Accounts. Source: SPEC 13 "iCalendar". */
export function addCalendarRoutes(app: OpenAPIHono<ApiEnv>, { ports, clock, daemon, publicUrl }: ApiContext): void {
  const { lanes, bookings, accounts } = ports

  app.openapi(calendar, (c) => {
    const { token = '' } = c.req.valid('query')
    const person = token === '' ? undefined : accounts.byCalendarToken(token)
    if (person === undefined || person.isDisabled) throw noReaderError()
    const reader = callerFor(person)
    const lane = lanes.row(c.req.valid('param').name, reader).name
    const nowMs = clock.nowMs()
    const rows = bookings.list({ lane, fromMs: nowMs - PAST_MS, limit: MAX_BOOKINGS }, reader)
    const text = renderCalendar({ lane, rows, host: new URL(daemon().url).host })
    return c.body(text, 200, {
      'content-type': 'text/calendar; charset=utf-8',
      'content-disposition': `inline; filename="${lane}.ics"`,
    })
  })
  app.openapi(newToken, async (c) => {
    const token = await accounts.createCalendarToken(callerOf(c))
    return c.json({ token, base_url: publicUrl() }, 200)
  })
}

/** The token itself is in no message: feeds are fetched by programs that write logs. */
function noReaderError(): Hal0Error {
  return Hal0Error.of(
    'auth.required',
    'This feed needs the calendar token of a user in `token`; there is none, or it is nobody’s any more',
    {
      param: 'token',
      details: { remedy: 'Make a new address: `hal0 lane calendar NAME`.' },
    },
  )
}

function callerFor({ id, name, role }: Person): Caller {
  return { kind: 'user', userId: id, name, role, keyId: undefined }
}
