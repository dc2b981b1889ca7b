import type { FailureCause } from '../../contract/slot-state.ts'
import type { ErrorCode } from '../../kernel/error-registry.ts'
import { MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'
import type { TargetFailure } from './decision.ts'

/** Delay after the first failure; each further one in a row waits twice as long, up to the longest. Source: SPEC 12 "Failure". */
export const RETRY_FIRST_MS = 30 * SECOND_MS
export const RETRY_LONGEST_MS = 10 * MINUTE_MS

/** A load that has just failed, or an engine that has just ended by itself. */
export interface FailedNow {
  readonly nowMs: number
  readonly code: string
  readonly cause?: FailureCause | null
  readonly message: string
  /** Of the model and the profile, as they were launched. */
  readonly fingerprint: string
  /** The same model with the same profile would fail again. */
  readonly isPermanent: boolean
}

/** What stands against a target after it failed once more? `before`: what stood against it; undefined = nothing. Source: SPEC 12 "Failure". */
export function nextFailure(before: TargetFailure | undefined, now: FailedNow): TargetFailure {
  const failures = failuresBefore(before, now.fingerprint) + 1
  return {
    failures,
    code: now.code,
    cause: now.cause ?? null,
    message: now.message,
    failedAtMs: now.nowMs,
    retry: now.isPermanent
      ? { kind: 'never', fingerprint: now.fingerprint }
      : { kind: 'after', delayMs: retryDelayMs(failures) },
  }
}

/** What was mended since is another launch: it starts without failures. */
function failuresBefore(before: TargetFailure | undefined, fingerprint: string): number {
  if (before === undefined) return 0
  return before.retry.kind === 'never' && before.retry.fingerprint !== fingerprint ? 0 : before.failures
}

function retryDelayMs(failures: number): number {
  return Math.min(RETRY_FIRST_MS * 2 ** Math.min(failures - 1, 30), RETRY_LONGEST_MS)
}

/** What is wrong with models, profiles and their files before anything runs: as wrong at the next try. */
const PERMANENT_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  'config.invalid',
  'slot.config_error',
  'slot.tuning_key_denied',
  'slot.llama_env_denied',
  'slot.unconverted',
  'slot.profile_missing',
  'slot.flag_unsupported',
  'slot.model_missing',
  'profile.flag_denied',
  'profile.not_found',
  'model.not_found',
])

/** Memory may be free the next time. Looked for first: engines also call it a file that cannot be loaded. */
const OUT_OF_MEMORY =
  /out of memory|OutOf\w*Memory|MemoryError|bad_alloc|(failed|unable) to allocate|allocation of size|insufficient memory|cannot allocate memory|not enough memory|available memory|KV cache memory/i
const UNKNOWN_MODEL =
  /unknown model architecture|unknown pre-tokenizer type|unsupported model architecture|Model architectures .+ are not supported|does not recognize this architecture|architecture .+ is not supported|has no (vLLM|SGlang) implementation/i
const BAD_FILE =
  /not within the file bounds|corrupted or incomplete|invalid magic characters|not a GGUF file|failed to read magic|failed to open GGUF file|model file (not found|may not be read|cannot be opened)|model path is not a file|gguf_init_from_\w+: |missing tensor|wrong number of tensors|error loading model|does not appear to have a file named|not a valid model identifier|Cannot find any model weights|SafetensorError|Error while deserializing header/i

/**
 * Would the same model with the same profile fail again? So with a bad file, an architecture that the engine does not know, and mistakes in their
 * settings; not when memory ran out. `message`: with the engine's decisive line; it is read where `cause` (what that line was found to mean) is not
 * known. Source: SPEC 10 "error signatures", 12 "Failure".
 */
export function isPermanentFailure(code: string, message: string, cause?: FailureCause | null): boolean {
  if (PERMANENT_CODES.has(code)) return true
  if (cause !== undefined && cause !== null) return cause === 'bad_file' || cause === 'unsupported_architecture'
  if (code !== 'slot.spawn_failed' || OUT_OF_MEMORY.test(message)) return false
  return UNKNOWN_MODEL.test(message) || BAD_FILE.test(message)
}
