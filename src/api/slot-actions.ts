import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { DEFAULT_DRAIN_S, MAX_DRAIN_S } from '../contract/limits.ts'
import { type Operation, type OperationKind, operationSchema } from '../contract/operation.ts'
import { slotSwapSchema } from '../contract/slot-config.ts'
import { type SlotRow, slotRowSchema } from '../contract/slot-row.ts'
import { sleep } from '../kernel/clock.ts'
import { HOUR_MS, SECOND_MS } from '../kernel/units.ts'
import type { ApiContext, ApiEnv } from './api-context.ts'
import { jsonBody, readJsonBody } from './json-body.ts'
import { flagParam, numberParam, slotNameParams } from './query.ts'
import { refuseLaneSlot } from './refuse-lane-slot.ts'
import { errorResponse, jsonAnswer } from './responses.ts'

const MAX_WAIT_S = (24 * HOUR_MS) / SECOND_MS

const wait = numberParam({
  min: 0,
  max: MAX_WAIT_S,
  description:
    'Bounds the wait in seconds; the operation goes on. 0 = answer at once. Absent = wait for the end state.',
}).optional()
/** `?drain_s=` of every route that stops a slot. */
export const drainParam = numberParam({
  min: 0,
  max: MAX_DRAIN_S,
  description: `Running requests may take so many seconds more, then they are cut; 0 cuts at once. Default ${DEFAULT_DRAIN_S}.`,
}).optional()

function actionRoute<Kind extends OperationKind, Query extends z.ZodObject>(kind: Kind, query: Query, summary: string) {
  return createRoute({
    method: 'post',
    path: `/api/slots/{name}/${kind}` as const,
    tags: ['slots'],
    summary,
    request: { params: slotNameParams, query },
    responses: {
      200: jsonAnswer(slotRowSchema, 'The end state.'),
      202: jsonAnswer(operationSchema, 'It still runs: GET /api/operations/{id}.'),
      ...errorResponse,
    },
  })
}

const loadRoute = actionRoute('load', z.strictObject({ wait }), 'Load: no-op when it serves, joins a running load')
const stopQuery = z.strictObject({ wait, drain_s: drainParam })
const unloadQuery = stopQuery.extend({ force: flagParam('true: also a pinned slot.').optional() })
const unloadRoute = actionRoute('unload', unloadQuery, 'Unload: drain, then stop')
const restartRoute = actionRoute('restart', stopQuery, 'Unload, then load; also from error and offline')

const swapRoute = createRoute({
  ...actionRoute('swap', stopQuery, 'Run another model, with the profile it prefers if that fits the slot'),
  middleware: readJsonBody(slotSwapSchema),
  request: {
    params: slotNameParams,
    query: stopQuery,
    body: jsonBody(slotSwapSchema, 'Without `persist` the binding holds until the slot is unloaded.'),
  },
})

/** The stop that `?drain_s=` asks for; undefined = the default. */
export function drainMsOf(seconds: number | undefined): number {
  return (seconds ?? DEFAULT_DRAIN_S) * SECOND_MS
}

/** A caller that leaves cancels nothing. Errors: `lane.slot_managed`, those of Slots.load, unload, restart and SlotAdmin.swap. Source: SPEC 4 "Operations", 16 "?wait=". */
export function addSlotActions(app: OpenAPIHono<ApiEnv>, context: ApiContext): void {
  const { slots, operations, clock, ports } = context

  type Answer = { readonly row: SlotRow } | { readonly operation: Operation }

  async function act(
    kind: OperationKind,
    name: string,
    waitS: number | undefined,
    run: () => Promise<SlotRow>,
  ): Promise<Answer> {
    // Also for wait=0, where nobody would be told later.
    refuseLaneSlot(slots, name)
    const begun = operations.begin(kind, name, run)
    if (waitS === 0) return { operation: begun.now() }
    const stopWaiting = new AbortController()
    const elapsed =
      waitS === undefined ? new Promise<never>(() => {}) : sleep(clock, waitS * SECOND_MS, stopWaiting.signal)
    const outcome = await Promise.race([begun.outcome, elapsed])
    stopWaiting.abort()
    if (outcome === undefined) return { operation: begun.now() }
    if (!outcome.ok) throw outcome.error
    return { row: outcome.value }
  }

  const stopRequest = (seconds: number | undefined) => ({ drainMs: drainMsOf(seconds) })
  const location = (operation: Operation) => ({ location: `/api/operations/${operation.id}` })

  app.openapi(loadRoute, async (c) => {
    const { name } = c.req.valid('param')
    const answer = await act('load', name, c.req.valid('query').wait, () => slots.load(name))
    return 'row' in answer ? c.json(answer.row, 200) : c.json(answer.operation, 202, location(answer.operation))
  })
  app.openapi(unloadRoute, async (c) => {
    const { name } = c.req.valid('param')
    const query = c.req.valid('query')
    const request = { ...stopRequest(query.drain_s), force: query.force ?? false }
    const answer = await act('unload', name, query.wait, () => slots.unload(name, request))
    return 'row' in answer ? c.json(answer.row, 200) : c.json(answer.operation, 202, location(answer.operation))
  })
  app.openapi(restartRoute, async (c) => {
    const { name } = c.req.valid('param')
    const query = c.req.valid('query')
    const answer = await act('restart', name, query.wait, () => slots.restart(name, stopRequest(query.drain_s)))
    return 'row' in answer ? c.json(answer.row, 200) : c.json(answer.operation, 202, location(answer.operation))
  })
  app.openapi(swapRoute, async (c) => {
    const { name } = c.req.valid('param')
    const query = c.req.valid('query')
    const { model_id: modelId, persist = false } = c.req.valid('json')
    const request = { modelId, persist, ...stopRequest(query.drain_s) }
    const answer = await act('swap', name, query.wait, () => ports.admin.swap(name, request))
    return 'row' in answer ? c.json(answer.row, 200) : c.json(answer.operation, 202, location(answer.operation))
  })
}
