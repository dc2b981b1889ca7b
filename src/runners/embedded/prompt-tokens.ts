import type { Token } from 'node-llama-cpp'
import type { LoadedModel } from './load-model.ts'
import { badRequest, promptTooLong } from './rules/engine-error.ts'
import { tokenList } from './rules/read-fields.ts'

/** No vocabulary has tokens so long on average that a text of this many characters per token of the window could fit. */
const CHARACTERS_PER_TOKEN = 256

/** Tokens of a text. `special`: control tokens in it are read as such. Adds nothing. */
export function tokenize(loaded: LoadedModel, text: string, special: boolean): Token[] {
  return loaded.model.tokenize(text, special)
}

/** The tokens that this model wants around a text: BOS before, EOS after, where its file says so. */
export function withBounds(loaded: LoadedModel, tokens: readonly Token[]): Token[] {
  const { bos, eos, shouldPrependBosToken, shouldAppendEosToken } = loaded.model.tokens
  return [
    ...(shouldPrependBosToken && bos !== null && tokens[0] !== bos ? [bos] : []),
    ...tokens,
    ...(shouldAppendEosToken && eos !== null && tokens.at(-1) !== eos ? [eos] : []),
  ]
}

/** A rendered prompt as tokens, with BOS where the model wants one. Errors: 400 for a text that cannot possibly fit. */
export function promptTokens(loaded: LoadedModel, text: string): Token[] {
  // Tokenizing tens of megabytes would block the process for seconds only to refuse the request.
  if (text.length > loaded.windowTokens * CHARACTERS_PER_TOKEN) {
    throw promptTooLong(Math.ceil(text.length / CHARACTERS_PER_TOKEN), loaded.windowTokens)
  }
  const tokens = tokenize(loaded, text, true)
  const { bos, shouldPrependBosToken } = loaded.model.tokens
  return shouldPrependBosToken && bos !== null && tokens[0] !== bos ? [bos, ...tokens] : tokens
}

/** `prompt` of a completion: a text, token ids, or an array of one text. Errors: 400. */
export function readPrompt(loaded: LoadedModel, prompt: unknown): Token[] {
  if (prompt === undefined || prompt === null) throw badRequest("'prompt' is required")
  if (typeof prompt === 'string') return promptTokens(loaded, prompt)
  if (Array.isArray(prompt) && prompt.length === 1 && typeof prompt[0] === 'string')
    return promptTokens(loaded, prompt[0])
  if (Array.isArray(prompt) && prompt.every((part) => typeof part === 'number')) {
    return tokenList(prompt, 'prompt', loaded.vocabulary) as Token[]
  }
  throw badRequest("'prompt' must be a string or an array of token ids; several prompts need several requests")
}
