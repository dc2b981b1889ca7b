import type { KvGeometry } from '../../contract/model.ts'

/**
 * How the layers of an architecture share out the sliding window where the file does not say. `every`: so many layers make a group with
 * one that sees everything; `fullFirst`: it is the first of them, not the last. `windowTokens`: the engine's own number for a file without.
 * `minLayers`: smaller models of the architecture have no window.
 */
interface SlidingPattern {
  readonly every: number
  readonly fullFirst?: true
  readonly windowTokens?: number
  readonly minLayers?: number
}

/** Facts of llama.cpp's loader, by architecture. */
const SLIDING: ReadonlyMap<string, SlidingPattern> = new Map<string, SlidingPattern>([
  ['gemma2', { every: 2, windowTokens: 4_096 }],
  ['gemma3', { every: 6 }],
  ['gemma3n', { every: 5 }],
  ['gpt-oss', { every: 2 }],
  ['cohere2', { every: 4 }],
  ['cohere2moe', { every: 4 }],
  ['exaone4', { every: 4, minLayers: 64 }],
  ['exaone-moe', { every: 4 }],
  ['olmo2', { every: 4 }],
  ['afmoe', { every: 4 }],
  ['plamo3', { every: 8 }],
  ['smallthinker', { every: 4, fullFirst: true }],
  // Attends in chunks; the cache is that of a window of their size.
  ['llama4', { every: 4, windowTokens: 8_192 }],
])

/** Architectures whose files name a window that the engine does not use: every layer keeps everything. */
const WINDOW_UNUSED: ReadonlySet<string> = new Set([
  'llama',
  'mistral3',
  'phi3',
  'phimoe',
  'qwen2',
  'qwen2moe',
  'qwen3',
  'qwen3moe',
  'starcoder2',
])

/** Encoders and diffusion models: they read the whole text at once and keep nothing. */
const CACHELESS: ReadonlySet<string> = new Set([
  'bert',
  'nomic-bert',
  'nomic-bert-moe',
  'jina-bert-v2',
  'jina-bert-v3',
  'neo-bert',
  'eurobert',
  'modern-bert',
  'gemma-embedding',
  't5encoder',
  'wavtokenizer-dec',
  'dream',
  'llada',
  'llada-moe',
  'rnd1',
])

/** Every nth layer attends, the others are recurrent: for files that do not say it. */
const FULL_INTERVALS: ReadonlyMap<string, number> = new Map([
  ['qwen3next', 4],
  ['qwen35', 4],
  ['qwen35moe', 4],
])

/** Which compress their cache in ways that the header alone does not tell. */
const UNMODELLED: ReadonlySet<string> = new Set(['deepseek4', 'deepseek41'])

/** Does this architecture keep no cache at all? */
export function isCacheless(architecture: string): boolean {
  return CACHELESS.has(architecture)
}

/** Can the cache of this architecture not be told from its header? */
export function isUnmodelled(architecture: string): boolean {
  return UNMODELLED.has(architecture)
}

/** Every how many layers does one attend in this hybrid architecture, where the file is silent? Undefined = no such architecture. */
export function fullIntervalOf(architecture: string): number | undefined {
  return FULL_INTERVALS.get(architecture)
}

/** Which layers slide, and over how many tokens. `note`: why more was assumed than may be true. */
export interface SlidingLayers {
  readonly windowTokens: number
  readonly slides: (layer: number) => boolean
  readonly note?: string
}

const NONE: SlidingLayers = { windowTokens: 0, slides: () => false }

/**
 * Which layers keep only a window? The file's own word on the layers wins; then what is known of the architecture. A window of which it is
 * not known who uses it counts for nobody, the larger side, with a note. Source: SPEC 7 "sliding windows and MLA where known".
 */
export function resolveSlidingLayers(architecture: string | null, geometry: KvGeometry): SlidingLayers {
  const known = architecture === null ? undefined : SLIDING.get(architecture)
  const windowTokens = geometry.sliding_window ?? known?.windowTokens ?? 0
  if (windowTokens === 0 || (architecture !== null && WINDOW_UNUSED.has(architecture))) return NONE
  const said = geometry.sliding_window_pattern
  if (Array.isArray(said)) return { windowTokens, slides: (layer) => said[layer] === true }
  if (said !== null) return { windowTokens, slides: periodic(said, known?.fullFirst === true) }
  if (known === undefined) {
    return {
      ...NONE,
      note: `it is not known which layers of ${architecture ?? 'this architecture'} use the sliding window, so all are counted in full`,
    }
  }
  if ((geometry.layers ?? 0) < (known.minLayers ?? 0)) return NONE
  return { windowTokens, slides: periodic(known.every, known.fullFirst === true) }
}

/** `every` 0 = all slide, 1 = none. */
function periodic(every: number, fullFirst: boolean): (layer: number) => boolean {
  if (every === 0) return () => true
  return (layer) => layer % every !== (fullFirst ? 0 : every - 1)
}
