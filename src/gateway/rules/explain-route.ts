import type { RouteExplanation } from '../../contract/route-explanation.ts'
import type { SlotType } from '../../contract/slot-row.ts'
import { type ErrorCode, errorRegistry } from '../../kernel/error-registry.ts'
import { type Hal0Error } from '../../kernel/errors.ts'
import { checkRoute, type RunnersFor } from './check-route.ts'
import { chooseImageSlot, type ImageRoute } from './choose-image-slot.ts'
import { findByName, isActive, type RouteCandidate } from './find-slot.ts'
import { pathOf, slotTypeFor } from './match-route.ts'
import { compareCandidates, rankOf } from './rank-slots.ts'
import { type RouteDecision, type RouteQuery, resolveRoute } from './resolve-route.ts'
import { IMAGES_PATH, INFERENCE_ROUTES, inferenceRouteOf } from './route-table.ts'

export interface ExplainQuery extends Omit<RouteQuery, 'needs' | 'explain' | 'model'> {
  /** '' = the request names none. */
  readonly model: string
  /** As a client would ask; a query is passed over. */
  readonly path: string
  readonly runnersFor: RunnersFor | undefined
}

type Failure = NonNullable<RouteExplanation['error']>

/** How would a request for this name on this path be answered now? Asks no engine and wakes nothing. Source: SPEC 11 `explain`. */
export function explainRoute({ path: target, runnersFor, ...query }: ExplainQuery): RouteExplanation {
  const path = pathOf(target)
  const { model, rows } = query
  const isImages = path === IMAGES_PATH
  const route = inferenceRouteOf(path)
  const needs = slotTypeFor(path)
  const decision = isImages
    ? chooseImageSlot({ ...query, explain: true })
    : resolveRoute({ ...query, needs, explain: true })
  const chosen = 'slot' in decision ? findByName(decision.slot, rows) : undefined
  const modelId = decision.kind === 'on_demand' ? decision.modelId : chosen?.model_id
  const known = isImages || route !== undefined
  return {
    model,
    path,
    route: known ? { engine_path: route?.enginePath ?? IMAGES_PATH, needs, dialect: route?.dialect ?? 'openai' } : null,
    decision: kindOf(decision),
    slot: 'slot' in decision ? decision.slot : null,
    reason: decision.reason,
    steps: [...decision.steps],
    candidates: rankCandidates(rows, { needs, model, chosen: chosen?.name }),
    would_load: 'slot' in decision && (chosen === undefined || chosen.model_id !== modelId || rankOf(chosen) >= 2),
    error:
      (known ? undefined : noSuchPath(path)) ??
      failureOf(decision) ??
      (route === undefined || chosen === undefined
        ? undefined
        : refusal(checkRoute({ slot: chosen, route, rows, runnersFor }))) ??
      (decision.kind === 'on_demand' || isImages || chosen === undefined || isActive(chosen) ? null : noModel(chosen)),
  }
}

function kindOf(decision: RouteDecision | ImageRoute): RouteExplanation['decision'] {
  if (decision.kind === 'slot') return decision.fallback ? 'fallback' : 'slot'
  return decision.kind === 'on_demand' ? 'on_demand' : 'error'
}

function failed(code: ErrorCode, message: string, remedy?: string, status?: number): Failure {
  const entry = errorRegistry[code]
  return { status: status ?? entry.status, code, message, remedy: remedy ?? entry.remedy }
}

function failureOf(decision: RouteDecision | ImageRoute): Failure | undefined {
  switch (decision.kind) {
    case 'slot':
    case 'on_demand':
      return undefined
    case 'error':
      return failed(decision.code, decision.message, decision.remedy)
    case 'wrong_type':
      return failed('dispatch.route_unsupported', decision.message)
    case 'no_image_slot':
      return failed('gpu.img_slot_missing', decision.message)
  }
}

function refusal(error: Hal0Error | undefined): Failure | undefined {
  if (error === undefined) return undefined
  const remedy = error.details?.['remedy']
  return failed(error.code, error.message, typeof remedy === 'string' ? remedy : undefined)
}

function noSuchPath(path: string): Failure {
  const message = `No name is looked up on ${path}; it is on ${[...INFERENCE_ROUTES.map((one) => one.path), IMAGES_PATH].join(', ')}`
  return failed('request.invalid', message, undefined, 404)
}

function noModel({ name }: RouteCandidate): Failure {
  return failed('slot.not_ready', `slot ${name} has no model`, `Bind one: \`hal0 slot edit ${name} --model ID\`.`)
}

const AVAILABLE = ['serves now', 'a load is under way', 'needs a load', 'cannot serve as it is'] as const

interface Wish {
  readonly needs: SlotType
  readonly model: string
  readonly chosen: string | undefined
}

function rankCandidates(rows: readonly RouteCandidate[], wish: Wish): RouteExplanation['candidates'] {
  const order = (row: RouteCandidate): number => (row.name === wish.chosen ? 0 : fits(row, wish) ? 1 : 2)
  return rows
    .toSorted((a, b) => order(a) - order(b) || compareCandidates(a, b))
    .map((row) => ({
      slot: row.name,
      state: row.state,
      type: row.type,
      model_id: row.model_id,
      in_flight: row.in_flight,
      reason: [...tellFit(row, wish), ...(isActive(row) ? [AVAILABLE[rankOf(row)]] : [])].join(', '),
    }))
}

function fits(row: RouteCandidate, { needs, model }: Wish): boolean {
  return isActive(row) && row.type === needs && (model === '' || row.model_id === model)
}

function tellFit(row: RouteCandidate, { needs, model, chosen }: Wish): readonly string[] {
  const says: string[] = []
  if (row.name === chosen) says.push('chosen')
  if (!isActive(row)) says.push('has no model')
  else if (model !== '' && row.model_id === model) says.push('bound to the model')
  if (row.type !== needs) says.push(`of type ${row.type}, not ${needs}`)
  if (row.default) says.push(`the default for ${row.type}`)
  return says
}
