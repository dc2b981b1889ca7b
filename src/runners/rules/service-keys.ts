/**
 * Runners of programs that people install in many ways: what they serve is known, how they are started may be said by
 * `[runners.<key>]` (`template`, `health_path`, `models_path`, `stop_signal`). Source: SPEC 10, docs/runners.md.
 */
export const SERVICE_RUNNERS = ['flm', 'kokoro', 'qwen3tts', 'moonshine', 'vibevoice', 'comfyui'] as const
export type ServiceRunnerKey = (typeof SERVICE_RUNNERS)[number]

/**
 * Runners that find their models themselves, by a name of their own: a slot's model is that name, and no row of models.toml. `word`: what
 * stands for it in a command; `where`: how it is found, as the end of a sentence.
 */
const TAG_RUNNERS: ReadonlyMap<string, TagWords> = new Map([
  ['flm', { word: 'TAG', where: '`flm list` shows them' }],
  ['comfyui', { word: 'CHECKPOINT', where: 'by the name that ComfyUI has for it' }],
])

export interface TagWords {
  readonly word: string
  readonly where: string
}

/** May `[runners.<key>]` say how this one is started? */
export function isServiceRunner(key: string): key is ServiceRunnerKey {
  return SERVICE_RUNNERS.some((known) => known === key)
}

/** Does this runner know models by names of its own, which no registry has to have? */
export function isTagRunner(key: string): boolean {
  return TAG_RUNNERS.has(key)
}

/** How people name this runner's models; undefined = by the ids of models.toml. */
export function tagWordsOf(key: string): TagWords | undefined {
  return TAG_RUNNERS.get(key)
}

/** Runners that serve a model of their own: no model has to be bound. The only list of them. Source: SPEC 10. */
export const SELF_MANAGED_RUNNERS = ['kokoro', 'qwen3tts', 'moonshine', 'vibevoice'] as const

/** Does this runner bring its own model? */
export function isSelfManagedRunner(key: string): boolean {
  return SELF_MANAGED_RUNNERS.some((known) => known === key)
}
