import type { SlotRow } from '../../contract/slot-row.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { swappedModelText } from '../slot-words.ts'

/** `hal0 slot show NAME`. JSON: the row of GET /api/slots/NAME. */
export async function slotShow(name: string, globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const row = await (await connect(globals)).slots.show(name)
  output.result(row, () => output.table(['KEY', 'VALUE'], rowLines(row)))
}

/** Key and value lines; what is unknown or empty is left out. */
function rowLines(row: SlotRow): string[][] {
  const { failure, phases, restart_needed, config_drift, ...facts } = row
  const lines = Object.entries({ ...facts, model_id: swappedModelText(row) ?? row.model_id }).map(([key, value]) => [
    key,
    value === null ? '' : Array.isArray(value) ? value.join(', ') : String(value),
  ])
  if (restart_needed.length > 0) {
    lines.push(['restart_needed', `${restart_needed.join(', ')} (hal0 slot restart ${row.name} applies it)`])
  }
  lines.push(['config_drift', config_drift.join(', ')])
  if (phases !== null) {
    lines.push([
      'last load',
      Object.entries(phases)
        .map(([phase, ms]) => `${phase} ${Math.round(ms)} ms`)
        .join(', '),
    ])
  }
  if (failure !== null) {
    lines.push(['failure', `${failure.message} (${failure.code})`])
    lines.push(['engine said', failure.line ?? ''])
    lines.push(['remedy', failure.remedy])
  }
  return lines.filter(([, value]) => value !== '')
}
