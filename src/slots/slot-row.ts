import { isPinned } from '../config/slots/rules/is-pinned.ts'
import { isAutoloaded, runnerKeyOf } from '../config/slots/rules/slot-defaults.ts'
import { DEFAULT_PRIORITY, type SlotRow } from '../contract/slot-row.ts'
import { isoTime } from '../kernel/units.ts'
import type { FilesView } from './actor/files-view.ts'
import type { SlotParts } from './actor/slot-parts.ts'
import type { EngineLife } from './life/engine-life.ts'

/** The wire's view of one slot. The file's part is undefined while it cannot be read; then the row shows what is certain. `lastUsedMs`: epoch ms, 0 = never. */
export function buildRow(parts: SlotParts, lastUsedMs: number): SlotRow {
  const { phase, ctx, lastPhases } = parts.life
  const { board, book, breaker, deps, files } = parts
  const { record } = board
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
    priority: config?.priority ?? DEFAULT_PRIORITY,
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
    last_used_at: lastUsedMs === 0 ? null : isoTime(lastUsedMs),
    updated_at: record.updated_at,
    message: record.message,
    idle_reason: board.idleReason,
    failure: record.extra.failure ?? null,
    breaker: breaker.view(record.model_id ?? '', deps.clock.nowMs(), phase.kind === 'loading' || phase.kind === 'up'),
    mem_bytes: memBytesOf(phase),
    managed_by: deps.managedBy(record.name),
    phases: lastPhases ?? null,
  }
}

/** Key of the runner that runs; else of the one that a start would use; `unknown` while the file cannot be read. */
export function runnerOf(phase: EngineLife['phase'], bound: FilesView['bound']): string {
  if (phase.kind === 'up') return phase.engine.binding.runner.key
  return bound === undefined ? 'unknown' : runnerKeyOf(bound.config, bound.profileRunner)
}

/** What was counted for the engine that runs. */
function memBytesOf(phase: EngineLife['phase']): number | null {
  const need = phase.kind === 'up' || phase.kind === 'loading' ? phase.engine?.need : undefined
  return need?.kind === 'known' ? need.gpuBytes + need.hostBytes : null
}
