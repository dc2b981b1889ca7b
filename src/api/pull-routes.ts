import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { MODEL_ID_PATTERN, MODEL_ID_RULE } from '../contract/names.ts'
import { pullJobSchema, pullListSchema, pullRequestSchema } from '../contract/pull.ts'
import { type ApiContext, type ApiEnv, isHead } from './api-context.ts'
import { mayRead } from './gate.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { MODEL_ID_DOCS, modelIdParams } from './query.ts'
import { errorResponse, eventStream, jsonAnswer } from './responses.ts'
import { openSse, type SseChannel } from './sse-channel.ts'

const tags = ['models']

/** A pull may make a new model, so its id has to be one. */
const newIdParams = z.object({
  id: z.string().regex(MODEL_ID_PATTERN, `expected ${MODEL_ID_RULE}`).openapi(MODEL_ID_DOCS),
})

const list = createRoute({
  method: 'get',
  path: '/api/pulls',
  tags,
  summary: 'Downloads that run, and the last finished one of each model; newest first',
  responses: { 200: jsonAnswer(pullListSchema, 'One job per model.'), ...errorResponse },
})

const start = createRoute({
  method: 'post',
  path: '/api/models/{id}/pull',
  tags,
  summary: 'Download a model, or take up what an earlier download left',
  description: 'The job goes on whoever watches it.',
  middleware: readJsonBody(pullRequestSchema, { isOptional: true }),
  request: {
    params: newIdParams,
    body: {
      ...jsonBody(pullRequestSchema, 'Without `repo`: the `hf_repo` of the model. Without `file`: chosen by `quant`.'),
      required: false,
    },
  },
  responses: { 202: jsonAnswer(pullJobSchema, 'The job, running.'), ...errorResponse },
})

const show = createRoute({
  method: 'get',
  path: '/api/models/{id}/pull',
  tags,
  summary: 'How far a download is',
  request: { params: modelIdParams },
  responses: { 200: jsonAnswer(pullJobSchema, 'The job.'), ...errorResponse },
})

const stream = createRoute({
  method: 'get',
  path: '/api/models/{id}/pull/stream',
  tags,
  summary: 'A download as it goes on',
  description: '`event: pull` with the job: now, then at each change, at most four times a second. Ends with the job.',
  request: { params: modelIdParams },
  responses: {
    200: { description: 'text/event-stream', content: { 'text/event-stream': eventStream } },
    ...errorResponse,
  },
})

const cancel = createRoute({
  method: 'delete',
  path: '/api/models/{id}/pull',
  tags,
  summary: 'Stop a download; what is on disk stays for the next one',
  request: { params: modelIdParams },
  responses: { 200: jsonAnswer(pullJobSchema, 'The job as it ended.'), ...errorResponse },
})

/** Errors: those of Pulls. Source: SPEC 16. */
export function addPullRoutes(app: OpenAPIHono<ApiEnv>, { ports: { pulls }, clock, closing, log }: ApiContext): void {
  app.openapi(list, (c) => c.json({ pulls: [...pulls.list()] }, 200))
  app.openapi(start, async (c) => {
    const { id } = c.req.valid('param')
    const job = await pulls.start(id, c.req.valid('json'))
    return c.json(job, 202, { location: `/api/models/${encodeURIComponent(id)}/pull` })
  })
  app.openapi(show, (c) => c.json(pulls.show(c.req.valid('param').id), 200))
  app.openapi(stream, (c) => {
    const { id } = c.req.valid('param')
    pulls.show(id)
    const channel = openSse({ clock, closing, headersOnly: isHead(c), mayRead: mayRead(c) })
    if (!channel.ended.aborted) {
      pump(id, channel).catch((thrown: unknown) => {
        log.error({ model: id, err: thrown }, 'following the pull of a model failed')
        channel.end()
      })
    }
    return channel.response
  })
  app.openapi(cancel, async (c) => c.json(await pulls.cancel(c.req.valid('param').id), 200))

  /** A slow reader is not given what is old by then: the next job is asked for when it has taken the last. */
  async function pump(id: string, channel: SseChannel): Promise<void> {
    for await (const job of pulls.follow(id, channel.ended)) {
      channel.send({ event: 'pull', data: job })
      await channel.drained()
    }
    channel.end()
  }
}
