import { missingProgramIn } from '../../contract/missing-program.ts'
import type { RouteExplanation } from '../../contract/route-explanation.ts'
import { checkRoute, type RunnersFor, unsupportedError } from './check-route.ts'
import { chooseImageSlot, type ImageRoute } from './choose-image-slot.ts'
import { rankCandidates } from './explain-candidates.ts'
import { type Failure, failed, failureOf, laneFailure, startFailure } from './explain-failure.ts'
import { explainUpstream } from './explain-upstream.ts'
import { findByName, type RouteCandidate } from './find-slot.ts'
import { KNOWN_PATHS, matchRoute, pathOf, slotTypeFor } from './match-route.ts'
import { rankOf } from './rank-slots.ts'
import { type RouteDecision, type RouteQuery, resolveRoute } from './resolve-route.ts'
import { IMAGES_PATH, IMAGES_ROUTE, type InferenceRoute, inferenceRouteOf } from './route-table.ts'

export interface ExplainQuery extends Omit<RouteQuery, 'needs' | 'explain' | 'model'> {
  /** '' = the request names none. */
  readonly model: string
  /** As a client would ask; a query is passed over. */
  readonly path: string
  readonly runnersFor: RunnersFor | undefined
  /** Why a start of the slot would fail, as far as its files say (`config_problem`); null = it would not. Absent = nobody knows. */
  readonly problemOf?: (slot: string) => string | null
}

const NO_PROBLEM = (): null => null

/** How would a request for this name on this path be answered now? Asks no engine and wakes nothing. Source: SPEC 11 `explain`. */
export function explainRoute(asked: ExplainQuery): RouteExplanation {
  const { path: target, runnersFor, problemOf = NO_PROBLEM, ...query } = asked
  const path = pathOf(target)
  const { model, rows, lanes } = query
  const match = matchRoute('POST', target)
  if (match.kind === 'upstream') return explainUpstream({ path, model, match, rows, problemOf, lanes })
  const isImages = path === IMAGES_PATH
  const route = isImages ? IMAGES_ROUTE : inferenceRouteOf(path)
  const needs = slotTypeFor(path)
  const decision = isImages
    ? chooseImageSlot({ ...query, explain: true })
    : resolveRoute({ ...query, needs, explain: true })
  const chosen = 'slot' in decision ? findByName(decision.slot, rows) : undefined
  const standing = chosen === undefined ? undefined : lanes?.standing(chosen.name)
  const modelId = decision.kind === 'on_demand' ? decision.modelId : chosen?.model_id
  const refusalOf = (slot: RouteCandidate, on: InferenceRoute) => checkRoute({ slot, route: on, rows, runnersFor })
  const answers = (row: RouteCandidate): boolean => route === undefined || refusalOf(row, route) === undefined
  return {
    model,
    path,
    route: route === undefined ? null : { engine_path: route.enginePath, needs, dialect: route.dialect },
    decision: kindOf(decision),
    slot: 'slot' in decision ? decision.slot : null,
    reason: decision.reason,
    steps: [...decision.steps],
    candidates: rankCandidates(rows, { path, needs, model, chosen: chosen?.name, answers, problemOf, lanes }),
    would_load:
      standing === undefined &&
      'slot' in decision &&
      (chosen === undefined || chosen.model_id !== modelId || rankOf(chosen) >= 2),
    error:
      (route === undefined ? noSuchPath(path) : undefined) ??
      failureOfDecision(decision, { rows, runnersFor }) ??
      (route === undefined || chosen === undefined ? undefined : failureOf(refusalOf(chosen, route))) ??
      (chosen === undefined || standing === undefined ? undefined : laneFailure(chosen, standing)) ??
      (chosen === undefined || standing !== undefined
        ? undefined
        : startOf(chosen, decision, problemOf(chosen.name))) ??
      null,
  }
}

function startOf(chosen: RouteCandidate, decision: RouteDecision | ImageRoute, problem: string | null) {
  if (decision.kind !== 'on_demand') return startFailure(chosen, problem)
  // What is wrong with the file's model need not be with this one; a program that is missing is missing for every model.
  const counts = missingProgramIn(problem) === undefined ? null : problem
  return startFailure({ ...chosen, model_id: decision.modelId }, counts)
}

function kindOf(decision: RouteDecision | ImageRoute): RouteExplanation['decision'] {
  if (decision.kind === 'slot') return decision.fallback ? 'fallback' : 'slot'
  return decision.kind === 'on_demand' ? 'on_demand' : 'error'
}

function failureOfDecision(
  decision: RouteDecision | ImageRoute,
  among: Pick<ExplainQuery, 'rows' | 'runnersFor'>,
): Failure | undefined {
  switch (decision.kind) {
    case 'slot':
    case 'on_demand':
      return undefined
    case 'error':
      return failed(decision.code, decision.message, decision.remedy)
    case 'wrong_type':
      return failureOf(unsupportedError({ slot: decision.named, route: IMAGES_ROUTE, ...among }))
    case 'no_image_slot':
      return failed('gpu.img_slot_missing', decision.message)
  }
}

function noSuchPath(path: string): Failure {
  const message = `No name is looked up on ${path}; there are ${KNOWN_PATHS.join(', ')}`
  return failed('request.invalid', message, undefined, 404)
}
