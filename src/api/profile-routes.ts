import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import {
  profileCreateSchema,
  profileEnvelopeSchema,
  profileImportResultSchema,
  profileImportSchema,
  profileListSchema,
  profilePatchSchema,
  profileRowSchema,
} from '../contract/profile.ts'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { profileNameParams } from './query.ts'
import { errorResponse, goneAnswer, jsonAnswer } from './responses.ts'

const tags = ['profiles']

const list = createRoute({
  method: 'get',
  path: '/api/profiles',
  tags,
  summary: 'All profiles: those that hal0 brings, then your own',
  responses: { 200: jsonAnswer(profileListSchema, 'One row per profile.'), ...errorResponse },
})

const create = createRoute({
  method: 'post',
  path: '/api/profiles',
  tags,
  summary: 'A new profile, or a copy of one under another name',
  middleware: readJsonBody(profileCreateSchema),
  request: { body: jsonBody(profileCreateSchema, 'With `from`, keys that are absent are taken from that profile.') },
  responses: { 201: jsonAnswer(profileRowSchema, 'The profile.'), ...errorResponse },
})

const exportRoute = createRoute({
  method: 'get',
  path: '/api/profiles/export',
  tags,
  summary: 'Profiles as one document that another hal0 can import',
  request: {
    query: z.strictObject({
      names: z
        .string()
        .openapi({ param: { description: 'Names, separated by commas; absent = all of your own.' }, example: 'a,b' })
        .optional(),
    }),
  },
  responses: { 200: jsonAnswer(profileEnvelopeSchema, 'Without paths or secrets.'), ...errorResponse },
})

const importRoute = createRoute({
  method: 'post',
  path: '/api/profiles/import',
  tags,
  summary: 'Take the profiles of an export, all or none',
  middleware: readJsonBody(profileImportSchema),
  request: {
    body: jsonBody(profileImportSchema, 'A profile of the same name stays as it is, unless `overwrite` is true.'),
  },
  responses: { 200: jsonAnswer(profileImportResultSchema, 'What was taken.'), ...errorResponse },
})

const show = createRoute({
  method: 'get',
  path: '/api/profiles/{name}',
  tags,
  summary: 'One profile',
  request: { params: profileNameParams },
  responses: { 200: jsonAnswer(profileRowSchema, 'The profile.'), ...errorResponse },
})

const update = createRoute({
  method: 'put',
  path: '/api/profiles/{name}',
  tags,
  summary: 'Change a profile of your own; nothing that runs is stopped',
  middleware: readJsonBody(profilePatchSchema),
  request: {
    params: profileNameParams,
    body: jsonBody(profilePatchSchema, 'Keys that are absent stay as they are; null deletes one.'),
  },
  responses: { 200: jsonAnswer(profileRowSchema, 'The profile as it is now.'), ...errorResponse },
})

const remove = createRoute({
  method: 'delete',
  path: '/api/profiles/{name}',
  tags,
  summary: 'Delete a profile of your own that no slot uses',
  request: { params: profileNameParams },
  responses: { 204: goneAnswer, ...errorResponse },
})

/** Errors: those of Profiles. Source: SPEC 3, 16. */
export function addProfileRoutes(app: OpenAPIHono<ApiEnv>, { ports: { profiles } }: ApiContext): void {
  app.openapi(list, async (c) => c.json({ profiles: [...(await profiles.list())] }, 200))
  app.openapi(create, async (c) => {
    const row = await profiles.create(c.req.valid('json'))
    return c.json(row, 201, { location: `/api/profiles/${encodeURIComponent(row.name)}` })
  })
  // Before `{name}`: what is asked for here is the export, also where a profile has that name.
  app.openapi(exportRoute, async (c) => {
    const names = c.req
      .valid('query')
      .names?.split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
    return c.json(await profiles.exportEnvelope(names === undefined || names.length === 0 ? undefined : names), 200)
  })
  app.openapi(importRoute, async (c) => c.json(await profiles.importEnvelope(c.req.valid('json')), 200))
  app.openapi(show, async (c) => c.json(await profiles.show(c.req.valid('param').name), 200))
  app.openapi(update, async (c) => c.json(await profiles.update(c.req.valid('param').name, c.req.valid('json')), 200))
  app.openapi(remove, async (c) => {
    await profiles.remove(c.req.valid('param').name)
    return c.body(null, 204)
  })
}
