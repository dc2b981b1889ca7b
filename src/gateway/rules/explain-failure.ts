import { missingProgramIn } from '../../contract/missing-program.ts'
import type { RouteExplanation } from '../../contract/route-explanation.ts'
import { type ErrorCode, errorRegistry } from '../../kernel/error-registry.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
import type { LaneStanding } from '../../lanes/rules/lane-standing.ts'
import { isActive, type RouteCandidate } from './find-slot.ts'
import { rankOf } from './rank-slots.ts'

/** Why a request would fail, as an explanation tells it. */
export type Failure = NonNullable<RouteExplanation['error']>

/** What the registry says of the code, where nothing else is given. */
export function failed(code: ErrorCode, message: string, remedy?: string, status?: number): Failure {
  const entry = errorRegistry[code]
  return { status: status ?? entry.status, code, message, remedy: remedy ?? entry.remedy }
}

/** The same of an error that a client would get. */
export function failureOf(error: Hal0Error | undefined): Failure | undefined {
  if (error === undefined) return undefined
  const remedy = error.details?.['remedy']
  return failed(error.code, error.message, typeof remedy === 'string' ? remedy : undefined)
}

/**
 * Why the slot could not be started for a request now; undefined = it is up, or nothing is known against a start. `problem`: what its files
 * say (`config_problem`). Source: SPEC 11 `explain`.
 */
export function startFailure(row: RouteCandidate, problem: string | null): Failure | undefined {
  // An image slot that is up has checkpoints of its own.
  if (!isActive(row) && (row.type !== 'image' || row.state === 'offline' || row.state === 'error')) return noModel(row)
  if (problem === null || rankOf(row) < 2) return undefined
  const program = missingProgramIn(problem)
  const look = `\`hal0 slot show ${row.name}\` says more.`
  if (program !== undefined)
    return failed('slot.spawn_failed', problem, `Install ${program}, or say where it is; ${look}`)
  return failed('slot.config_error', problem, `Correct the slot's settings; ${look}`, 503)
}

/**
 * Why a lane would refuse the caller, as far as its slot shows; undefined = it would not. The list in full is asked when a request comes.
 * Source: SPEC 14.
 */
export function laneFailure(
  { name, state, idle_reason }: Pick<RouteCandidate, 'name' | 'state' | 'idle_reason'>,
  standing: NonNullable<LaneStanding>,
): Failure | undefined {
  if (standing === 'closed') return failed('gpu_reserved', `lane ${name} is booked by others now`)
  const rank = rankOf({ state, idle_reason })
  if (rank === 0) return undefined
  if (rank === 1) return failed('slot.loading', `lane ${name} is loading, and no request waits for it`)
  if (state === 'unloading') return failed('model_switching', `lane ${name} goes to another model`)
  const remedy = `\`hal0 lane explain ${name}\` says what it will run, and when.`
  return failed('slot.not_ready', `lane ${name} runs nothing`, remedy)
}

function noModel({ name }: RouteCandidate): Failure {
  return failed('slot.not_ready', `slot ${name} has no model`, `Bind one: \`hal0 slot edit ${name} --model ID\`.`)
}
