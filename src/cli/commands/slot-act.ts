import type { Hal0Client } from '../../client/client.ts'
import type { SlotActionResult, StopOptions } from '../../client/slots.ts'
import type { SlotRow } from '../../contract/slot-row.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { loadTimeText, withSlotProgress } from '../slot-progress.ts'

/** Options of load, unload and restart, as typed. */
export interface ActOptions extends GlobalOptions {
  /** Seconds; 0 = do not wait. */
  readonly wait?: number
  /** Seconds. */
  readonly drain?: number
  readonly force?: boolean
}

/** `hal0 slot load NAME`. JSON: the row, or the operation when the wait ended first. */
export function slotLoad(name: string, options: ActOptions): Promise<void> {
  return act(name, options, (client, stop) => client.slots.load(name, stop))
}

/** `hal0 slot unload NAME`. JSON as `slotLoad`. */
export function slotUnload(name: string, options: ActOptions): Promise<void> {
  return act(name, options, (client, stop) => client.slots.unload(name, stop))
}

/** `hal0 slot restart NAME`. JSON as `slotLoad`. */
export function slotRestart(name: string, options: ActOptions): Promise<void> {
  return act(name, options, (client, stop) => client.slots.restart(name, stop))
}

async function act(
  name: string,
  options: ActOptions,
  operation: (client: Hal0Client, stop: StopOptions) => Promise<SlotActionResult>,
): Promise<void> {
  const output = outputOf(options)
  const client = await connect(options)
  const stop: StopOptions = {
    ...(options.wait === undefined ? {} : { waitS: options.wait }),
    ...(options.drain === undefined ? {} : { drainS: options.drain }),
    ...(options.force === undefined ? {} : { force: options.force }),
  }
  const result = await withSlotProgress(client, name, output, () => operation(client, stop))
  if (result.done) output.result(result.slot, () => endText(result.slot))
  else {
    const { operation: running } = result
    output.result(running, () => `slot ${name}: ${running.kind} goes on; \`hal0 slot show ${name}\` says how far it is`)
  }
}

function endText(row: SlotRow): string {
  const model = row.model_id === null ? '' : ` with ${row.model_id}`
  return row.state === 'offline'
    ? `slot ${row.name} is offline`
    : `slot ${row.name} is ${row.state}${model}${loadTimeText(row)}`
}
