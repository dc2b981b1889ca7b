import { missingProgramIn } from '../../contract/missing-program.ts'
import type { RouteExplanation } from '../../contract/route-explanation.ts'
import { type ErrorCode, errorRegistry } from '../../kernel/error-registry.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
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

function noModel({ name }: RouteCandidate): Failure {
  return failed('slot.not_ready', `slot ${name} has no model`, `Bind one: \`hal0 slot edit ${name} --model ID\`.`)
}
