import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { HTTPException } from 'hono/http-exception'
import { userChangeSchema, userListSchema, userMadeSchema, userRequestSchema, userRowSchema } from '../contract/user.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { userParams } from './query.ts'
import { errorResponse, goneAnswer, jsonAnswer } from './responses.ts'

const tags = ['people']

const list = createRoute({
  method: 'get',
  path: '/api/users',
  tags,
  summary: 'All users, in order of name',
  responses: { 200: jsonAnswer(userListSchema, 'One row per user.'), ...errorResponse },
})

const create = createRoute({
  method: 'post',
  path: '/api/users',
  tags,
  summary: 'A new user; the first one has to be an admin',
  middleware: readJsonBody(userRequestSchema),
  request: { body: jsonBody(userRequestSchema, '`key_name`: a key of that name is made too.') },
  responses: {
    201: jsonAnswer(userMadeSchema, 'The user; the secret of the key is told this once.'),
    ...errorResponse,
  },
})

const show = createRoute({
  method: 'get',
  path: '/api/users/{user}',
  tags,
  summary: 'One user, by name or id',
  request: { params: userParams },
  responses: { 200: jsonAnswer(userRowSchema, 'The user.'), ...errorResponse },
})

const change = createRoute({
  method: 'patch',
  path: '/api/users/{user}',
  tags,
  summary: 'Change a user; members their own password, e-mail and time zone',
  middleware: readJsonBody(userChangeSchema),
  request: { params: userParams, body: jsonBody(userChangeSchema, 'What is absent stays; null takes a value away.') },
  responses: { 200: jsonAnswer(userRowSchema, 'The user as it is now.'), ...errorResponse },
})

const remove = createRoute({
  method: 'delete',
  path: '/api/users/{user}',
  tags,
  summary: 'Delete a user, with keys and sessions',
  request: { params: userParams },
  responses: { 204: goneAnswer, ...errorResponse },
})

/** Errors: those of Accounts. Source: SPEC 14, 16. */
export function addUserRoutes(app: OpenAPIHono<ApiEnv>, { ports: { accounts } }: ApiContext): void {
  app.openapi(list, (c) => c.json({ users: [...accounts.users()] }, 200))
  app.openapi(create, async (c) => {
    const made = await accounts.createUser(c.req.valid('json'), callerOf(c))
    return c.json(made, 201, { location: `/api/users/${encodeURIComponent(made.user.name)}` })
  })
  app.openapi(show, (c) => {
    const { user } = c.req.valid('param')
    const found = accounts.users().find(({ id, name }) => id === user || name === user.toLowerCase())
    if (found !== undefined) return c.json(found, 200)
    throw new HTTPException(404, { message: `There is no user ${JSON.stringify(user)}.` })
  })
  app.openapi(change, async (c) =>
    c.json(await accounts.changeUser(c.req.valid('param').user, c.req.valid('json'), callerOf(c)), 200),
  )
  app.openapi(remove, async (c) => {
    await accounts.removeUser(c.req.valid('param').user, callerOf(c))
    return c.body(null, 204)
  })
}
