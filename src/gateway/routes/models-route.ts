import type { SlotRow } from '../../contract/slot-row.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import { sendJson } from '../answer.ts'
import type { Exchange } from '../exchange.ts'
import { type RouteQuery, resolveRoute, shortened } from '../rules/resolve-route.ts'

/** One entry of GET /v1/models. Source: SPEC 11. */
interface ModelEntry {
  readonly id: string
  readonly object: 'model'
  /** Epoch seconds, as OpenAI has it. */
  readonly created: number
  readonly owned_by: 'hal0'
  readonly hal0: { readonly model: string | null; readonly state: string; readonly type: string }
}

/** What there is to be listed. */
export interface Catalog extends Pick<RouteQuery, 'registered' | 'onDemandSlot' | 'unknownModel'> {
  readonly rows: readonly SlotRow[]
  /** When the gateway was made, epoch ms. */
  readonly startedMs: number
}

/**
 * Each slot that has a model, under its name and then under its aliases, then the registered models that can be served; no name
 * twice. Reads what is known; wakes nothing.
 */
export function sendModels(exchange: Exchange, catalog: Catalog): void {
  const active = catalog.rows.filter((row) => row.model_id !== null)
  const names = [
    ...active.map((row) => row.name),
    ...active.flatMap((row) => row.aliases),
    ...[...catalog.registered].toSorted(),
  ]
  const data = [...new Set(names)].flatMap((name) => entryOf(name, catalog) ?? [])
  sendJson(exchange, 200, { object: 'list', data })
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

/** Undefined = no slot answers under this name, or only one that stands in. */
function entryOf(id: string, catalog: Catalog): ModelEntry | undefined {
  const { rows, startedMs } = catalog
  const decision = resolveRoute({ ...catalog, model: id, needs: 'llm' })
  if (decision.kind === 'error' || (decision.kind === 'slot' && decision.fallback)) return undefined
  const row = rows.find((candidate) => candidate.name === decision.slot)
  const base = { id, object: 'model', created: Math.floor(startedMs / SECOND_MS), owned_by: 'hal0' } as const
  if (decision.kind === 'on_demand' && row?.model_id !== decision.modelId) {
    return { ...base, hal0: { model: decision.modelId, state: 'offline', type: row?.type ?? 'llm' } }
  }
  if (row === undefined || row.model_id === null) return undefined
  return { ...base, hal0: { model: row.model_id, state: row.state, type: row.type } }
}
