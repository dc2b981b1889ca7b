import { isDispatchable } from '../../contract/slot-row.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import { sendJson } from '../answer.ts'
import type { Exchange } from '../exchange.ts'
import { findByName, isActive, type RouteCandidate } from '../rules/find-slot.ts'
import { type RouteQuery, resolveRoute, shortened } from '../rules/resolve-route.ts'

/** One entry of GET /v1/models. Source: SPEC 11. */
interface ModelEntry {
  readonly id: string
  readonly object: 'model'
  /** Epoch seconds, as OpenAI has it. */
  readonly created: number
  readonly owned_by: 'hal0'
  /** `model`: null = the engine brings its own. */
  readonly hal0: { readonly model: string | null; readonly state: string; readonly type: string }
}

/** What there is to be listed. */
export interface Catalog extends Pick<RouteQuery, 'rows' | 'registered' | 'onDemandSlot' | 'unknownModel'> {
  /** When the gateway was made, epoch ms. */
  readonly startedMs: number
  /** Why a start of this slot would fail; null = it would not. Absent = nobody knows: then an engine that brings its model is listed while it runs. */
  readonly problemOf?: (slot: string) => string | null
  /** Absent = there are no lanes. */
  readonly isLane?: (slot: string) => boolean
}

/**
 * Each slot that could answer, under its name and then under its aliases, then the registered models that can be served; no name
 * twice. Reads what is known; wakes nothing.
 */
export function sendModels(exchange: Exchange, catalog: Catalog): void {
  const listed = catalog.rows.filter((row) => isListed(row, catalog))
  const entries = new Map<string, ModelEntry>()
  for (const row of listed) entries.set(row.name, entryOfSlot(row.name, row, catalog))
  for (const row of listed) {
    for (const alias of row.aliases) if (!entries.has(alias)) entries.set(alias, entryOfSlot(alias, row, catalog))
  }
  for (const id of [...catalog.registered].toSorted()) {
    const entry = entries.has(id) ? undefined : entryOf(id, catalog)
    if (entry !== undefined) entries.set(id, entry)
  }
  sendJson(exchange, 200, { object: 'list', data: [...entries.values()] })
}

/**
 * One entry: what would answer a request for this very name (`hal0/NAME` and the ids of bound models resolve although they are
 * not listed). A name that only the fallback would serve does not exist. Errors: `model_not_found`.
 */
export function sendModel(exchange: Exchange, id: string, catalog: Catalog): void {
  const entry = entryOf(id, catalog)
  if (entry === undefined || id === '') {
    throw Hal0Error.of('model_not_found', `The model "${shortened(id)}" does not exist here`, { param: 'model' })
  }
  sendJson(exchange, 200, entry)
}

/**
 * Slots for speech are there from the start, their engines often are not: a list must not promise what nobody installed. A lane is there whatever its
 * timetable says at the moment.
 */
function isListed(row: RouteCandidate, { problemOf, isLane }: Catalog): boolean {
  if (row.model_id !== null || isLane?.(row.name) === true) return true
  return isActive(row) && (isDispatchable(row) || problemOf?.(row.name) === null)
}

function entryOfSlot(id: string, { model_id: model, state, type }: RouteCandidate, catalog: Catalog): ModelEntry {
  return entryWith(id, { model, state, type }, catalog)
}

function entryWith(id: string, hal0: ModelEntry['hal0'], { startedMs }: Catalog): ModelEntry {
  return { id, object: 'model', created: Math.floor(startedMs / SECOND_MS), owned_by: 'hal0', hal0 }
}

/** Undefined = no slot answers under this name, or only one that stands in. */
function entryOf(id: string, catalog: Catalog): ModelEntry | undefined {
  const decision = resolveRoute({ ...catalog, model: id, needs: 'llm' })
  if (decision.kind === 'error' || (decision.kind === 'slot' && decision.fallback)) return undefined
  const row = findByName(decision.slot, catalog.rows)
  if (decision.kind === 'on_demand' && row?.model_id !== decision.modelId) {
    return entryWith(id, { model: decision.modelId, state: 'offline', type: row?.type ?? 'llm' }, catalog)
  }
  return row === undefined || !isListed(row, catalog) ? undefined : entryOfSlot(id, row, catalog)
}
