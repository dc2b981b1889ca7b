import { type ErrorCode, errorRegistry } from '../../kernel/error-registry.ts'
import { Hal0Error, type RetryableCode } from '../../kernel/errors.ts'

/** What of an error a client of /v1 gets to see. */
export interface PublicError {
  readonly error: Hal0Error
  readonly status: number
}

const UNAVAILABLE = 503

/** Needs someone, though no file is wrong: what else this machine runs stands against it. */
const OF_THE_MACHINE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'slot.not_ready',
  'slot.npu_exclusivity_violation',
  'slot.preload_evict_insufficient',
  'internal',
])

/** An engine was started, and failed; what it said may hold paths. */
const OF_THE_ENGINE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'slot.spawn_failed',
  'slot.health_failed',
  'slot.output_sanity_failed',
])

/**
 * How does a client of /v1 hear that a slot cannot be had? What cures itself, and what needs someone (OF_THE_MACHINE), is told as it is; an engine
 * that failed (OF_THE_ENGINE) too, without folders of this machine. A slot that went while the request
 * was on its way is a name that does not exist: 404 `model_not_found`. Everything else is a mistake of
 * the operator in files, models or ports, not one of whoever asks: 503 without Retry-After and without its text, under its code.
 * The whole text is in the slot's row under /api and in the log. Source: SPEC 2, 20.
 */
export function publicSlotError(error: Hal0Error, slot: string): PublicError {
  const { code, status } = error
  if (!isFinal(code) || OF_THE_MACHINE.has(code)) return { error, status }
  if (OF_THE_ENGINE.has(code)) {
    const details = Object.entries(error.details ?? {}).map(([key, value]) => [key, withoutFolder(value)])
    const bare = { details: Object.fromEntries(details) as Record<string, unknown>, cause: error }
    return { error: Hal0Error.of(code, withoutFolder(error.message), bare), status }
  }
  if (code === 'slot.not_found') {
    const gone = Hal0Error.of('model_not_found', `Slot "${slot}" is gone: it was deleted or renamed`, {
      param: 'model',
      details: { slot },
      cause: error,
    })
    return { error: gone, status: gone.status }
  }
  const message = `Slot "${slot}" cannot be loaded (${code}): whoever runs hal0 has to correct its settings`
  const remedy = `\`hal0 slot show ${slot}\` and the daemon's log say what is wrong.`
  return { error: Hal0Error.of(code, message, { details: { slot, remedy }, cause: error }), status: UNAVAILABLE }
}

function isFinal(code: ErrorCode): code is Exclude<ErrorCode, RetryableCode> {
  return errorRegistry[code].retry === 'never'
}

const FOLDERS = /(^|[^\w/:.~-])~?(?:\/[^\s/'"`<>|(),;:]+)*\/([^\s/'"`<>|(),;:]*)/g

/** Absolute paths in a text shrink to their last part. Addresses (`http://…`) are no paths. */
function withoutFolder<T>(value: T): T | string {
  return typeof value === 'string' ? value.replace(FOLDERS, '$1$2') : value
}
