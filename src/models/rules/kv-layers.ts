import type { KvGeometry } from '../../contract/model.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { fullIntervalOf, type SlidingLayers } from './kv-patterns.ts'

/** More layers than any model has: a header that says more is not believed. */
export const MAX_LAYERS = 1_024
/** RWKV shifts two embeddings unless the file says otherwise. */
const TOKEN_SHIFTS = 2

/** What one layer keeps. Widths in elements. */
export interface LayerState {
  /** Of keys and values per cell; 0 = it does not attend, or uses the cache of another layer. */
  readonly keyElements: number
  readonly valueElements: number
  readonly slides: boolean
  /** Recurrent state per sequence, in f32. */
  readonly recurrentElements: number
  /** It is there for multi-token prediction only. */
  readonly isMtp: boolean
}

/**
 * What does each layer keep? In their order; the last `mtpLayers` are those for multi-token prediction. The error is the reason in one clause.
 */
export function resolveLayerStates(
  architecture: string | null,
  geometry: KvGeometry,
  sliding: SlidingLayers,
  mtpLayers: number,
): Result<readonly LayerState[], string> {
  const { layers } = geometry
  if (layers === null) return err('its header does not say how many layers it has')
  if (layers > MAX_LAYERS) return err(`its header counts ${layers} layers, more than any model has`)
  const kvHeads = geometry.kv_heads
  if (kvHeads === null) return err('its header does not say how many heads keep keys and values')
  if (Array.isArray(kvHeads) && kvHeads.length < layers) {
    return err(`its header tells the heads of ${kvHeads.length} of ${layers} layers`)
  }
  const recurrent = recurrentElementsOf(geometry)
  const mtpFrom = layers - Math.min(mtpLayers, layers)
  const headsOf = (layer: number) => {
    const own = Array.isArray(kvHeads) ? (kvHeads[layer] ?? 0) : kvHeads
    if (layer >= mtpFrom) return own || mostOf(kvHeads)
    const interval = recurrent > 0 && architecture !== null ? fullIntervalOf(architecture) : undefined
    return interval !== undefined && !Array.isArray(kvHeads) && (layer + 1) % interval !== 0 ? 0 : own
  }
  const heads = Array.from({ length: layers }, (_, layer) => headsOf(layer))
  const sizes = headSizesOf(geometry, heads)
  if (sizes === undefined && heads.some((count) => count > 0)) {
    return err('its header does not say how long the keys of a head are')
  }
  // Where no layer is without heads, each one has both kinds of memory (Falcon H1).
  const areAllBoth = heads.slice(0, mtpFrom).every((count) => count > 0)
  return ok(
    heads.map((count, layer) => {
      const slides = sliding.slides(layer)
      const isMtp = layer >= mtpFrom
      return {
        keyElements: count * (sizes?.key(slides) ?? 0) + (count > 0 ? (geometry.indexer_key_length ?? 0) : 0),
        valueElements: count * (sizes?.value(slides) ?? 0),
        slides,
        recurrentElements: !isMtp && (count === 0 || areAllBoth) ? recurrent : 0,
        isMtp,
      }
    }),
  )
}

const mostOf = (counts: number | readonly number[]) => (typeof counts === 'number' ? counts : Math.max(0, ...counts))

interface HeadSizes {
  readonly key: (slides: boolean) => number
  readonly value: (slides: boolean) => number
}

/** Undefined = they cannot be told. */
function headSizesOf(geometry: KvGeometry, kvHeads: readonly number[]): HeadSizes | undefined {
  const { heads, embedding_length: width, kv_lora_rank: rank } = geometry
  // Files for the compressed cache say so by their one head; older ones are decompressed to all heads.
  if (rank !== null && rank > 0 && mostOf(kvHeads) <= 1) {
    const rope = geometry.rope_dimensions
    const key = geometry.key_length ?? (rope === null ? undefined : rank + rope)
    // The values are read from the keys.
    return key === undefined ? undefined : { key: () => key, value: () => 0 }
  }
  const queryHeads = Array.isArray(heads) ? (heads.find((count) => count > 0) ?? 0) : (heads ?? 0)
  const shared = width === null || queryHeads === 0 ? undefined : Math.floor(width / queryHeads)
  const key = geometry.key_length ?? shared
  const value = geometry.value_length ?? shared ?? key
  if (key === undefined || value === undefined) return undefined
  return {
    key: (slides) => (slides ? (geometry.key_length_swa ?? key) : key),
    value: (slides) => (slides ? (geometry.value_length_swa ?? value) : value),
  }
}

/** Elements of the state that a recurrent layer keeps per sequence; 0 = the model has no such layers. */
function recurrentElementsOf(geometry: KvGeometry): number {
  const width = geometry.embedding_length ?? 0
  if (geometry.wkv_head_size !== undefined) {
    return width * (geometry.token_shift_count ?? TOKEN_SHIFTS) + width * geometry.wkv_head_size
  }
  if (geometry.shortconv_cache !== undefined) return width * Math.max(0, geometry.shortconv_cache - 1)
  const { ssm } = geometry
  const columns = Math.max(0, (ssm?.conv_kernel ?? 0) - 1)
  if (geometry.kda_head_length !== undefined) {
    const inner = mostOf(geometry.heads ?? 0) * geometry.kda_head_length
    return 3 * columns * inner + inner * geometry.kda_head_length
  }
  if (ssm === null) return 0
  const inner = ssm.inner_size ?? 0
  const state = ssm.state_size ?? 0
  return columns * (inner + 2 * (ssm.group_count ?? 0) * state) + state * inner
}
