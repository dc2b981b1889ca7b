import type { SlotRow } from '../../contract/slot-row.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { heldText, sleepingText, swappedModelText } from '../slot-words.ts'

const HEAD = [
  'NAME',
  'STATE',
  'MODEL',
  'PROFILE',
  'RUNNER',
  'DEVICE',
  'PORT',
  'IN FLIGHT',
  'QUEUED',
  'MESSAGE',
] as const

/** `hal0 slot list`. JSON: `{slots: [row, …]}`, the rows of GET /api/slots. */
export async function slotList(globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const slots = await (await connect(globals)).slots.list()
  output.result({ slots }, () =>
    slots.length === 0 && process.stdout.isTTY ? 'no slots' : output.table(HEAD, slots.map(cells)),
  )
}

function cells(row: SlotRow): string[] {
  const { name, state, model_id, profile, runner, device, port, in_flight, queued } = row
  return [
    name,
    state,
    model_id ?? '-',
    profile ?? '-',
    runner,
    device,
    String(port ?? '-'),
    String(in_flight),
    String(queued),
    remark(row),
  ]
}

/** Who decides what it runs, where that is nobody's own wish. */
const MANAGED = { arbiter: 'unloaded for images, comes back', lane: 'run by its lane', nobody: '' } as const

/** What a person should know first: whether starts are held back, or images have its memory, why it cannot start, or failed, else what waits for a restart; and which model is not the file's. */
function remark(row: SlotRow): string {
  const { failure, message, restart_needed, config_problem } = row
  const said = sleepingText(row) ?? config_problem ?? failure?.message ?? message
  const pending = restart_needed.length === 0 ? '' : `restart needed: ${restart_needed.join(', ')}`
  const held = heldText(row) ?? ''
  const away = MANAGED[row.managed_by ?? 'nobody']
  return [held, away, swappedModelText(row) ?? '', said || pending].filter((part) => part !== '').join('; ')
}
