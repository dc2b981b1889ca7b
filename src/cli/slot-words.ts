import { missingProgramIn } from '../contract/missing-program.ts'
import { type BreakerView, LOAD_PHASES, type LoadPhases, type SlotRow } from '../contract/slot-row.ts'
import type { SlotState } from '../contract/slot-state.ts'
import type { Output } from './output.ts'

type Binding = Pick<
  SlotRow,
  'model_id' | 'file_model_id' | 'restart_needed' | 'config_problem' | 'device' | 'type' | 'runner' | 'managed_by'
>

/** A model that is not the file's, and what the file binds. Undefined = it is the file's, or the file was edited and says so itself. */
export function swappedModelText(row: Binding): string | undefined {
  const { model_id: modelId, file_model_id: fileModelId } = row
  // It shows the model of the slot whose engine it rides, which its own file never names.
  if (isRider(row)) return undefined
  // Its timetable says what it runs, and it has no file of its own.
  if (row.managed_by === 'lane') return undefined
  // A file that was edited meanwhile: then `restart_needed` says so.
  if (modelId === null || modelId === fileModelId || row.restart_needed.includes('model')) return undefined
  const file = fileModelId === null ? 'its file binds none' : `its file binds ${fileModelId}`
  // Whose files are wrong cannot be compared: it may have been edited as well.
  return row.config_problem === null ? `${modelId}, swapped in; ${file}` : `${modelId} runs; ${file}`
}

/** Is it a part of the NPU's one engine (`flm-stt`, `flm-embed`)? Its message says which slot it rides. */
function isRider({ device, type, runner }: Binding): boolean {
  return device === 'npu' && runner === 'flm' && type !== 'llm'
}

/** Does a context window mean anything to the engines of such slots? Those of speech and images are started without one. */
export function hasContext({ type }: Pick<SlotRow, 'type'>): boolean {
  return type === 'llm' || type === 'embedding' || type === 'reranking'
}

/**
 * Of a slot that nobody has asked for yet, and whose program is not installed: what would be needed. Undefined = something else is the
 * matter, or somebody did ask (then the whole problem is told).
 */
export function sleepingText(row: SlotRow): string | undefined {
  const isUntouched = row.state === 'offline' && !row.autoload && row.last_used_at === null
  if (!isUntouched || row.failure !== null || row.breaker !== null || row.phases !== null) return undefined
  const program = missingProgramIn(row.config_problem)
  return program === undefined ? undefined : `off, needs a program: ${program}`
}

/** States of a start that is under way. */
const STARTING_STATES: readonly SlotState[] = ['pulling', 'starting', 'warming']
/** States in which a start has come up: nothing is held back then, but a crash would count on. */
const UP_STATES: readonly SlotState[] = ['ready', 'serving', 'idle']

/**
 * `breakerText` of a slot that has one; undefined = nothing is held back. A slot whose program is not installed has not crashed, and waiting
 * helps it nothing: its problem says what does.
 */
export function heldText({
  breaker,
  state,
  config_problem,
}: Pick<SlotRow, 'breaker' | 'state' | 'config_problem'>): string | undefined {
  if (breaker === null || missingProgramIn(config_problem) !== undefined) return undefined
  return breakerText(breaker, state)
}

/** The breaker for people, for example `parked after 5 failures, next try in 300 s`. Failed loads and crashes count alike. */
export function breakerText(
  { state, failures, retry_after_s: retryAfterS }: BreakerView,
  slotState: SlotState,
): string {
  const count = `${failures} ${failures === 1 ? 'failure' : 'failures'}`
  if (UP_STATES.includes(slotState)) return `up after ${count}, not yet forgotten`
  if (state === 'half_open' && STARTING_STATES.includes(slotState)) return `on trial after ${count}`
  const when = retryAfterS > 0 ? `next try in ${retryAfterS} s` : 'the next request tries again'
  return `${state === 'backoff' ? 'waiting' : 'parked'} after ${count}, ${when}`
}

/** Phases of a load in the order in which they happen: `spawn 40 ms, warm 2000 ms`. '' = none. */
export function phasesText(phases: LoadPhases): string {
  const known = LOAD_PHASES.flatMap((phase) => {
    const ms = phases[phase]
    return ms === undefined ? [] : [`${phase} ${Math.round(ms)} ms`]
  })
  return known.join(', ')
}

/** After an edit: what a restart runs in place of a model that was swapped in. Undefined = there is none. */
export function restartOfSwapText(row: Binding & Pick<SlotRow, 'name' | 'state'>): string | undefined {
  if (row.state === 'offline' || row.config_problem !== null || swappedModelText(row) === undefined) return undefined
  const next = row.file_model_id ?? row.model_id
  const again = row.file_model_id === null ? ' again (its file binds none)' : ', which its file binds'
  return `${row.model_id} is swapped in; the next restart runs ${next}${again}`
}

/** Why a start of the slot would fail now, for people, although what was asked for is done. */
export function noteProblem(output: Output, name: string, problem: string | null): void {
  if (problem !== null) output.note(`slot ${name} cannot start like this: ${problem}`)
}
