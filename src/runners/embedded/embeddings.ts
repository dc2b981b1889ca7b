import type { LlamaEmbeddingContext, Token } from 'node-llama-cpp'
import type { Engine } from './engine.ts'
import { promptTooLong } from './rules/engine-error.ts'

/** A pooled vector needs its whole input in one step, whose memory grows with it: longer inputs are refused. */
const LONGEST_INPUT_TOKENS = 8_192

/** Computes vectors in a context of its own, made at the first request. */
export interface Embedder {
  /** The pooled vector of an input, scaled to length 1. Pooling is the file's own, else the last token's. Errors: 400. */
  embed(tokens: readonly Token[]): Promise<readonly number[]>
}

export function createEmbedder(engine: Engine): Embedder {
  const { model, threads, windowTokens } = engine.loaded
  const limit = Math.min(windowTokens, LONGEST_INPUT_TOKENS)
  let context: Promise<LlamaEmbeddingContext> | undefined
  const open = (): Promise<LlamaEmbeddingContext> => {
    context ??= model
      .createEmbeddingContext({ contextSize: limit, batchSize: limit, threads, ignoreMemorySafetyChecks: true })
      .catch((error: unknown) => {
        context = undefined
        throw error
      })
    return context
  }
  return {
    async embed(tokens) {
      if (tokens.length >= limit) throw promptTooLong(tokens.length, limit)
      const { vector } = await (await open()).getEmbeddingFor([...tokens])
      const length = Math.hypot(...vector)
      return length === 0 ? vector : vector.map((value) => value / length)
    },
  }
}
