/**
 * Runners of programs that people install in many ways: what they serve is known, how they are started may be said by
 * `[runners.<key>]` (`template`, `health_path`, `models_path`, `stop_signal`). Source: SPEC 10, docs/runners.md.
 */
export const SERVICE_RUNNERS = ['flm', 'kokoro', 'qwen3tts', 'moonshine', 'vibevoice', 'comfyui'] as const
export type ServiceRunnerKey = (typeof SERVICE_RUNNERS)[number]

/** Runners that find their models themselves, by a name of their own: a slot's model is that name, and no row of models.toml. */
const TAG_RUNNERS: readonly string[] = ['flm', 'comfyui']

/** May `[runners.<key>]` say how this one is started? */
export function isServiceRunner(key: string): key is ServiceRunnerKey {
  return SERVICE_RUNNERS.some((known) => known === key)
}

/** Does this runner know models by names of its own, which no registry has to have? */
export function isTagRunner(key: string): boolean {
  return TAG_RUNNERS.includes(key)
}

/** Runners that serve a model of their own: no model has to be bound. The only list of them. Source: SPEC 10. */
export const SELF_MANAGED_RUNNERS = ['kokoro', 'qwen3tts', 'moonshine', 'vibevoice'] as const

/** Does this runner bring its own model? */
export function isSelfManagedRunner(key: string): boolean {
  return SELF_MANAGED_RUNNERS.some((known) => known === key)
}
