import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { resolvedLaunchSchema } from '../contract/resolved.ts'
import {
  reseedResultSchema,
  reseedSchema,
  slotChangeSchema,
  slotConfigSchema,
  slotPayloadSchema,
  slotRenameSchema,
} from '../contract/slot-config.ts'
import { slotRowSchema } from '../contract/slot-row.ts'
import { requireRow } from '../slots/slot-manager.ts'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { flagParam, slotNameParams } from './query.ts'
import { refuseLaneSlot } from './refuse-lane-slot.ts'
import { errorResponse, goneAnswer, jsonAnswer } from './responses.ts'
import { drainMsOf, drainParam } from './slot-actions.ts'

const create = createRoute({
  method: 'post',
  path: '/api/slots',
  tags: ['slots'],
  summary: 'A new slot',
  middleware: readJsonBody(slotPayloadSchema),
  request: {
    body: jsonBody(slotPayloadSchema, 'The keys of a slot file, `name` among them. `autoload` is false unless said.'),
  },
  responses: { 201: jsonAnswer(slotRowSchema, 'The slot, offline.'), ...errorResponse },
})

const showConfig = createRoute({
  method: 'get',
  path: '/api/slots/{name}/config',
  tags: ['slots'],
  summary: 'What the file of a slot says',
  request: { params: slotNameParams },
  responses: {
    200: jsonAnswer(slotConfigSchema, 'Keys as in the file; an absent one has its default.'),
    ...errorResponse,
  },
})

const updateConfig = createRoute({
  method: 'put',
  path: '/api/slots/{name}/config',
  tags: ['slots'],
  summary: 'Change the file of a slot; nothing that runs is stopped',
  middleware: readJsonBody(slotPayloadSchema),
  request: {
    params: slotNameParams,
    body: jsonBody(slotPayloadSchema, 'Keys that are absent stay as they are; null deletes one.'),
  },
  responses: { 200: jsonAnswer(slotChangeSchema, 'What changed, and what of it needs a restart.'), ...errorResponse },
})

const updateDefaults = createRoute({
  method: 'patch',
  path: '/api/slots/{name}/defaults',
  tags: ['slots'],
  summary: 'Change what the requests of a slot default to',
  middleware: readJsonBody(slotPayloadSchema),
  request: {
    params: slotNameParams,
    body: jsonBody(
      slotPayloadSchema,
      '`model.default`, `default`, `image`, `default_voice`, `default_speed`, `default_response_format`; null deletes one.',
    ),
  },
  responses: { 200: jsonAnswer(slotChangeSchema, 'What changed, and what of it needs a restart.'), ...errorResponse },
})

const remove = createRoute({
  method: 'delete',
  path: '/api/slots/{name}',
  tags: ['slots'],
  summary: 'Drain and stop a slot, then delete its file and state',
  request: {
    params: slotNameParams,
    query: z.strictObject({
      force: flagParam(
        'Also one that is pinned, or that hal0 made; such a one comes back only by a reseed.',
      ).optional(),
      drain_s: drainParam,
    }),
  },
  responses: { 204: goneAnswer, ...errorResponse },
})

const rename = createRoute({
  method: 'post',
  path: '/api/slots/{name}/rename',
  tags: ['slots'],
  summary: 'Give a slot that is offline another name',
  middleware: readJsonBody(slotRenameSchema),
  request: { params: slotNameParams, body: jsonBody(slotRenameSchema, 'The new name.') },
  responses: { 200: jsonAnswer(slotRowSchema, 'The slot under its new name.'), ...errorResponse },
})

const resolved = createRoute({
  method: 'get',
  path: '/api/slots/{name}/resolved',
  tags: ['slots'],
  summary: 'The command that a start now would run, flag by flag with the layer it comes from',
  request: { params: slotNameParams },
  responses: { 200: jsonAnswer(resolvedLaunchSchema, 'The command, and what was left out of it.'), ...errorResponse },
})

const reseed = createRoute({
  method: 'post',
  path: '/api/slots/reseed',
  tags: ['slots'],
  summary: 'Write the slots that hal0 brings and that are missing, deleted ones too',
  middleware: readJsonBody(reseedSchema, { isOptional: true }),
  request: { body: { ...jsonBody(reseedSchema, 'Without `names`: all of them.'), required: false } },
  responses: { 200: jsonAnswer(reseedResultSchema, 'What was written.'), ...errorResponse },
})

/** Errors: `lane.slot_managed`, those of SlotAdmin. Source: SPEC 3, 4, 12, 16. */
export function addSlotAdminRoutes(app: OpenAPIHono<ApiEnv>, { slots, ports: { admin } }: ApiContext): void {
  app.openapi(create, async (c) => {
    const row = await admin.create(c.req.valid('json'))
    return c.json(row, 201, { location: `/api/slots/${encodeURIComponent(row.name)}` })
  })
  app.openapi(showConfig, async (c) => c.json(await admin.config(nameOf(c.req.valid('param'))), 200))
  app.openapi(updateConfig, async (c) =>
    c.json(await admin.updateConfig(ownNameOf(c.req.valid('param')), c.req.valid('json')), 200),
  )
  app.openapi(updateDefaults, async (c) =>
    c.json(await admin.updateDefaults(ownNameOf(c.req.valid('param')), c.req.valid('json')), 200),
  )
  app.openapi(remove, async (c) => {
    const { force = false, drain_s } = c.req.valid('query')
    await admin.remove(ownNameOf(c.req.valid('param')), { force, drainMs: drainMsOf(drain_s) })
    return c.body(null, 204)
  })
  app.openapi(rename, async (c) =>
    c.json(await admin.rename(ownNameOf(c.req.valid('param')), c.req.valid('json').to), 200),
  )
  app.openapi(resolved, async (c) => c.json(await admin.resolved(nameOf(c.req.valid('param'))), 200))
  app.openapi(reseed, async (c) => c.json(await admin.reseed(c.req.valid('json').names), 200))

  /** The same words for a slot that nobody knows, whatever is asked of it. Errors: `slot.not_found`. */
  function nameOf({ name }: { readonly name: string }): string {
    return requireRow(slots, name).name
  }

  /** For what changes the slot. Errors: also `lane.slot_managed`. */
  function ownNameOf({ name }: { readonly name: string }): string {
    return refuseLaneSlot(slots, name).name
  }
}
