import type { GenerationSettings } from './generation-settings.ts'

/** What llama-server calls a drawn seed. */
const RANDOM_SEED = 2 ** 32 - 1

/** Settings as `/completion` and `/props` show them. */
export function wireSettings(settings: GenerationSettings): Readonly<Record<string, unknown>> {
  const s = settings.sampling
  return {
    seed: s.seed ?? RANDOM_SEED,
    temperature: s.temperature,
    top_k: s.topK,
    top_p: s.topP,
    min_p: s.minP,
    repeat_last_n: s.repeatLastTokens,
    repeat_penalty: s.repeatPenalty,
    presence_penalty: s.presencePenalty,
    frequency_penalty: s.frequencyPenalty,
    stop: settings.stop,
    max_tokens: settings.maxTokens,
    n_predict: settings.maxTokens,
    ignore_eos: settings.ignoreEos,
    stream: settings.stream,
  }
}
