import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import type { Caller, Guard } from '../access/guard.ts'
import { errorAnswer } from '../contract/error-answer.ts'
import { Hal0Error, messageOf } from '../kernel/errors.ts'
import { newRequestId } from '../kernel/request-id.ts'
import { answerThrown, respond, sendError } from './answer-error.ts'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { addCapacityRoute } from './capacity-route.ts'
import { addComfyuiRoutes } from './comfyui-routes.ts'
import { addConfigRoutes } from './config-routes.ts'
import { addDispatchRoutes } from './dispatch-routes.ts'
import { addEventRoutes } from './event-routes.ts'
import { addHardwareRoute } from './hardware-route.ts'
import { addLoadHistoryRoute } from './load-history-route.ts'
import { addMetricsRoute } from './metrics-route.ts'
import { addModelRoutes } from './model-routes.ts'
import { createOperations } from './operations.ts'
import { addProfileRoutes } from './profile-routes.ts'
import { addPullRoutes } from './pull-routes.ts'
import { validationError } from './query.ts'
import { refuseUnknownQuery } from './refuse-unknown-query.ts'
import { errorResponse, jsonAnswer } from './responses.ts'
import { addSlotActions } from './slot-actions.ts'
import { addSlotAdminRoutes } from './slot-admin-routes.ts'
import { addSlotLogRoutes } from './slot-log-routes.ts'
import { addSlotRoutes } from './slot-routes.ts'
import { addSlotStateStream } from './slot-state-stream.ts'
import { addSystemRoutes } from './system-routes.ts'
import { answerUnknownRoute } from './unknown-route.ts'
import { addUsageRoute } from './usage-route.ts'

export interface ApiOptions extends Omit<ApiContext, 'operations'> {
  /** Asked before any route; no route is open without it. */
  readonly guard: Guard
}

/** Answers one request, whatever its path: one that no route has is 404. Never throws, never rejects. */
export type ApiListener = (request: IncomingMessage, response: ServerResponse) => void

/** The management API as a listener for node:http. Source: SPEC 16. */
export function createApi(options: ApiOptions): ApiListener {
  const { guard, log } = options
  const app = buildApp({ ...options, operations: createOperations(options) })
  const callers = new WeakMap<object, Caller>()
  const answer: FetchCallback = (request, { incoming }) => {
    const caller = callers.get(incoming)
    // Cannot be: it is set below, where the guard was asked. Were it not, nothing is open.
    if (caller === undefined) throw new Error('a request came around the guard')
    return app.fetch(request, { caller, incoming })
  }
  const listener = getRequestListener(answer, {
    // The global Request and Response stay as they are: the gateway and the tests use them too.
    overrideGlobalObjects: false,
    errorHandler(thrown) {
      const requestId = newRequestId()
      // Not the error itself: a URL that cannot be read is one of its fields, with the query.
      log.warn({ request_id: requestId, reason: messageOf(thrown).split('?', 1)[0] }, 'a request could not be read')
      const error = Hal0Error.of('request.invalid', 'The request line or the Host header cannot be read as a URL.')
      return respond(errorAnswer(error, requestId))
    },
  })
  return (request, response) => {
    const admitted = guard(request)
    if (admitted.ok) {
      callers.set(request, admitted.value)
      listener(request, response).catch((thrown: unknown) => {
        const path = request.url?.split('?', 1)[0]
        log.error({ method: request.method, path, err: thrown }, 'answering a request failed')
        response.destroy()
      })
      return
    }
    const { error } = admitted
    const requestId = newRequestId()
    log.warn({ request_id: requestId, code: error.code, reason: error.message }, 'request refused')
    request.resume()
    sendError(response, errorAnswer(error, requestId))
  }
}

function buildApp(context: ApiContext): OpenAPIHono<ApiEnv> {
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
        { request_id: c.get('requestId'), method: c.req.method, path: c.req.path, status },
        'a request of the management API ended with an error',
      )
    }
    c.res.headers.set('x-request-id', c.get('requestId'))
    if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store')
  })
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

type FetchCallback = Parameters<typeof getRequestListener>[0]

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
        description: 'Slots, profiles, models, settings, events. The OpenAI-compatible gateway is under /v1.',
      },
    })
    return c.json({ ...document }, 200)
  })
}
