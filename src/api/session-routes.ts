import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { sessionSchema, setUpSchema, signInSchema } from '../contract/user.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

const tags = ['people']

const signIn = createRoute({
  method: 'post',
  path: '/api/session',
  tags,
  summary: 'Sign in with a password',
  middleware: readJsonBody(signInSchema),
  request: { body: jsonBody(signInSchema, 'Programs use an API key instead.') },
  responses: { 200: jsonAnswer(sessionSchema, 'Who you are now; the session is in the cookie.'), ...errorResponse },
})

const setUp = createRoute({
  method: 'post',
  path: '/api/session/set-up',
  tags,
  summary: 'Make the first admin, with the token that the daemon prints at its start',
  middleware: readJsonBody(setUpSchema),
  request: { body: jsonBody(setUpSchema, 'The token works once, and only while there is no user.') },
  responses: { 200: jsonAnswer(sessionSchema, 'Who you are now; the session is in the cookie.'), ...errorResponse },
})

const show = createRoute({
  method: 'get',
  path: '/api/session',
  tags,
  summary: 'Who am I?',
  responses: { 200: jsonAnswer(sessionSchema, 'Whose key or session it is.'), ...errorResponse },
})

const signOut = createRoute({
  method: 'delete',
  path: '/api/session',
  tags,
  summary: 'Sign out',
  responses: { 204: { description: 'The session is over, and the cookie is taken away.' }, ...errorResponse },
})

/** Errors: those of Sessions. Source: SPEC 14, 16. */
export function addSessionRoutes(app: OpenAPIHono<ApiEnv>, { ports: { sessions } }: ApiContext): void {
  app.openapi(signIn, async (c) => {
    const { cookie, info } = await sessions.signIn(c.req.valid('json'), c.env.incoming)
    return c.json(info, 200, { 'set-cookie': cookie })
  })
  app.openapi(setUp, async (c) => {
    const { cookie, info } = await sessions.setUp(c.req.valid('json'), c.env.incoming)
    return c.json(info, 200, { 'set-cookie': cookie })
  })
  app.openapi(show, (c) => c.json(sessions.info(callerOf(c), c.env.incoming), 200))
  app.openapi(signOut, async (c) => {
    const cookie = await sessions.signOut(c.env.incoming)
    return c.body(null, 204, { 'set-cookie': cookie })
  })
}
