import { isSeedSlot } from '../config/slots/rules/seed-slot-table.ts'
import type { SlotFailure, SlotState } from '../contract/slot-state.ts'
import type { Publisher } from '../events/bus.ts'
import type { ErrorCode } from '../kernel/error-registry.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { listNames } from '../kernel/list-names.ts'
import type { Log } from '../kernel/log.ts'
import { isoTime, retryAfterSeconds } from '../kernel/units.ts'
import type { ClosingReason } from './actor/actor-messages.ts'

/** How long a stop usually takes before the next load can answer: the Retry-After of a slot that is being stopped. */
const STOP_RETRY_MS = 5_000

/** There is no such slot. `known`: those there are. */
export function noSlotError(slot: string, known: readonly string[]): Hal0Error {
  const list = known.length === 0 ? '' : ` (there are: ${listNames(known)})`
  const remedy = isSeedSlot(slot)
    ? `A slot of this name comes with hal0: \`hal0 slot reseed ${slot}\` makes it.`
    : 'List the slots with `hal0 slot list`, or make it: `hal0 slot create NAME --model ID`.'
  return Hal0Error.of('slot.not_found', `no slot ${JSON.stringify(slot)}${list}`, { details: { slot, remedy } })
}

/** What a failed load left in the record, as those who waited for it see it. */
export function loadFailedError(slot: string, failure: SlotFailure): Hal0Error {
  const message = `slot ${slot} could not be loaded: ${failure.message}`
  const details = { slot, remedy: failure.remedy, ...(failure.line === null ? {} : { line: failure.line }) }
  switch (failure.code) {
    case 'slot.health_failed':
    case 'slot.output_sanity_failed':
      return Hal0Error.of(failure.code, message, { details })
    default:
      return Hal0Error.of('slot.spawn_failed', message, { details })
  }
}

/** A pinned slot is not unloaded by the way. Source: SPEC 4 `?force=true`. */
export function pinnedError(slot: string): Hal0Error {
  const remedy = `Unload it all the same with \`hal0 slot unload ${slot} --force\`, or unpin it: \`hal0 slot edit ${slot} --no-pinned\`.`
  return Hal0Error.of('slot.pinned', `slot ${slot} is pinned: it is there for those who count on it`, {
    details: { slot, remedy },
  })
}

/** What the engine answers makes no sense. Source: SPEC 5 "output-sanity gate". */
export function insaneError(
  slot: string,
  { sample, why }: { readonly sample: string; readonly why: string },
): Hal0Error {
  const message = `the engine of slot ${slot} answers a known question wrongly (${why}): "${sample}"`
  const remedy =
    'Try another build, quantisation or device; if the model is right as it is, set `output_sanity = "lenient"` or `"off"` in the slot\'s file.'
  return Hal0Error.of('slot.output_sanity_failed', message, {
    details: { slot, sample, setting: 'output_sanity', remedy },
  })
}

/** The live watch has given it up. `reason` continues "the engine …". */
export function unansweringError(slot: string, reason: string): Hal0Error {
  return Hal0Error.of('dispatch.upstream_unavailable', `the engine of slot ${slot} ${reason}`, { details: { slot } })
}

/** Nothing is started before the cool-down is over. Source: SPEC 6. */
export function crashLoopingError(
  slot: string,
  { isParked, failures, waitMs }: { readonly isParked: boolean; readonly failures: number; readonly waitMs: number },
  last: Pick<SlotFailure, 'message' | 'remedy'> | undefined,
): Hal0Error {
  const retryAfterS = retryAfterSeconds(waitMs)
  const how = isParked ? 'is parked' : 'waits'
  const why = last === undefined ? '' : `; the last time: ${last.message}`
  const message = `slot ${slot} failed ${failures} ${failures === 1 ? 'time' : 'times in a row'} and ${how} for ${retryAfterS} s${why}`
  const first = last === undefined ? `Look at \`hal0 slot logs ${slot}\`.` : last.remedy
  return Hal0Error.of('slot.crash_looping', message, {
    retryAfterS,
    details: {
      slot,
      failures,
      parked: isParked,
      retry_after_s: retryAfterS,
      remedy: `${first} \`hal0 slot load ${slot}\` tries at once.`,
    },
  })
}

/** Two loads in a row found no verdict. `limitMs`: how long each had. */
export function neverReadyError(limitMs: number): Hal0Error {
  const waitedS = Math.round(limitMs / 1000)
  return Hal0Error.of('slot.health_failed', `the engine did not become ready in ${waitedS} s, twice`)
}

/** Someone else has the slot's port: whatever it is, it does not know this start's key. Source: SPEC 4 "A stranger on the port". */
export function strangerError(slot: string, port: number, reason: string): Hal0Error {
  return Hal0Error.of('slot.spawn_failed', `another process answers on port ${port} of slot ${slot}: ${reason}`, {
    details: { slot, port, remedy: `Free port ${port}, or set another \`port\` in the slot's file.` },
  })
}

/** For requests that were at work when their engine died. */
export function engineDiedError(slot: string, exit: string): Hal0Error {
  return Hal0Error.of('dispatch.upstream_unavailable', `the engine of slot ${slot} ${exit} while it answered`, {
    details: { slot },
  })
}

/** For requests whose slot is being unloaded or restarted, or whose daemon stops. */
export function unloadingError(slot: string, what: string): Hal0Error {
  return Hal0Error.of('slot.unloading', `slot ${slot} ${what}`, {
    retryAfterS: retryAfterSeconds(STOP_RETRY_MS),
    details: { slot },
  })
}

