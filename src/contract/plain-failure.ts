import type { ErrorCode } from '../kernel/error-registry.ts'
import type { FailureCause } from './slot-state.ts'

/** What is known to end engines. */
const CAUSES: Readonly<Record<FailureCause, string>> = {
  out_of_memory: 'it ran out of memory',
  bad_file: 'the file of the model cannot be read',
  unsupported_architecture: 'the engine does not know this kind of model',
  port_in_use: 'its port is in use',
  missing_library: 'the engine lacks a library',
  bad_flag: 'the engine does not know a flag that it was given',
}

const MISTAKE = 'its settings have a mistake'
const CODES: Readonly<Partial<Record<ErrorCode, string>>> = {
  'slot.spawn_failed': 'its engine did not start, or ended by itself',
  'slot.health_failed': 'its engine was not ready in time, or answered no more',
  'slot.output_sanity_failed': 'its engine answers a known question wrongly',
  'slot.port_in_use': CAUSES.port_in_use,
  'slot.model_missing': 'its model, or a file of it, is not there',
  'model.not_found': 'its model is not there',
  'profile.not_found': 'its profile is not there',
  'slot.profile_missing': 'its profile is not there',
  'config.invalid': MISTAKE,
  'slot.config_error': MISTAKE,
  'slot.tuning_key_denied': MISTAKE,
  'slot.llama_env_denied': MISTAKE,
  'slot.unconverted': MISTAKE,
  'slot.flag_unsupported': MISTAKE,
  'profile.flag_denied': MISTAKE,
}

/**
 * Why a load failed, in words that name nothing of this machine: for everybody, where the message is for administrators. Without a full stop;
 * '' = nothing is known but the code. Source: SPEC 14 "without env, paths or logs".
 */
export function plainFailure({ code, cause }: { readonly code: string; readonly cause?: FailureCause | null }): string {
  if (cause !== undefined && cause !== null) return CAUSES[cause]
  return Object.hasOwn(CODES, code) ? (CODES[code as ErrorCode] ?? '') : ''
}

/** The same with its code, which administrators can look up: `it ran out of memory (slot.spawn_failed)`. */
export function plainFailureText(failure: Parameters<typeof plainFailure>[0]): string {
  const plain = plainFailure(failure)
  return plain === '' ? failure.code : `${plain} (${failure.code})`
}
