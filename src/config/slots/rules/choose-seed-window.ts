import { GIB, KIB } from '../../../kernel/units.ts'

/** Cache of one token: an 8B model with grouped heads (32 layers, 8 heads of 128, keys and values, 2 bytes each). */
const KV_BYTES_PER_TOKEN = 128 * KIB
/** Room for the weights of a model that such a machine would serve. */
const WEIGHT_BYTES = 8 * GIB
/** The rest of the memory is for everything else that runs. */
const MEMORY_SHARE = 0.75
/** No seed slot is useful with less, so no machine gets less. */
const LEAST_TOKENS = 8192

/**
 * The context window of a seed slot, in tokens: `wantedTokens` where a machine with so much memory can afford its cache, else the largest
 * power of two that it can, but at least 8192 (and never more than was wanted). Source: SPEC 3 "Where a machine cannot afford a seed's window".
 */
export function chooseSeedWindow(memoryBytes: number, wantedTokens: number): number {
  const affordable = (memoryBytes * MEMORY_SHARE - WEIGHT_BYTES) / KV_BYTES_PER_TOKEN
  if (wantedTokens <= Math.max(affordable, LEAST_TOKENS)) return wantedTokens
  let tokens = LEAST_TOKENS
  while (tokens * 2 <= affordable) tokens *= 2
  return tokens
}
