import type { LanePhase } from '../../contract/lane.ts'
import { plainFailureText } from '../../contract/plain-failure.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { isoTime, retryAfterSeconds, SECOND_MS } from '../../kernel/units.ts'
import { type Booking, isHolder } from './booking.ts'
import type { TargetFailure } from './decision.ts'
import { type LaneTarget, targetText } from './lane-target.ts'

/** While the bookings cannot be read, callers are told to come back after so long. */
const STORE_RETRY_MS = 30 * SECOND_MS
/** Where nothing tells how long a switch or a load will take. */
const UNKNOWN_REMAINING_MS = 5 * SECOND_MS

/** A request to a lane, and how that lane stands. */
export interface AdmissionQuestion {
  readonly lane: string
  readonly userId: string
  readonly nowMs: number
  /** The booking in force whose window it is; undefined = none. */
  readonly running: Booking | undefined
  /** Of the owner of `running`; undefined = the caller may not know. */
  readonly ownerName: string | undefined
  readonly phase: LanePhase
  readonly target: LaneTarget
  /** Until it can probably serve, ms; undefined = nobody can tell. */
  readonly remainingMs: number | undefined
  /** What stands against `target`; undefined = nothing. */
  readonly failure: TargetFailure | undefined
  /** Until the next try, ms; undefined = there will be none by itself. */
  readonly retryInMs: number | undefined
  /** Why the bookings cannot be read; undefined = they can. */
  readonly storeProblem: string | undefined
}

/** `reservationId`: the running booking, which the caller holds; null = it is nobody's. */
export type AdmissionDecision =
  | { readonly kind: 'serve'; readonly reservationId: string | null }
  | { readonly kind: 'refuse'; readonly error: Hal0Error }

/**
 * May this request be served by this lane now? The first entry of the access list that matches answers. Errors: `gpu_reserved`,
 * `gpu_exclusive`, `lane.store_unavailable`, `model_switching`, `slot.loading`, `slot.not_ready`. Source: SPEC 14.
 */
export function decideAdmission(question: AdmissionQuestion): AdmissionDecision {
  const error = refusalOf(question)
  return error === undefined
    ? { kind: 'serve', reservationId: question.running?.id ?? null }
    : { kind: 'refuse', error }
}

function refusalOf(question: AdmissionQuestion): Hal0Error | undefined {
  const { running } = question
  // 1, 2
  if (running !== undefined) {
    if (!isHolder(running, question.userId)) return reservedError(question, running)
    if (running.use.kind === 'exclusive') return exclusiveError(question, running)
  } else if (question.storeProblem !== undefined) return storeError(question)
  // 3 to 6
  switch (question.phase) {
    case 'draining':
    case 'stopping':
      return switchingError(question)
    case 'loading':
      return loadingError(question)
    case 'waiting':
      return waitingError(question)
    case 'off':
      return question.target.kind === 'nothing' ? nothingError(question) : loadingError(question)
    case 'ready':
      return question.target.kind === 'nothing' ? nothingError(question) : undefined
  }
}

function reservedError({ lane, ownerName }: AdmissionQuestion, { endMs }: Booking): Hal0Error {
  const until = isoTime(endMs)
  const by = ownerName === undefined ? '' : ` by ${ownerName}`
  return Hal0Error.of(
    'gpu_reserved',
    `lane '${lane}' is booked${by} until ${until}: wait until then, name another model, or book a window of your own (\`hal0 reservation add\`)`,
    { details: { lane, until } },
  )
}

function exclusiveError({ lane, nowMs }: AdmissionQuestion, { endMs }: Booking): Hal0Error {
  const until = isoTime(endMs)
  return Hal0Error.of(
    'gpu_exclusive',
    `lane '${lane}' is booked as a whole until ${until}, and runs no model until then: wait for that, or end the booking early (\`hal0 reservation end\`)`,
    { details: { lane, until }, retryAfterS: retryAfterSeconds(endMs - nowMs) },
  )
}

function storeError({ lane }: AdmissionQuestion): Hal0Error {
  return Hal0Error.of(
    'lane.store_unavailable',
    `lane '${lane}' cannot tell who may use it: the bookings cannot be read`,
    { details: { lane }, retryAfterS: retryAfterSeconds(STORE_RETRY_MS) },
  )
}

function switchingError({ lane, target, remainingMs }: AdmissionQuestion): Hal0Error {
  const what = target.kind === 'nothing' ? 'is unloading its model' : `is switching to ${targetText(target)}`
  return Hal0Error.of('model_switching', `lane '${lane}' ${what}: try again soon`, {
    details: { lane },
    retryAfterS: retryAfterSeconds(remainingMs ?? UNKNOWN_REMAINING_MS),
  })
}

function loadingError({ lane, target, remainingMs }: AdmissionQuestion): Hal0Error {
  return Hal0Error.of('slot.loading', `lane '${lane}' is loading ${targetText(target)}: try again soon`, {
    details: { lane },
    retryAfterS: retryAfterSeconds(remainingMs ?? UNKNOWN_REMAINING_MS),
  })
}

function waitingError({ lane, target, failure, retryInMs }: AdmissionQuestion): Hal0Error {
  // Whoever asks is no administrator, or has no name: the engine's words are for those who are.
  const why = failure === undefined ? '' : `: ${plainFailureText(failure)}`
  const what = `lane '${lane}' could not load ${targetText(target)}`
  return retryInMs === undefined
    ? Hal0Error.of('slot.not_ready', `${what}, and does not try again before its model or profile is another${why}`, {
        details: { lane, remedy: `Mend the model or the profile, then \`hal0 lane reload ${lane}\` tries at once.` },
      })
    : Hal0Error.of('slot.loading', `${what} and tries again in ${retryAfterSeconds(retryInMs)} s${why}`, {
        details: { lane },
        retryAfterS: retryAfterSeconds(retryInMs),
      })
}

function nothingError({ lane }: AdmissionQuestion): Hal0Error {
  const remedy = `Book the lane (\`hal0 reservation add\`), or ask an administrator for a default or a model by hand (\`hal0 lane load ${lane}\`).`
  return Hal0Error.of('slot.not_ready', `lane '${lane}' is to run nothing at present`, { details: { lane, remedy } })
}
