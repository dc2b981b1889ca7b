import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import {
  foundModelSchema,
  modelAddSchema,
  modelInspectSchema,
  modelListSchema,
  modelPatchSchema,
  modelRemovedSchema,
  modelRowSchema,
  modelScanSchema,
  scanReportSchema,
} from '../contract/model.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { flagParam, modelIdParams } from './query.ts'
import { refuseRunningModel } from './refuse-running-model.ts'
import { errorResponse, jsonAnswer } from './responses.ts'
import { redactModel } from './rules/redact-model.ts'
import { seenBy } from './seen-by.ts'

const tags = ['models']

const list = createRoute({
  method: 'get',
  path: '/api/models',
  tags,
  summary: 'All models, in id order',
  responses: { 200: jsonAnswer(modelListSchema, 'One row per model, with what its files say.'), ...errorResponse },
})

const add = createRoute({
  method: 'post',
  path: '/api/models',
  tags,
  summary: 'Register a file that is there',
  middleware: readJsonBody(modelAddSchema),
  request: { body: jsonBody(modelAddSchema, 'Only `path` or `files` is needed; the rest is read from the file.') },
  responses: { 201: jsonAnswer(modelRowSchema, 'The model.'), ...errorResponse },
})

const scan = createRoute({
  method: 'post',
  path: '/api/models/scan',
  tags,
  summary: 'Look for models in a folder',
  middleware: readJsonBody(modelScanSchema, { isOptional: true }),
  request: {
    body: {
      ...jsonBody(
        modelScanSchema,
        'Without `folder`: the model store and `[models] scan`. `register`: take what is new.',
      ),
      required: false,
    },
  },
  responses: { 200: jsonAnswer(scanReportSchema, 'What was found.'), ...errorResponse },
})

const inspect = createRoute({
  method: 'post',
  path: '/api/models/inspect',
  tags,
  summary: 'What a file says, without registering it',
  middleware: readJsonBody(modelInspectSchema),
  request: { body: jsonBody(modelInspectSchema, 'The GGUF file; of a split model any part.') },
  responses: { 200: jsonAnswer(foundModelSchema, 'What the file says.'), ...errorResponse },
})

const show = createRoute({
  method: 'get',
  path: '/api/models/{id}',
  tags,
  summary: 'One model',
  request: { params: modelIdParams },
  responses: { 200: jsonAnswer(modelRowSchema, 'The model.'), ...errorResponse },
})

const update = createRoute({
  method: 'put',
  path: '/api/models/{id}',
  tags,
  summary: 'Change what the registry says of a model',
  middleware: readJsonBody(modelPatchSchema),
  request: {
    params: modelIdParams,
    body: jsonBody(modelPatchSchema, 'Keys that are absent stay as they are; null deletes one.'),
  },
  responses: { 200: jsonAnswer(modelRowSchema, 'The model as it is now.'), ...errorResponse },
})

const remove = createRoute({
  method: 'delete',
  path: '/api/models/{id}',
  tags,
  summary: 'Take a model that no slot is bound to or runs out of the registry',
  request: {
    params: modelIdParams,
    query: z.strictObject({
      delete_files: flagParam('Its files too, where they are in the model store; default false.').optional(),
    }),
  },
  responses: { 200: jsonAnswer(modelRemovedSchema, 'What was done.'), ...errorResponse },
})

/** Errors: those of Models. Source: SPEC 3, 16. */
export function addModelRoutes(app: OpenAPIHono<ApiEnv>, { slots, ports: { models } }: ApiContext): void {
  app.openapi(list, async (c) => {
    const rows = await models.list()
    return c.json({ models: rows.map(seenBy(callerOf(c), redactModel)) }, 200)
  })
  app.openapi(add, async (c) => {
    const row = await models.add(c.req.valid('json'))
    return c.json(row, 201, { location: `/api/models/${encodeURIComponent(row.id)}` })
  })
  app.openapi(scan, async (c) => c.json(await models.scan(c.req.valid('json')), 200))
  app.openapi(inspect, async (c) => c.json(await models.inspect(c.req.valid('json').path), 200))
  app.openapi(show, async (c) => {
    const row = await models.show(c.req.valid('param').id)
    return c.json(seenBy(callerOf(c), redactModel)(row), 200)
  })
  app.openapi(update, async (c) => c.json(await models.update(c.req.valid('param').id, c.req.valid('json')), 200))
  app.openapi(remove, async (c) => {
    const { delete_files: deleteFiles = false } = c.req.valid('query')
    const { id } = c.req.valid('param')
    // Only where a slot runs it: the files need not be looked at for every other one.
    if (slots.rows().some((row) => row.model_id === id && row.file_model_id !== id)) {
      const { bound_by } = await models.show(id)
      refuseRunningModel(id, slots.rows(), bound_by)
    }
    return c.json(await models.remove(id, { deleteFiles }), 200)
  })
}
