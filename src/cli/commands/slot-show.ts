import type { LoadRecord } from '../../contract/load-record.ts'
import type { SlotRow } from '../../contract/slot-row.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { bytesText } from '../size-text.ts'
import { hasContext, heldText, phasesText, swappedModelText } from '../slot-words.ts'

/** How many loads are shown: enough to see whether the last one was an exception. */
const SHOWN_LOADS = 5

/** `hal0 slot show NAME`. JSON: the row of GET /api/slots/NAME, and `loads`, its last ones. */
export async function slotShow(name: string, globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const { slots } = await connect(globals)
  const row = await slots.show(name)
  const loads = await slots.loads(name, { limit: SHOWN_LOADS })
  output.result({ ...row, loads }, () =>
    output.table(['KEY', 'VALUE'], [...rowLines(row, loads), ...loads.map(loadLine)]),
  )
}

/** Key and value lines; what is unknown or empty is left out. */
function rowLines(row: SlotRow, loads: readonly LoadRecord[]): string[][] {
  const { failure, phases, restart_needed, config_drift, breaker, mem_bytes, ...rest } = row
  const held = heldText(row)
  const facts = hasContext(row) ? rest : { ...rest, ctx_effective: null, ctx_source: null }
  const lines = Object.entries({ ...facts, model_id: swappedModelText(row) ?? row.model_id }).map(([key, value]) => [
    key,
    value === null ? '' : Array.isArray(value) ? value.join(', ') : String(value),
  ])
  lines.push(['memory', mem_bytes === null ? '' : bytesText(mem_bytes)])
  lines.push(['breaker', held === undefined ? '' : breakerLine(row.name, held, breaker?.retry_after_s ?? 0)])
  if (restart_needed.length > 0) {
    lines.push(['restart_needed', `${restart_needed.join(', ')} (hal0 slot restart ${row.name} applies it)`])
  }
  lines.push(['config_drift', config_drift.join(', ')])
  // The loads say the same of it, and more, where they are known.
  lines.push(['last load', phases === null || loads.length > 0 ? '' : phasesText(phases)])
  if (failure !== null) {
    lines.push(['failure', `${failure.message} (${failure.code})`])
    lines.push(['engine said', failure.line ?? ''])
    lines.push(['remedy', failure.remedy])
  }
  return lines.filter(([, value]) => value !== '')
}

/** While starts are held back, with what a person can do. */
function breakerLine(slot: string, text: string, retryAfterS: number): string {
  return retryAfterS > 0 ? `${text} (hal0 slot load ${slot} tries at once)` : text
}

/** One load that has ended, and how. */
function loadLine({ begun_at, outcome, code, took_ms, model_id, phases }: LoadRecord): string[] {
  const end = code === null ? outcome : `${outcome} (${code})`
  const parts = phasesText(phases)
  const model = model_id === null ? '' : ` ${model_id}`
  return ['load', `${begun_at}${model}: ${end} after ${took_ms} ms${parts === '' ? '' : ` (${parts})`}`]
}
