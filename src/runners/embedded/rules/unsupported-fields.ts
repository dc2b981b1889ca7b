import { badRequest } from './engine-error.ts'
import { isObject, type JsonObject } from './read-fields.ts'

type Neutral = (value: unknown) => boolean

const isEmpty: Neutral = (value) =>
  value === '' || value === false || (Array.isArray(value) ? value.length === 0 : isObject(value) && !hasKeys(value))
const is =
  (...values: readonly unknown[]): Neutral =>
  (value) =>
    values.includes(value)

function hasKeys(value: JsonObject): boolean {
  return Object.keys(value).length > 0
}

/**
 * Fields that change what an answer means and that this engine does not have, each with the values that ask for nothing.
 * Fields without influence on the text (`user`, `metadata`, …) are ignored like llama-server ignores unknown ones.
 */
const UNSUPPORTED: Readonly<Record<string, Neutral>> = {
  n: is(1),
  best_of: is(1),
  logprobs: is(false),
  top_logprobs: is(0),
  n_probs: is(0),
  tools: isEmpty,
  functions: isEmpty,
  grammar: isEmpty,
  json_schema: isEmpty,
  response_format: (value) => isObject(value) && value['type'] === 'text',
  logit_bias: isEmpty,
  echo: is(false),
  suffix: isEmpty,
  lora: isEmpty,
  samplers: isEmpty,
  image_data: isEmpty,
  audio: isEmpty,
  mirostat: is(0),
  typical_p: is(1),
  top_n_sigma: (value) => typeof value === 'number' && value <= 0,
  dynatemp_range: is(0),
  dry_multiplier: is(0),
  xtc_probability: is(0),
  t_max_predict_ms: (value) => typeof value === 'number' && value <= 0,
}

/** Refuses a request that asks for something this engine would have to ignore. Errors: 400 naming the field. */
export function refuseUnsupported(body: JsonObject): void {
  for (const [key, neutral] of Object.entries(UNSUPPORTED)) {
    const value = body[key]
    if (value === undefined || value === null || neutral(value)) continue
    throw badRequest(`'${key}' is not supported by the embedded engine; leave it out, or use a llama-server runner`)
  }
}
