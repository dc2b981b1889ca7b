import { randomInt } from 'node:crypto'
import type { SequenceEvaluateOptions, Token } from 'node-llama-cpp'
import type { LoadedModel } from './load-model.ts'
import type { GenerationSettings } from './rules/generation-settings.ts'

const SEEDS = 2 ** 32 - 1

/** The library's options for a request. `recent(n)`: the last n tokens of prompt and answer; −1 = all. */
export function samplingOptions(
  loaded: LoadedModel,
  settings: GenerationSettings,
  recent: (count: number) => Token[],
): SequenceEvaluateOptions {
  const s = settings.sampling
  const penalised = s.repeatPenalty !== 1 || s.presencePenalty !== 0 || s.frequencyPenalty !== 0
  return {
    temperature: s.temperature,
    topK: s.topK,
    topP: s.topP,
    minP: s.minP,
    // Always given: the library would take the clock, and change it while the answer is being generated.
    seed: s.seed ?? randomInt(SEEDS),
    yieldEogToken: true,
    ...(settings.ignoreEos ? { tokenBias: loaded.endForbidden } : {}),
    ...(penalised && s.repeatLastTokens !== 0
      ? {
          repeatPenalty: {
            punishTokens: () => recent(s.repeatLastTokens),
            maxPunishTokens: Math.max(64, s.repeatLastTokens),
            penalty: s.repeatPenalty,
            presencePenalty: s.presencePenalty,
            frequencyPenalty: s.frequencyPenalty,
          },
        }
      : {}),
  }
}
