import { LLAMA_SERVER_KEYS } from './llama-server-keys.ts'
import { SERVICE_RUNNERS } from './rules/service-keys.ts'

/** Every runner key that hal0 gives a meaning; all other keys are templates of the user. Source: SPEC 10. */
export const RUNNER_KEYS = ['embedded', ...LLAMA_SERVER_KEYS, 'vllm', 'sglang', ...SERVICE_RUNNERS, 'custom'] as const
export type RunnerKey = (typeof RUNNER_KEYS)[number]

/** Does hal0 give this key a meaning? `custom` is one of them: its meaning is its template. */
export function isRunnerKey(key: string): key is RunnerKey {
  return RUNNER_KEYS.some((known) => known === key)
}
