import { badRequest } from './engine-error.ts'
import { booleanField, isObject, type JsonObject, numberField, wholeField } from './read-fields.ts'
import { refuseUnsupported } from './unsupported-fields.ts'

/** How the next token is chosen. */
export interface SamplingSettings {
  /** 0 or less = always the likeliest token. */
  readonly temperature: number
  /** 0 = off. */
  readonly topK: number
  readonly topP: number
  readonly minP: number
  /** undefined = drawn for this request. */
  readonly seed: number | undefined
  /** 1 = off. */
  readonly repeatPenalty: number
  /** How many tokens back the penalties look; −1 = all. */
  readonly repeatLastTokens: number
  readonly presencePenalty: number
  readonly frequencyPenalty: number
}

/** What a client asked for, apart from the prompt. */
export interface GenerationSettings {
  readonly sampling: SamplingSettings
  /** −1 = until the model stops or the window is full. */
  readonly maxTokens: number
  readonly stop: readonly string[]
  readonly ignoreEos: boolean
  /** Whether a window that already holds the beginning of this prompt may be continued. */
  readonly cachePrompt: boolean
  readonly stream: boolean
  /** `stream_options.include_usage` */
  readonly includeUsage: boolean
}

/** What a request gets that does not say; from the command line. */
export interface GenerationDefaults {
  readonly sampling: SamplingSettings
  /** −1 = until the model stops or the window is full. */
  readonly maxTokens: number
}

/** llama-server's defaults. */
export const DEFAULT_SAMPLING: SamplingSettings = {
  temperature: 0.8,
  topK: 40,
  topP: 0.95,
  minP: 0.05,
  seed: undefined,
  repeatPenalty: 1,
  repeatLastTokens: 64,
  presencePenalty: 0,
  frequencyPenalty: 0,
}

const MAX_SEED = 2 ** 32 - 1

/** A seed as written; llama-server spells "draw one" as −1 and as the largest unsigned number. undefined = drawn. */
export function drawnSeed(seed: number): number | undefined {
  return seed < 0 || seed >= MAX_SEED ? undefined : seed
}

function readSampling(body: JsonObject, d: SamplingSettings): SamplingSettings {
  return {
    temperature: numberField(body, 'temperature', d.temperature),
    topK: Math.max(0, wholeField(body, 'top_k', d.topK)),
    topP: numberField(body, 'top_p', d.topP, [0, 1]),
    minP: numberField(body, 'min_p', d.minP, [0, 1]),
    seed: drawnSeed(wholeField(body, 'seed', d.seed ?? -1)),
    repeatPenalty: numberField(body, 'repeat_penalty', d.repeatPenalty, [0.01, 100]),
    repeatLastTokens: wholeField(body, 'repeat_last_n', d.repeatLastTokens),
    presencePenalty: numberField(body, 'presence_penalty', d.presencePenalty, [-2, 2]),
    frequencyPenalty: numberField(body, 'frequency_penalty', d.frequencyPenalty, [-2, 2]),
  }
}

function readStop(body: JsonObject): readonly string[] {
  const stop = body['stop']
  if (stop === undefined || stop === null) return []
  const list: readonly unknown[] = Array.isArray(stop) ? stop : [stop]
  return list
    .map((text) => {
      if (typeof text !== 'string') throw badRequest("'stop' must be a string or an array of strings")
      return text
    })
    .filter((text) => text !== '')
}

function readMaxTokens(body: JsonObject, absent: number): number {
  for (const key of ['max_completion_tokens', 'max_tokens', 'n_predict']) {
    if (body[key] === undefined || body[key] === null) continue
    const tokens = wholeField(body, key, -1)
    return tokens < 0 ? absent : tokens
  }
  return absent
}

function readIncludeUsage(body: JsonObject): boolean {
  const options = body['stream_options']
  if (options === undefined || options === null) return false
  if (!isObject(options)) throw badRequest("'stream_options' must be an object")
  return booleanField(options, 'include_usage', false)
}

/**
 * Reads everything but the prompt; what the body does not say comes from `defaults`, and a negative number of tokens says
 * nothing, as in llama-server. Errors: 400 naming the field.
 */
export function readGenerationSettings(body: JsonObject, defaults: GenerationDefaults): GenerationSettings {
  refuseUnsupported(body)
  return {
    sampling: readSampling(body, defaults.sampling),
    maxTokens: readMaxTokens(body, defaults.maxTokens),
    stop: readStop(body),
    ignoreEos: booleanField(body, 'ignore_eos', false),
    cachePrompt: booleanField(body, 'cache_prompt', true),
    stream: booleanField(body, 'stream', false),
    includeUsage: readIncludeUsage(body),
  }
}
