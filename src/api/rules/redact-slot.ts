import type { SlotRow } from '../../contract/slot-row.ts'
import type { SlotFailure } from '../../contract/slot-state.ts'
import { generalRemedy, hideFailure, hideText, redact, type Told } from './redact.ts'

/** The keys of a failure as members read them. */
export const FAILURE_TOLD: Told<SlotFailure> = {
  code: 'told',
  message: hideFailure,
  cause: 'told',
  line: () => null,
  remedy: ({ code }) => generalRemedy(code),
  at: 'told',
}

/** The keys of a slot's row as members read them. Their `message` is that of the failure: what it says else, `state` says too. */
export const SLOT_TOLD: Told<SlotRow> = {
  name: 'told',
  state: 'told',
  aliases: 'told',
  model_id: 'told',
  file_model_id: 'told',
  profile: 'told',
  type: 'told',
  device: 'told',
  gpu_index: 'told',
  port: 'told',
  pid: 'told',
  runtime: 'told',
  runner: 'told',
  in_flight: 'told',
  queued: 'told',
  parallel: 'told',
  autoload: 'told',
  pinned: 'told',
  priority: 'told',
  default: 'told',
  restart_needed: 'told',
  config_drift: 'told',
  config_problem: ({ config_problem }) =>
    hideText(config_problem, 'Its settings have a mistake, or what they name is missing.'),
  ctx_effective: 'told',
  ctx_source: 'told',
  last_used_at: 'told',
  updated_at: 'told',
  message: ({ failure }) => (failure === null ? '' : hideFailure(failure)),
  idle_reason: 'told',
  failure: ({ failure }) => (failure === null ? null : redact(failure, FAILURE_TOLD)),
  breaker: 'told',
  mem_bytes: 'told',
  managed_by: 'told',
  phases: 'told',
}

/** A slot's row without paths and log lines. Source: SPEC 14. */
export function redactSlot(row: SlotRow): SlotRow {
  return redact(row, SLOT_TOLD)
}
