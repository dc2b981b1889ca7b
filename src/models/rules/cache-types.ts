/** Types in which a cache can be kept: elements that are stored together, and their bytes. Source: `--cache-type-k` of llama-server. */
const CACHE_TYPES: ReadonlyMap<string, readonly [blockElements: number, blockBytes: number]> = new Map([
  ['f32', [1, 4]],
  ['f16', [1, 2]],
  ['bf16', [1, 2]],
  ['q8_0', [32, 34]],
  ['q4_0', [32, 18]],
  ['q4_1', [32, 20]],
  ['iq4_nl', [32, 18]],
  ['q5_0', [32, 22]],
  ['q5_1', [32, 24]],
])

/** What llama-server takes when nobody says. */
export const DEFAULT_CACHE_TYPE = 'f16'

/** How many bytes do so many elements of this type take? Undefined = a type that hal0 does not know. */
export function cacheRowBytes(type: string, elements: number): number | undefined {
  const block = CACHE_TYPES.get(type.toLowerCase())
  return block === undefined ? undefined : Math.ceil(elements / block[0]) * block[1]
}
