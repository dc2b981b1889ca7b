import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { reservationRowSchema } from '../contract/reservation.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { reservationIdParams } from './query.ts'
import { seriesParam } from './reservation-routes.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

const tags = ['reservations']

/** The longest that one call may add: a week, in minutes. */
const MAX_EXTEND_MINUTES = 10_080

const rejectSchema = z.strictObject({
  reason: z.string().max(500, 'expected 500 characters or less').default(''),
})
const extendSchema = z.strictObject({
  minutes: z
    .number('expected a number of minutes')
    .positive('expected more than 0')
    .max(MAX_EXTEND_MINUTES, `expected ${MAX_EXTEND_MINUTES} or less`),
})

const now = { 200: jsonAnswer(reservationRowSchema, 'The reservation as it is now.'), ...errorResponse }
const seriesQuery = z.strictObject({ series: seriesParam })

const approve = createRoute({
  method: 'post',
  path: '/api/reservations/{id}/approve',
  tags,
  summary: 'Approve a reservation that is pending',
  request: { params: reservationIdParams, query: seriesQuery },
  responses: now,
})

const reject = createRoute({
  method: 'post',
  path: '/api/reservations/{id}/reject',
  tags,
  summary: 'Reject a reservation that is pending',
  middleware: readJsonBody(rejectSchema, { isOptional: true }),
  request: {
    params: reservationIdParams,
    query: seriesQuery,
    body: { ...jsonBody(rejectSchema, 'The reason is told to its owner.'), required: false },
  },
  responses: now,
})

const end = createRoute({
  method: 'post',
  path: '/api/reservations/{id}/end',
  tags,
  summary: 'End a reservation that is active, now',
  request: { params: reservationIdParams },
  responses: now,
})

const extend = createRoute({
  method: 'post',
  path: '/api/reservations/{id}/extend',
  tags,
  summary: 'Let a reservation end later',
  middleware: readJsonBody(extendSchema),
  request: { params: reservationIdParams, body: jsonBody(extendSchema, 'Added to its end.') },
  responses: now,
})

/** Errors: those of Bookings. Source: SPEC 13, 16. */
export function addReservationActions(app: OpenAPIHono<ApiEnv>, { ports: { bookings } }: ApiContext): void {
  app.openapi(approve, async (c) => {
    const { series = false } = c.req.valid('query')
    return c.json(await bookings.approve(c.req.valid('param').id, { series }, callerOf(c)), 200)
  })
  app.openapi(reject, async (c) => {
    const options = { series: c.req.valid('query').series ?? false, reason: c.req.valid('json').reason }
    return c.json(await bookings.reject(c.req.valid('param').id, options, callerOf(c)), 200)
  })
  app.openapi(end, async (c) => c.json(await bookings.end(c.req.valid('param').id, callerOf(c)), 200))
  app.openapi(extend, async (c) =>
    c.json(await bookings.extend(c.req.valid('param').id, c.req.valid('json').minutes, callerOf(c)), 200),
  )
}
