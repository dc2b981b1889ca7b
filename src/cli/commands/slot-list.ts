import type { SlotRow } from '../../contract/slot-row.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'

const HEAD = ['NAME', 'STATE', 'MODEL', 'RUNNER', 'DEVICE', 'PORT', 'IN FLIGHT', 'MESSAGE'] as const

/** `hal0 slot list`. JSON: `{slots: [row, …]}`, the rows of GET /api/slots. */
export async function slotList(globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const slots = await (await connect(globals)).slots.list()
  output.result({ slots }, () =>
    slots.length === 0 && process.stdout.isTTY ? 'no slots' : output.table(HEAD, slots.map(cells)),
  )
}

function cells(row: SlotRow): string[] {
  const { name, state, model_id, runner, device, port, in_flight, failure, message } = row
  return [
    name,
    state,
    model_id ?? '-',
    runner,
    device,
    String(port ?? '-'),
    String(in_flight),
    failure?.message ?? message,
  ]
}