/** For requests whose wait is over while the slot still loads. `remainingMs`: the estimate, may be negative. */
export function loadingError(slot: string, state: SlotState, message: string, remainingMs: number): Hal0Error {
  const progress = message === '' ? '' : ` (${message})`
  return Hal0Error.of('slot.loading', `slot ${slot} is still ${state}${progress}`, {
    retryAfterS: retryAfterSeconds(remainingMs),
    details: { slot, state },
  })
}

/** The queue is full. `isForOthers`: it had a place, and makes room for somebody who has fewer requests waiting. */
export function queueFullError(
  slot: string,
  {
    limit,
    retryAfterS,
    isForOthers,
  }: { readonly limit: number; readonly retryAfterS: number; readonly isForOthers: boolean },
): Hal0Error {
  const why = isForOthers ? '; most of them are yours, and others come first' : ''
  return Hal0Error.of('dispatch.queue_full', `slot ${slot} has ${limit} requests waiting, which is its limit${why}`, {
    retryAfterS,
    details: { slot, queue_limit: limit },
  })
}

/** Up, but without a model to answer with: only a person's load changes that. Source: SPEC 4 `no_model`. */
export function noModelServedError(slot: string, modelId: string | null): Hal0Error {
  return Hal0Error.of(
    'slot.not_ready',
    `slot ${slot} runs, but its engine lists no model (${modelId ?? 'none'} is bound)`,
    {
      details: { slot, model: modelId },
    },
  )
}

/** For requests at a lane that goes over to something else; `what` continues "lane X". Source: SPEC 14 "Access" 3. */
export function laneSwitchingError(lane: string, what: string): Hal0Error {
  return Hal0Error.of('model_switching', `lane ${lane} ${what}`, {
    retryAfterS: retryAfterSeconds(STOP_RETRY_MS),
    details: { lane },
  })
}

/** For requests at a lane that runs nothing: no request changes that. Source: SPEC 12 "never loaded by a request", 14 "Access" 5. */
export function laneAtRestError(lane: string, failure: Pick<SlotFailure, 'message'> | undefined): Hal0Error {
  const why = failure === undefined ? '' : `; the last time: ${failure.message}`
  return Hal0Error.of('slot.not_ready', `lane ${lane} runs nothing now${why}`, {
    details: { lane, remedy: `Look what it is to run, and why: \`hal0 lane explain ${lane}\`.` },
  })
}

export function terminateTimeoutError(slot: string, waitedMs: number): Hal0Error {
  return Hal0Error.of(
    'slot.terminate_timeout',
    `the engine of slot ${slot} is not dead after ${Math.round(waitedMs / 1000)} s; the stop goes on`,
    { details: { slot } },
  )
}

/** The record of a failure that is not an exit. */
export function failureOf(error: Hal0Error, atMs: number): SlotFailure {
  return {
    code: error.code,
    message: error.message,
    cause: null,
    line: null,
    remedy: remedyOf(error),
    at: isoTime(atMs),
  }
}

/** Tells log and bus of a failure; what a slot's record keeps of it is the caller's. */
export function announceFailure(
  { log, bus }: { readonly log: Log; readonly bus: Publisher },
  slot: string,
  type: 'slot.load_failed' | 'slot.crashed',
  failure: SlotFailure,
): void {
  log.error({ slot, code: failure.code, line: failure.line }, failure.message)
  const data = { slot, ...failure }
  bus.publish({ type, severity: 'error', source: `slot:${slot}`, message: failure.message, data })
}

function remedyOf(error: Hal0Error): string {
  const own = error.details?.['remedy']
  return typeof own === 'string' ? own : error.entry.remedy
}

/** What is wrong with the files that a load reads; mended files take it away, where nothing else failed. */
const CONFIG_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  'config.invalid',
  'slot.config_error',
  'slot.llama_env_denied',
  'slot.unconverted',
  'slot.profile_missing',
  'slot.flag_unsupported',
  'model.not_found',
  'slot.model_missing',
])

/** Did the slot fail on its files, before anything ran? */
export function isConfigFailure(failure: SlotFailure | undefined): boolean {
  return failure !== undefined && CONFIG_CODES.has(failure.code)
}

/** For requests and wishes that come to a slot that takes none any more. */
export function closingError(slot: string, why: ClosingReason): Hal0Error {
  switch (why) {
    case 'daemon_stops':
      return unloadingError(slot, 'stops with the daemon')
    case 'deleted':
      return Hal0Error.of('slot.not_found', `slot ${slot} is being deleted`, { details: { slot } })
    case 'renamed':
      return Hal0Error.of('slot.not_found', `slot ${slot} is being renamed`, { details: { slot } })
  }
}

/** For requests to the on-demand slot while it is being deleted: it is made anew for the next one. */
export function remadeSoonError(slot: string): Hal0Error {
  return unloadingError(slot, 'is being deleted; it is made anew when its requests have ended')
}

/** Something that only a slot at rest can have done to it. */
export function noSuchTransitionError(slot: string, why: ClosingReason, state: SlotState): Hal0Error {
  const done = why === 'renamed' ? 'renamed' : 'closed'
  return Hal0Error.of(
    'slot.illegal_transition',
    `slot ${slot} is ${state}; it can only be ${done} while it is offline`,
    {
      details: { slot, state, remedy: `Unload it first: \`hal0 slot unload ${slot}\`.` },
    },
  )
}
