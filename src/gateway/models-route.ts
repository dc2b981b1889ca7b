import type { SlotRow } from '../contract/slot-row.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { SECOND_MS } from '../kernel/units.ts'
import { sendJson } from './answer.ts'
import type { Exchange } from './exchange.ts'
import { resolveRoute, shortened } from './rules/resolve-route.ts'
import type { GatewaySettings } from './settings.ts'

/** One entry of GET /v1/models. Source: SPEC 11. */
interface ModelEntry {
  readonly id: string
  readonly object: 'model'
  /** Epoch seconds, as OpenAI has it. */
  readonly created: number
  readonly owned_by: 'hal0'
  readonly hal0: { readonly model: string | null; readonly state: string; readonly type: string }
}

/** Each slot that has a model, once, under its name. Reads what is known; wakes nothing. */
export function sendModels(exchange: Exchange, rows: readonly SlotRow[], startedMs: number): void {
  const data = rows.filter((row) => row.model_id !== null).map((row) => entryOf(row, row.name, startedMs))
  sendJson(exchange, 200, { object: 'list', data })
}

/**
 * One entry: the slot that would answer a request for this very name (`hal0/NAME` and the ids of bound models resolve although they are
 * not listed). A name that only the fallback would serve does not exist. Errors: `model_not_found`.
 */
export function sendModel(
  exchange: Exchange,
  id: string,
  rows: readonly SlotRow[],
  startedMs: number,
  unknownModel: GatewaySettings['unknownModel'],
): void {
  const decision = resolveRoute({ model: id, rows, unknownModel })
  const slot = decision.kind === 'slot' && !decision.fallback ? decision.slot : undefined
  const row = rows.find((candidate) => candidate.name === slot && candidate.model_id !== null)
  if (row === undefined || id === '') {
    throw Hal0Error.of('model_not_found', `The model "${shortened(id)}" does not exist here`, { param: 'model' })
  }
  sendJson(exchange, 200, entryOf(row, id, startedMs))
}

function entryOf(row: SlotRow, id: string, startedMs: number): ModelEntry {
  return {
    id,
    object: 'model',
    created: Math.floor(startedMs / SECOND_MS),
    owned_by: 'hal0',
    hal0: { model: row.model_id, state: row.state, type: row.type },
  }
}
