import type { LaneFile } from '../../config/lanes/live-lanes.ts'
import { DEFAULT_PRIORITY, type SlotRow } from '../../contract/slot-row.ts'
import { isoTime } from '../../kernel/units.ts'
import type { SimulatedSlot } from './simulated-slot.ts'

/** The row of a simulated slot: lanes ask it for little more than who uses it. */
export function simulatedRow({ name, config }: LaneFile, slot: SimulatedSlot, nowMs: number): SlotRow {
  const { running, inFlight } = slot.view()
  const target = running?.kind === 'model' ? running : undefined
  return {
    name,
    state: target === undefined ? 'offline' : 'ready',
    aliases: [],
    model_id: target?.model ?? null,
    file_model_id: null,
    profile: target?.profile ?? null,
    type: 'llm',
    device: config.device,
    gpu_index: null,
    port: null,
    pid: null,
    runtime: 'process',
    runner: config.runner ?? '',
    in_flight: inFlight,
    queued: 0,
    parallel: null,
    autoload: false,
    pinned: false,
    priority: DEFAULT_PRIORITY,
    default: false,
    restart_needed: [],
    config_drift: [],
    config_problem: null,
    ctx_effective: null,
    ctx_source: null,
    last_used_at: null,
    updated_at: isoTime(nowMs),
    message: '',
    idle_reason: null,
    failure: null,
    breaker: null,
    mem_bytes: null,
    managed_by: 'lane',
    phases: null,
  }
}
