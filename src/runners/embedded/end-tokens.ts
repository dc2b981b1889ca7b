import { type LlamaModel, type Token, TokenBias } from 'node-llama-cpp'

/** Tokens that end an answer (EOS, EOT and what else the file marks so). */
export function findEndTokens(model: LlamaModel): Token[] {
  const end: Token[] = []
  for (const token of model.iterateAllTokens()) if (model.isEogToken(token)) end.push(token)
  return end
}

/**
 * A bias that forbids tokens, for `ignore_eos`. The library's own `set` skips end tokens on purpose, so the entries are written to
 * its map directly (its version is pinned; the `ignore_eos` case of test/contract/runner.ts fails if that stops working).
 */
export function forbidTokens(model: LlamaModel, tokens: readonly Token[]): TokenBias {
  const bias = new TokenBias(model.tokenizer)
  const entries: unknown = Reflect.get(bias, '_biases')
  if (!(entries instanceof Map)) throw new Error('node-llama-cpp changed: TokenBias has no _biases map')
  for (const token of tokens) entries.set(token, Number.NEGATIVE_INFINITY)
  return bias
}
