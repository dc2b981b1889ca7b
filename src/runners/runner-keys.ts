/** Every runner key that hal0 gives a meaning; all other keys are templates of the user. Source: SPEC 10. */
export const RUNNER_KEYS = [
  'embedded',
  'cpu',
  'standard',
  'cuda',
  'vllm',
  'sglang',
  'flm',
  'kokoro',
  'qwen3tts',
  'moonshine',
  'vibevoice',
  'comfyui',
  'custom',
] as const
export type RunnerKey = (typeof RUNNER_KEYS)[number]

/** Does hal0 give this key a meaning? `custom` is one of them: its meaning is its template. */
export function isRunnerKey(key: string): key is RunnerKey {
  return RUNNER_KEYS.some((known) => known === key)
}
