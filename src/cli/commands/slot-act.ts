import type { Hal0Client } from '../../client/client.ts'
import type { SlotActionResult, StopOptions } from '../../client/slots.ts'
import type { SlotRow } from '../../contract/slot-row.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { loadTimeText, withSlotProgress } from '../slot-progress.ts'
import { noteProblem } from '../slot-words.ts'

/** Options of load, unload and restart, as typed. */
export interface ActOptions extends GlobalOptions {
  /** Seconds; 0 = do not wait. */
  readonly wait?: number
  /** Seconds. */
  readonly drain?: number
}

/** `hal0 slot load NAME`. JSON: the row, or the operation when the wait ended first. */
export async function slotLoad(name: string, options: ActOptions): Promise<void> {
  await act(name, options, (client, stop) => client.slots.load(name, stop), wasReady)
}

export interface UnloadOptions extends ActOptions {
  /** Also a pinned one. */
  readonly force?: boolean
}

/** `hal0 slot unload NAME`. JSON as `slotLoad`. */
export async function slotUnload(name: string, options: UnloadOptions): Promise<void> {
  const { force = false } = options
  await act(name, options, (client, stop) => client.slots.unload(name, { ...stop, force }))
}

/** `hal0 slot restart NAME`. JSON as `slotLoad`. */
export async function slotRestart(name: string, options: ActOptions): Promise<void> {
  await act(name, options, (client, stop) => client.slots.restart(name, stop))
}

export interface SwapOptions extends ActOptions {
  readonly persist?: boolean
}

/** `hal0 slot swap NAME MODEL`. Why the next start would fail is a note. JSON as `slotLoad`. */
export async function slotSwap(name: string, modelId: string, options: SwapOptions): Promise<void> {
  const { persist = false } = options
  const row = await act(name, options, (client, stop) => client.slots.swap(name, { modelId, persist }, stop))
  if (row !== undefined) noteProblem(outputOf(options), name, row.config_problem)
}

/** Undefined = the wait ended first. */
async function act(
  name: string,
  options: ActOptions,
  operation: (client: Hal0Client, stop: StopOptions) => Promise<SlotActionResult>,
  isUnchanged: (before: SlotRow, after: SlotRow) => boolean = () => false,
): Promise<SlotRow | undefined> {
  const output = outputOf(options)
  const client = await connect(options)
  const stop: StopOptions = {
    ...(options.wait === undefined ? {} : { waitS: options.wait }),
    ...(options.drain === undefined ? {} : { drainS: options.drain }),
  }
  const before = await client.slots.show(name)
  const result = await withSlotProgress(client, name, output, () => operation(client, stop))
  if (result.done) {
    output.result(result.slot, () => endText(result.slot, isUnchanged(before, result.slot)))
    return result.slot
  }
  const { operation: running } = result
  output.result(running, () => `slot ${name}: ${running.kind} goes on; \`hal0 slot show ${name}\` says how far it is`)
  return undefined
}

/** The same engine process before and after: the load had nothing to do. */
function wasReady(before: SlotRow, after: SlotRow): boolean {
  const serves = before.state === 'ready' || before.state === 'serving' || before.state === 'idle'
  return serves && before.pid !== null && before.pid === after.pid
}

function endText(row: SlotRow, isUnchanged: boolean): string {
  const model = row.model_id === null ? '' : ` with ${row.model_id}`
  if (row.state === 'offline') return `slot ${row.name} is offline`
  return isUnchanged
    ? `slot ${row.name} is ${row.state} already${model}`
    : `slot ${row.name} is ${row.state}${model}${loadTimeText(row)}`
}
