import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { slotListSchema } from '../contract/lists.ts'
import { type SlotRow, slotRowSchema } from '../contract/slot-row.ts'
import { type SlotStateRecord, slotStateRecordSchema } from '../contract/slot-state.ts'
import { requireRow } from '../slots/slot-manager.ts'
import { type ApiContext, type ApiEnv, callerOf } from './api-context.ts'
import { slotNameParams } from './query.ts'
import { errorResponse, jsonAnswer } from './responses.ts'
import { redactSlot } from './rules/redact-slot.ts'
import { seenBy } from './seen-by.ts'

const list = createRoute({
  method: 'get',
  path: '/api/slots',
  tags: ['slots'],
  summary: 'All slots, in name order',
  responses: { 200: jsonAnswer(slotListSchema, 'One row per slot.'), ...errorResponse },
})

const show = createRoute({
  method: 'get',
  path: '/api/slots/{name}',
  tags: ['slots'],
  summary: 'One slot',
  request: { params: slotNameParams },
  responses: { 200: jsonAnswer(slotRowSchema, 'The slot.'), ...errorResponse },
})

const showState = createRoute({
  method: 'get',
  path: '/api/slots/{name}/state',
  tags: ['slots'],
  summary: 'The state of one slot',
  request: { params: slotNameParams },
  responses: { 200: jsonAnswer(slotStateRecordSchema, 'The state record.'), ...errorResponse },
})

/** Reading slots wakes and counts nothing. Source: SPEC 16, CASES 11. */
export function addSlotRoutes(app: OpenAPIHono<ApiEnv>, { slots }: ApiContext): void {
  app.openapi(list, (c) => c.json({ slots: slots.rows().map(seenBy(callerOf(c), redactSlot)) }, 200))
  app.openapi(show, (c) => {
    const row = requireRow(slots, c.req.valid('param').name)
    return c.json(seenBy(callerOf(c), redactSlot)(row), 200)
  })
  app.openapi(showState, (c) => {
    const row = requireRow(slots, c.req.valid('param').name)
    return c.json(stateRecord(seenBy(callerOf(c), redactSlot)(row)), 200)
  })
}

/** The wire form of SlotStateRecord, without what only the daemon needs (process, attempt). Source: SPEC 4. */
export function stateRecord(row: SlotRow): SlotStateRecord {
  const { name, state, model_id, port, updated_at, message, idle_reason, failure } = row
  const extra = { ...(idle_reason === null ? {} : { idle_reason }), ...(failure === null ? {} : { failure }) }
  return { name, state, model_id, port, updated_at, message, extra }
}
