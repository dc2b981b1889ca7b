import type { SlotRow } from '../../contract/slot-row.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'

const HEAD = ['NAME', 'STATE', 'MODEL', 'PROFILE', 'RUNNER', 'DEVICE', 'PORT', 'IN FLIGHT', 'MESSAGE'] as const

/** `hal0 slot list`. JSON: `{slots: [row, …]}`, the rows of GET /api/slots. */
export async function slotList(globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const slots = await (await connect(globals)).slots.list()
  output.result({ slots }, () =>
    slots.length === 0 && process.stdout.isTTY ? 'no slots' : output.table(HEAD, slots.map(cells)),
  )
}

function cells(row: SlotRow): string[] {
  const { name, state, model_id, profile, runner, device, port, in_flight } = row
  return [
    name,
    state,
    model_id ?? '-',
    profile ?? '-',
    runner,
    device,
    String(port ?? '-'),
    String(in_flight),
    remark(row),
  ]
}

/** What a person should know first: why it failed, else what waits for a restart. */
function remark({ failure, message, restart_needed }: SlotRow): string {
  const said = failure?.message ?? message
  if (said !== '' || restart_needed.length === 0) return said
  return `restart needed: ${restart_needed.join(', ')}`
}
