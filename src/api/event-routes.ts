import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { eventListSchema } from '../contract/lists.ts'
import type { Resync } from '../contract/resync.ts'
import { type ApiContext, type ApiEnv, type ApiRequest, isHead } from './api-context.ts'
import { mayRead } from './gate.ts'
import { numberParam } from './query.ts'
import { errorResponse, eventStream } from './responses.ts'
import { openSse } from './sse-channel.ts'

const DEFAULT_EVENTS = 100
const MAX_EVENTS = 1_000

const route = createRoute({
  method: 'get',
  path: '/api/events',
  tags: ['system'],
  summary: 'What happened, as a list or as a stream',
  description: [
    'JSON: the newest `limit` events, newest last. With `Accept: text/event-stream`: each event as it happens (the id is the',
    'event’s), after those that are kept behind `Last-Event-ID`. An event whose id was seen before is that row, changed (an error',
    'that repeats is folded, `data.count` says how often). `event: resync`: something was missed, read the lists afresh.',
  ].join(' '),
  request: {
    query: z.strictObject({
      limit: numberParam({
        min: 1,
        max: MAX_EVENTS,
        whole: true,
        description: `JSON only; default ${DEFAULT_EVENTS}.`,
      }).optional(),
    }),
  },
  responses: {
    200: {
      description: 'The events.',
      content: { 'application/json': { schema: eventListSchema }, 'text/event-stream': eventStream },
    },
    ...errorResponse,
  },
})

/** Source: SPEC 16, 17. */
export function addEventRoutes(app: OpenAPIHono<ApiEnv>, context: ApiContext): void {
  app.openapi(route, (c) => {
    if (/\btext\/event-stream\b/i.test(c.req.header('accept') ?? '')) return streamEvents(c, context)
    return c.json({ events: [...context.bus.recent(c.req.valid('query').limit ?? DEFAULT_EVENTS)] }, 200)
  })
}

function streamEvents(c: ApiRequest, { bus, clock, closing }: ApiContext): Response {
  const channel = openSse({ clock, closing, headersOnly: isHead(c), mayRead: mayRead(c) })
  if (channel.ended.aborted) return channel.response
  const afterId = lastEventId(c)
  let lastId = 0
  const subscription = channel.sendBacklog(() =>
    bus.subscribe({
      ...(afterId === undefined ? {} : { afterId }),
      onEvent(event) {
        // A changed row has an old id: it must not move the reader's Last-Event-ID back.
        channel.send(event.id > lastId ? { id: event.id, data: event } : { data: event })
        lastId = Math.max(lastId, event.id)
      },
      onGap: () => channel.send({ event: 'resync', data: { reason: 'gap' } satisfies Resync }),
    }),
  )
  channel.ended.addEventListener('abort', () => subscription.close(), { once: true })
  return channel.response
}

/** What is no id of ours is one that nobody knows: the reader is told of a gap. Undefined = a new reader. */
function lastEventId(c: ApiRequest): number | undefined {
  const text = c.req.header('last-event-id')
  if (text === undefined || text === '') return undefined
  return /^\d{1,16}$/.test(text) ? Number(text) : Number.MAX_SAFE_INTEGER
}
