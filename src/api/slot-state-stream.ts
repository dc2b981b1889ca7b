import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { requireRow } from '../slots/slot-manager.ts'
import { type ApiContext, type ApiEnv, callerOf, isHead } from './api-context.ts'
import { mayRead } from './gate.ts'
import { slotNameParams } from './query.ts'
import { errorResponse, eventStream } from './responses.ts'
import { redactSlot } from './rules/redact-slot.ts'
import { seenBy } from './seen-by.ts'
import { stateRecord } from './slot-routes.ts'
import { openSse } from './sse-channel.ts'

const route = createRoute({
  method: 'get',
  path: '/api/slots/{name}/state/stream',
  tags: ['slots'],
  summary: 'The state of one slot, now and at each change',
  description: '`event: state` with the record of GET …/state. Ends when the slot is deleted or the daemon stops.',
  request: { params: slotNameParams },
  responses: {
    200: { description: 'text/event-stream', content: { 'text/event-stream': eventStream } },
    ...errorResponse,
  },
})

/** Level-triggered: an event of the slot only says "look"; what is sent is the row as it is then. Source: SPEC 16. */
export function addSlotStateStream(app: OpenAPIHono<ApiEnv>, { slots, bus, clock, closing }: ApiContext): void {
  app.openapi(route, (c) => {
    const { name } = c.req.valid('param')
    requireRow(slots, name)
    const isWelcome = mayRead(c)
    let lastSent = ''

    function look(): void {
      // Also so that who is no admin any more is told what members are told.
      if (!isWelcome()) return channel.end()
      const row = slots.row(name)
      if (row === undefined) return channel.end()
      const record = stateRecord(seenBy(callerOf(c), redactSlot)(row))
      const text = JSON.stringify(record)
      if (text === lastSent) return
      lastSent = text
      channel.send({ event: 'state', data: record })
    }

    const channel = openSse({
      clock,
      closing,
      headersOnly: isHead(c),
      mayRead: isWelcome,
      onResync() {
        lastSent = ''
        look()
      },
    })
    if (channel.ended.aborted) return channel.response
    const subscription = bus.subscribe({
      onEvent(event) {
        if (event.source !== `slot:${name}`) return
        look()
        // The publisher may be about to change the row it speaks of.
        queueMicrotask(look)
      },
    })
    channel.ended.addEventListener('abort', () => subscription.close(), { once: true })
    look()
    return channel.response
  })
}
