import { z } from 'zod'

/** `off` leaves the projector out. Source: SPEC 3, 9. */
export const VISION_MODES = ['auto', 'off'] as const
export type VisionMode = (typeof VISION_MODES)[number]

/** `auto`: drafter, else MTP heads, else plain; `ngram`: lookup, no file. Source: SPEC 9. */
export const SPECULATION_MODES = ['auto', 'off', 'ngram'] as const
export type SpeculationMode = (typeof SPECULATION_MODES)[number]

/** Levels that engines give to the chat template. Absent = the template's own. */
export const REASONING_EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number]

/** No window below this makes sense; above this no engine goes. */
export const MIN_CTX_TOKENS = 256
export const MAX_CTX_TOKENS = 16_777_216

/** One of the values, or a message that lists them. */
export function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  const quoted = values.map((value) => `"${value}"`)
  const last = quoted.pop()
  return z.enum(values, `expected ${quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`}`)
}

/** What a profile sets and a slot's `[tune]` may override: every key optional, absent = inherit. Source: SPEC 3. */
export const tuneShape = {
  /** Tokens. */
  ctx_size: z
    .number(`expected a number of tokens from ${MIN_CTX_TOKENS} to ${MAX_CTX_TOKENS}`)
    .int('expected a whole number of tokens')
    .min(MIN_CTX_TOKENS, `expected at least ${MIN_CTX_TOKENS} tokens`)
    .max(MAX_CTX_TOKENS, `expected at most ${MAX_CTX_TOKENS} tokens`)
    .optional(),
  /** Applies to new requests; everything else to the next start. */
  enable_thinking: z.boolean('expected true or false').optional(),
  reasoning_effort: oneOf(REASONING_EFFORTS).optional(),
  /** Tokens; -1 = no limit, 0 = no thinking. */
  reasoning_budget: z
    .number('expected a number of tokens; -1 = no limit')
    .int('expected a whole number of tokens')
    .min(-1, 'expected -1 (no limit) or more')
    .optional(),
  vision: oneOf(VISION_MODES).optional(),
  speculation: oneOf(SPECULATION_MODES).optional(),
} as const

export const tuneSchema = z.strictObject(tuneShape)
export type Tune = z.output<typeof tuneSchema>
export const TUNE_KEYS = Object.keys(tuneShape) as readonly (keyof Tune)[]
