import type { SlotRow } from '../../contract/slot-row.ts'

/** What one `flm serve` does besides chat; also the key below `[npu]` of the slot that it is a part of. */
export type ShadowService = 'asr' | 'embed'

/** On what a shadow slot rides, or why on nothing. */
export type Ride =
  | { readonly kind: 'rides'; readonly service: ShadowService; readonly anchor: string }
  /** `message` names the key that is missing, `remedy` is what to do; `anchor` where there is one. */
  | {
      readonly kind: 'stranded'
      readonly service: ShadowService
      readonly anchor: string | undefined
      readonly message: string
      readonly remedy: string
    }

/** Requests of a shadow slot itself. */
export interface ShadowCounts {
  readonly inFlight: number
  readonly queued: number
}

const RUNNER = 'flm'
/** The seed slot that is the anchor where nobody made another. */
const SEED_ANCHOR = 'flm'

/**
 * Which part of the NPU's one engine is this slot? Undefined = it is a slot with an engine of its own. Takes the row as the slot's own
 * actor shows it. Source: SPEC 8 "NPU".
 */
export function shadowServiceOf(row: Pick<SlotRow, 'device' | 'type' | 'runner'>): ShadowService | undefined {
  // Asked for every request: nearly always this is all.
  if (row.device !== 'npu' || row.runner !== RUNNER) return undefined
  if (row.type === 'transcription') return 'asr'
  return row.type === 'embedding' ? 'embed' : undefined
}

/** Does this slot never have an engine of its own? */
export function isShadow(row: Pick<SlotRow, 'device' | 'type' | 'runner'>): boolean {
  return shadowServiceOf(row) !== undefined
}

/** What of a slot decides whether others ride on it. */
export type AnchorRow = Pick<SlotRow, 'name' | 'device' | 'type' | 'runner' | 'model_id' | 'state'>

/**
 * Which slot is the NPU's LLM, on which the shadows ride? The one that is up, else the first by name that has a model. Undefined = none has one.
 * Source: SPEC 8 "NPU".
 */
export function chooseAnchor<Row extends AnchorRow>(rows: readonly Row[]): Row | undefined {
  let best: Row | undefined
  for (const row of rows) {
    const isAble = row.device === 'npu' && row.type === 'llm' && row.runner === RUNNER && row.model_id !== null
    if (isAble && (best === undefined || comesBefore(row, best))) best = row
  }
  return best
}

function comesBefore(one: AnchorRow, other: AnchorRow): boolean {
  return isUp(one) === isUp(other) ? one.name < other.name : isUp(one)
}

function isUp({ state }: AnchorRow): boolean {
  return state !== 'offline' && state !== 'error'
}

/**
 * On what does the shadow slot `name` ride now? `switches`: `[npu]` of the anchor's file, undefined = it has none. What it says counts; one that was turned on while the anchor
 * runs counts from its next start.
 */
export function chooseRide(
  name: string,
  service: ShadowService,
  anchor: Pick<SlotRow, 'name' | 'restart_needed'> | undefined,
  switches: Readonly<Record<ShadowService, boolean>> | undefined,
): Ride {
  const key = `[npu] ${service}`
  if (anchor === undefined) {
    return {
      kind: 'stranded',
      service,
      anchor: undefined,
      message: `slot ${name} rides the LLM slot of the NPU, and none has a model (model.default)`,
      remedy: `Bind one: \`hal0 slot edit ${SEED_ANCHOR} --model TAG --set npu.${service}=true\`.`,
    }
  }
  const stranded = { kind: 'stranded', service, anchor: anchor.name } as const
  if (switches?.[service] !== true) {
    return {
      ...stranded,
      message: `slot ${name} rides slot ${anchor.name}, whose ${key} is not on`,
      remedy: `Turn it on: \`hal0 slot edit ${anchor.name} --set npu.${service}=true\`.`,
    }
  }
  if (anchor.restart_needed.includes(`npu.${service}`)) {
    return {
      ...stranded,
      message: `slot ${name} rides slot ${anchor.name}, which was started before ${key} was on`,
      remedy: `Restart it: \`hal0 slot restart ${anchor.name}\`.`,
    }
  }
  return { kind: 'rides', service, anchor: anchor.name }
}

/**
 * The row of a shadow slot: what it is from its own file, how it is doing from its anchor. `own`: as its own actor shows it; `anchor`: the row of
 * the slot that it rides on.
 */
export function shadowRow(
  own: SlotRow,
  ride: Ride,
  anchor: SlotRow | undefined,
  { inFlight, queued }: ShadowCounts,
): SlotRow {
  const still = {
    ...own,
    autoload: false,
    file_model_id: null,
    restart_needed: [],
    config_drift: [],
    ctx_effective: null,
    ctx_source: null,
    // Counted where the engine is.
    mem_bytes: null,
    in_flight: inFlight,
    queued,
  }
  if (ride.kind === 'stranded' || anchor === undefined) {
    const message = ride.kind === 'stranded' ? ride.message : ''
    return {
      ...still,
      state: 'offline',
      model_id: null,
      port: null,
      pid: null,
      parallel: null,
      idle_reason: null,
      failure: null,
      breaker: null,
      phases: null,
      message,
      config_problem: own.config_problem ?? message,
    }
  }
  const { state, model_id, port, pid, runtime, parallel, idle_reason, failure, breaker, phases, managed_by } = anchor
  return {
    ...still,
    state,
    model_id,
    port,
    pid,
    runtime,
    parallel,
    idle_reason,
    failure,
    breaker,
    phases,
    managed_by,
    last_used_at: anchor.last_used_at,
    updated_at: anchor.updated_at,
    message: `rides slot ${anchor.name}${anchor.message === '' ? '' : `: ${anchor.message}`}`,
  }
}
