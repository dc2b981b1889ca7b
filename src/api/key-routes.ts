import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { keyListSchema, keyMadeSchema, keyRequestSchema, keyRowSchema } from '../contract/user.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { keyParams } from './query.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

const tags = ['people']

const list = createRoute({
  method: 'get',
  path: '/api/keys',
  tags,
  summary: 'API keys, newest first: your own; for admins everybody’s',
  request: {
    query: z.strictObject({
      user: z
        .string()
        .openapi({ param: { description: 'Only of this user, by name or id; for admins.' } })
        .optional(),
    }),
  },
  responses: { 200: jsonAnswer(keyListSchema, 'One row per key, without its secret.'), ...errorResponse },
})

const create = createRoute({
  method: 'post',
  path: '/api/keys',
  tags,
  summary: 'A new API key',
  middleware: readJsonBody(keyRequestSchema),
  request: { body: jsonBody(keyRequestSchema, '`user`: whose; for admins.') },
  responses: { 201: jsonAnswer(keyMadeSchema, 'The key; `secret` is told this once.'), ...errorResponse },
})

const revoke = createRoute({
  method: 'delete',
  path: '/api/keys/{key}',
  tags,
  summary: 'Revoke a key, by id or prefix',
  request: { params: keyParams },
  responses: { 200: jsonAnswer(keyRowSchema, 'The key, revoked; also one that was before.'), ...errorResponse },
})

/** Errors: those of Accounts. Source: SPEC 14, 16. */
export function addKeyRoutes(app: OpenAPIHono<ApiEnv>, { ports: { accounts } }: ApiContext): void {
  app.openapi(list, (c) => c.json({ keys: [...accounts.keys(callerOf(c), c.req.valid('query').user)] }, 200))
  app.openapi(create, async (c) => {
    const made = await accounts.createKey(c.req.valid('json'), callerOf(c))
    return c.json(made, 201, { location: `/api/keys/${encodeURIComponent(made.key.id)}` })
  })
  app.openapi(revoke, async (c) => c.json(await accounts.revokeKey(c.req.valid('param').key, callerOf(c)), 200))
}
