import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import {
  bookingCheckSchema,
  RESERVATION_STATUSES,
  type ReservationStatus,
  reservationChangeSchema,
  reservationListSchema,
  reservationMadeSchema,
  reservationRequestSchema,
  reservationRowSchema,
} from '../contract/reservation.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { flagParam, limitParam, reservationIdParams } from './query.ts'
import { errorResponse, jsonAnswer } from './responses.ts'
import { refuseEmptyWindow, timeParam } from './time-param.ts'

const tags = ['reservations']

const DEFAULT_ROWS = 500
const MAX_ROWS = 5_000

/** `?series=` of the routes that can act on a whole series. */
export const seriesParam = flagParam('true: also the others of its series that are still to come.').optional()

const statusParam = z
  .string()
  .refine(
    (text) => text.split(',').every((word) => RESERVATION_STATUSES.includes(word as ReservationStatus)),
    `expected some of ${RESERVATION_STATUSES.join(', ')}, separated by commas`,
  )
  .transform((text) => text.split(',') as ReservationStatus[])
  .openapi({ type: 'string', param: { description: 'Only these, separated by commas.' }, example: 'approved,active' })

const list = createRoute({
  method: 'get',
  path: '/api/reservations',
  tags,
  summary: 'Reservations, in order of their start',
  description: 'Of others’ bookings, members see the window, the lane and the target.',
  request: {
    query: z.strictObject({
      lane: z
        .string()
        .openapi({ param: { description: 'Only of this lane.' } })
        .optional(),
      mine: flagParam('true: only those whose owner or member you are.').optional(),
      status: statusParam.optional(),
      from: timeParam('Only those that end later.').optional(),
      to: timeParam('Only those that start before.').optional(),
      limit: limitParam({ max: MAX_ROWS, fallback: DEFAULT_ROWS }),
    }),
  },
  responses: { 200: jsonAnswer(reservationListSchema, 'One row per reservation.'), ...errorResponse },
})

const create = createRoute({
  method: 'post',
  path: '/api/reservations',
  tags,
  summary: 'Book a lane',
  description: 'With `repeat`: all of the series or nothing.',
  middleware: readJsonBody(reservationRequestSchema),
  request: { body: jsonBody(reservationRequestSchema, 'Without `model`: the default of the lane.') },
  responses: {
    201: jsonAnswer(reservationMadeSchema, 'What was booked, and what is worth knowing.'),
    ...errorResponse,
  },
})

const check = createRoute({
  method: 'post',
  path: '/api/reservations/check',
  tags,
  summary: 'Would this booking succeed? Books nothing',
  middleware: readJsonBody(reservationRequestSchema),
  request: { body: jsonBody(reservationRequestSchema, 'As for a booking.') },
  responses: { 200: jsonAnswer(bookingCheckSchema, 'Conflicts, limits and warnings.'), ...errorResponse },
})

const show = createRoute({
  method: 'get',
  path: '/api/reservations/{id}',
  tags,
  summary: 'One reservation',
  request: { params: reservationIdParams },
  responses: { 200: jsonAnswer(reservationRowSchema, 'The reservation.'), ...errorResponse },
})

const change = createRoute({
  method: 'patch',
  path: '/api/reservations/{id}',
  tags,
  summary: 'Move or change a reservation',
  middleware: readJsonBody(reservationChangeSchema),
  request: {
    params: reservationIdParams,
    body: jsonBody(reservationChangeSchema, 'What is absent stays. Of an active one only the end, title and members.'),
  },
  responses: { 200: jsonAnswer(reservationRowSchema, 'The reservation as it is now.'), ...errorResponse },
})

const cancel = createRoute({
  method: 'delete',
  path: '/api/reservations/{id}',
  tags,
  summary: 'Cancel a reservation; an active one ends early',
  request: { params: reservationIdParams, query: z.strictObject({ series: seriesParam }) },
  responses: { 200: jsonAnswer(reservationRowSchema, 'The reservation as it is now.'), ...errorResponse },
})

/** Errors: those of Bookings. Source: SPEC 13, 16. */
export function addReservationRoutes(app: OpenAPIHono<ApiEnv>, { ports: { bookings } }: ApiContext): void {
  app.openapi(list, (c) => {
    const { from: fromMs, to: toMs, limit = DEFAULT_ROWS, ...only } = c.req.valid('query')
    if (fromMs !== undefined && toMs !== undefined) refuseEmptyWindow(fromMs, toMs)
    const query = {
      ...(only.lane === undefined ? {} : { lane: only.lane }),
      ...(only.mine === undefined ? {} : { mine: only.mine }),
      ...(only.status === undefined ? {} : { status: only.status }),
      ...(fromMs === undefined ? {} : { fromMs }),
      ...(toMs === undefined ? {} : { toMs }),
      limit,
    }
    return c.json({ reservations: [...bookings.list(query, callerOf(c))] }, 200)
  })
  app.openapi(create, async (c) => {
    const made = await bookings.create(c.req.valid('json'), callerOf(c))
    const first = made.reservations[0]?.id ?? ''
    return c.json(made, 201, { location: `/api/reservations/${encodeURIComponent(first)}` })
  })
  app.openapi(check, async (c) => c.json(await bookings.check(c.req.valid('json'), callerOf(c)), 200))
  app.openapi(show, (c) => c.json(bookings.show(c.req.valid('param').id, callerOf(c)), 200))
  app.openapi(change, async (c) =>
    c.json(await bookings.change(c.req.valid('param').id, c.req.valid('json'), callerOf(c)), 200),
  )
  app.openapi(cancel, async (c) => {
    const { series = false } = c.req.valid('query')
    return c.json(await bookings.cancel(c.req.valid('param').id, { series }, callerOf(c)), 200)
  })
}
