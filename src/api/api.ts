import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import type { Guard, OpenDoor } from '../access/guard.ts'
import { errorAnswer } from '../contract/error-answer.ts'
import { Hal0Error, messageOf } from '../kernel/errors.ts'
import { maskKeys } from '../kernel/mask-keys.ts'
import { newRequestId } from '../kernel/request-id.ts'
import { answerThrown, respond } from './answer-error.ts'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { createAuditDoor } from './audit-door.ts'
import { addAuditRoutes } from './audit-routes.ts'
import { addCalendarRoutes } from './calendar-routes.ts'
import { addCapacityRoute } from './capacity-route.ts'
import { addComfyuiRoutes } from './comfyui-routes.ts'
import { addConfigRoutes } from './config-routes.ts'
import { addDispatchRoutes } from './dispatch-routes.ts'
import { addEventRoutes } from './event-routes.ts'
import { createGate } from './gate.ts'
import { addHardwareRoute } from './hardware-route.ts'
import { addKeyRoutes } from './key-routes.ts'
import { addLaneActions } from './lane-actions.ts'
import { addLanePlanRoutes } from './lane-plan-routes.ts'
import { addLaneRoutes } from './lane-routes.ts'
import { addLoadHistoryRoute } from './load-history-route.ts'
import { addMetricsRoute } from './metrics-route.ts'
import { addModelRoutes } from './model-routes.ts'
import { addNotificationRoutes } from './notification-routes.ts'
import { createOperations } from './operations.ts'
import { addProfileRoutes } from './profile-routes.ts'
import { addPullRoutes } from './pull-routes.ts'
import { validationError } from './query.ts'
import { refuseUnknownQuery } from './refuse-unknown-query.ts'
import { addReservationActions } from './reservation-actions.ts'
import { addReservationRoutes } from './reservation-routes.ts'
import { errorResponse, jsonAnswer } from './responses.ts'
import { addSessionRoutes } from './session-routes.ts'
import { addSlotActions } from './slot-actions.ts'
import { addSlotAdminRoutes } from './slot-admin-routes.ts'
import { addSlotLogRoutes } from './slot-log-routes.ts'
import { addSlotRoutes } from './slot-routes.ts'
import { addSlotStateStream } from './slot-state-stream.ts'
import { addSystemRoutes } from './system-routes.ts'
import { answerUnknownRoute } from './unknown-route.ts'
import { addUsageRoute } from './usage-route.ts'
import { addUserRoutes } from './user-routes.ts'

export interface ApiOptions extends Omit<ApiContext, 'operations'> {
  /** Asked before any route that is not open. */
  readonly guard: Guard
  /** Asked before the routes that are (see `OPEN_ROUTES`). */
  readonly openDoor: OpenDoor
}

/** Answers one request, whatever its path: one that no route has is 404. Never throws, never rejects. */
export type ApiListener = (request: IncomingMessage, response: ServerResponse) => void

/** The management API as a listener for node:http. Source: SPEC 16. */
export function createApi(options: ApiOptions): ApiListener {
  const { log } = options
  const app = buildApp(options)
  const listener = getRequestListener((request, { incoming }) => app.fetch(request, { incoming }), {
    // The global Request and Response stay as they are: the gateway and the tests use them too.
    overrideGlobalObjects: false,
    errorHandler(thrown) {
      const requestId = newRequestId()
      // Not the error itself: a URL that cannot be read is one of its fields, with the query.
      log.warn(
        { request_id: requestId, reason: maskKeys(messageOf(thrown).split('?', 1)[0] ?? '') },
        'a request could not be read',
      )
      const error = Hal0Error.of('request.invalid', 'The request line or the Host header cannot be read as a URL.')
      return respond(errorAnswer(error, requestId))
    },
  })
  return (request, response) => {
    listener(request, response).catch((thrown: unknown) => {
      const path = maskKeys(request.url?.split('?', 1)[0] ?? '')
      log.error({ method: request.method, path, err: thrown }, 'answering a request failed')
      response.destroy()
    })
  }
}

/** The routes, with the gate before them. Exported for tests that walk them. */
export function buildApp(options: ApiOptions): OpenAPIHono<ApiEnv> {
  const context: ApiContext = { ...options, operations: createOperations(options) }
  const app = new OpenAPIHono<ApiEnv>({
    defaultHook(result, c) {
      if (result.success) return
      const schema = result.target === 'json' ? c.get('bodySchema') : undefined
      throw validationError(WHERE[result.target] ?? 'request', result.error, schema)
    },
  })
  app.use(async (c, next) => {
    c.set('requestId', newRequestId())
    await next()
    const { status } = c.res
    // The rest of the body is not read: who sent the next request over this connection would see it break.
    if (status >= 400 && !c.env.incoming.complete) c.res.headers.set('connection', 'close')
    // The id that the error body names leads here.
    if (status >= 400) {
      context.log.info(
        { request_id: c.get('requestId'), method: c.req.method, path: maskKeys(c.req.path), status },
        'a request of the management API ended with an error',
      )
    }
    c.res.headers.set('x-request-id', c.get('requestId'))
    if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store')
  })
  app.use(createAuditDoor(options))
  app.use(createGate(options))
  app.use(refuseUnknownQuery(app))
  addSlotRoutes(app, context)
  addSlotActions(app, context)
  addSlotStateStream(app, context)
  addSlotLogRoutes(app, context)
  addLoadHistoryRoute(app, context)
  addCapacityRoute(app, context)
  addDispatchRoutes(app, context)
  addEventRoutes(app, context)
  addSlotAdminRoutes(app, context)
  addProfileRoutes(app, context)
  addModelRoutes(app, context)
  addPullRoutes(app, context)
  addLaneRoutes(app, context)
  addLaneActions(app, context)
  addLanePlanRoutes(app, context)
  addCalendarRoutes(app, context)
  addReservationRoutes(app, context)
  addReservationActions(app, context)
  addUserRoutes(app, context)
  addKeyRoutes(app, context)
  addSessionRoutes(app, context)
  addAuditRoutes(app, context)
  addNotificationRoutes(app, context)
  addConfigRoutes(app, context)
  addComfyuiRoutes(app, context)
  addSystemRoutes(app, context)
  addHardwareRoute(app, context)
  addMetricsRoute(app, context)
  addUsageRoute(app, context)
  addOpenApi(app, context)
  app.onError((thrown, c) => answerThrown(thrown, c, context.log))
  app.notFound((c) => answerUnknownRoute(c, app.routes))
  return app
}

const WHERE: Readonly<Record<string, string>> = { query: 'query string', param: 'path', header: 'header', json: 'body' }

const openApiRoute = createRoute({
  method: 'get',
  path: '/api/openapi.json',
  tags: ['system'],
  summary: 'This document',
  responses: { 200: jsonAnswer(z.record(z.string(), z.unknown()), 'OpenAPI 3.1.'), ...errorResponse },
})

/** Printed from the schemas that validate. Source: SPEC 16. */
function addOpenApi(app: OpenAPIHono<ApiEnv>, { daemon }: ApiContext): void {
  app.openapi(openApiRoute, (c) => {
    const document: object = app.getOpenAPI31Document({
      openapi: '3.1.0',
      info: {
        title: 'hal0 management API',
        version: daemon().version,
        description:
          'Slots, profiles, models, lanes, reservations, people, settings, events. The OpenAI-compatible gateway is under /v1.',
      },
    })
    return c.json({ ...document }, 200)
  })
}
