import { MIB } from '../../../kernel/units.ts'

/** When nobody says; more are used only when asked for: each costs a window of memory. */
const PARALLEL_CHOICES: readonly number[] = [1, 2, 3, 4]

/** Windows of the default may take this share of the memory that is free. */
const MEMORY_SHARE = 0.25

/**
 * Below this size one thread finishes a step before others have been gathered (they are started per
 * step): on two cores a 1.5 MB model decodes ten times faster on one thread than on two.
 */
const ONE_THREAD_BELOW_BYTES = 128 * MIB

/** How many threads compute a step. `asked` 0 = choose. */
export function chooseThreads(asked: number, cores: number, weightBytes: number): number {
  if (asked > 0) return asked
  return weightBytes < ONE_THREAD_BELOW_BYTES ? 1 : Math.max(1, cores)
}

/** The numbers of requests at once to choose from, rising. `limit`: the most that is wanted; 0 = nobody said. */
export function parallelChoices(limit: number): readonly number[] {
  if (limit === 0) return PARALLEL_CHOICES
  return [...PARALLEL_CHOICES.filter((choice) => choice < limit), limit]
}

/**
 * How many requests are decoded at once? The most of the `choices` that fit a quarter of the free memory with a full window each, at
 * least one. `contextBytes`: the need for each of them.
 */
export function chooseParallel(choices: readonly number[], contextBytes: readonly number[], freeBytes: number): number {
  const fitting = choices.filter((_, at) => (contextBytes[at] ?? 0) <= freeBytes * MEMORY_SHARE)
  return Math.max(1, ...fitting)
}

/** Halves that a CPU with AVX-512 multiplies at once. */
const VECTOR_HALVES = 64

/**
 * Whether attention is computed fused. On a CPU the fused code handles heads that do not fill whole vectors one number at a time:
 * with heads of 40 it is seven times slower at 1,000 tokens. Otherwise the library decides (it saves memory at long windows).
 */
export function chooseFlashAttention(headSize: number): 'auto' | false {
  return headSize % VECTOR_HALVES === 0 ? 'auto' : false
}
