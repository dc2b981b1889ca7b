import { isPinned } from '../config/slots/rules/is-pinned.ts'
import { isAutoloaded, runnerKeyOf } from '../config/slots/rules/slot-defaults.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import type { SlotStateRecord } from '../contract/slot-state.ts'
import { isoTime } from '../kernel/units.ts'
import type { EngineLife } from './engine-life.ts'
import type { FilesView } from './files-view.ts'
import type { LeaseBook } from './lease-book.ts'

/** The parts of a slot that its row shows. */
export interface RowParts {
  readonly life: Pick<EngineLife, 'phase' | 'ctx' | 'lastPhases'>
  readonly files: Pick<FilesView, 'bound' | 'restartNeeded' | 'drift' | 'problem'>
  readonly book: Pick<LeaseBook, 'inFlight' | 'queued'>
}

/** The wire's view of one slot. The file's part is undefined while it cannot be read; then the row shows what is certain. */
export function buildRow(record: SlotStateRecord, parts: RowParts, lastUsedMs: number | undefined): SlotRow {
  const { phase, ctx, lastPhases } = parts.life
  const { book, files } = parts
  const { bound } = files
  const config = bound?.config
  return {
    name: record.name,
    state: record.state,
    aliases: config?.aliases ?? [],
    model_id: record.model_id,
    file_model_id: config?.model.default || null,
    profile: bound?.profile ?? null,
    gpu_index: config?.gpu_index ?? null,
    pinned: config === undefined ? false : isPinned(config),
    priority: config?.priority ?? 50,
    default: config?.default ?? false,
    restart_needed: [...files.restartNeeded],
    config_drift: [...files.drift],
    config_problem: files.problem?.message ?? null,
    type: config?.type ?? 'llm',
    device: config?.device ?? 'cpu',
    port: record.port,
    pid: record.extra.process?.pid ?? null,
    runtime: config?.runtime ?? 'process',
    runner: runnerOf(phase, bound),
    in_flight: book.inFlight,
    queued: book.queued,
    parallel: phase.kind === 'up' ? phase.parallel : null,
    autoload: config === undefined ? false : isAutoloaded(config),
    ctx_effective: ctx?.ctxTokens ?? null,
    ctx_source: ctx?.source ?? null,
    last_used_at: lastUsedMs === undefined ? null : isoTime(lastUsedMs),
    updated_at: record.updated_at,
    message: record.message,
    idle_reason: record.state === 'idle' ? (record.extra.idle_reason ?? 'quiet') : null,
    failure: record.extra.failure ?? null,
    breaker: null,
    mem_bytes: null,
    managed_by: null,
    phases: lastPhases ?? null,
  }
}

/** The one that runs; else the one that a start would use, as far as the slot's own file says. */
function runnerOf(phase: EngineLife['phase'], bound: FilesView['bound']): string {
  if (phase.kind === 'up') return phase.engine.binding.runner.key
  return bound === undefined ? 'unknown' : runnerKeyOf(bound.config, undefined)
}
