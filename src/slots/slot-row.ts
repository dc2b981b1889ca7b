import { isAutoloaded, runnerKeyOf, type SlotConfig } from '../config/slot-file.ts'
import type { LoadPhases, SlotRow } from '../contract/slot-row.ts'
import type { SlotStateRecord } from '../contract/slot-state.ts'
import { isoTime } from '../kernel/units.ts'

/** The wire's view of one slot. `config` is undefined while its file cannot be read; then the row shows what is certain. */
export function buildRow(input: {
  readonly record: SlotStateRecord
  readonly config: SlotConfig | undefined
  readonly inFlight: number
  readonly queued: number
  readonly parallel: number | null
  readonly lastUsedMs: number | undefined
  readonly phases: LoadPhases | undefined
}): SlotRow {
  const { record, config } = input
  return {
    name: record.name,
    state: record.state,
    model_id: record.model_id,
    type: config?.type ?? 'llm',
    device: config?.device ?? 'cpu',
    port: record.port,
    pid: record.extra.process?.pid ?? null,
    runtime: config?.runtime ?? 'process',
    runner: config === undefined ? 'unknown' : runnerKeyOf(config),
    in_flight: input.inFlight,
    queued: input.queued,
    parallel: input.parallel,
    autoload: config === undefined ? false : isAutoloaded(config),
    last_used_at: input.lastUsedMs === undefined ? null : isoTime(input.lastUsedMs),
    updated_at: record.updated_at,
    message: record.message,
    failure: record.extra.failure ?? null,
    phases: input.phases ?? null,
  }
}
