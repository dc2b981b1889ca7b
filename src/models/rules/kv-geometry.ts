import type { KvGeometry } from '../../contract/model.ts'
import { withoutUndefined } from '../../kernel/without-undefined.ts'
import type { ArchitectureKey } from './header-values.ts'
import { MAX_LAYERS } from './kv-layers.ts'
import type { HeaderReader } from './resolve-facts.ts'

/**
 * The numbers from which the size of the attention cache follows. `own` puts the architecture in front of a key. Layers that the file says
 * keep no cache of their own are told as 0 heads. Source: SPEC 7 "Pre-load admission".
 */
export function resolveKvGeometry(read: HeaderReader, own: (key: ArchitectureKey) => string): KvGeometry {
  const whole = (key: ArchitectureKey) => read.whole(own(key)) ?? null
  const rare = (key: ArchitectureKey) => read.whole(own(key))
  const layers = whole('block_count')
  const pattern = read.wholes(own('attention.sliding_window_pattern'))
  const heads = read.wholes(own('attention.head_count')) ?? null
  return {
    layers,
    // A model that does not say shares no heads: llama.cpp's default.
    kv_heads: withoutCacheless(read.wholes(own('attention.head_count_kv')) ?? heads, layers, {
      fullInterval: whole('full_attention_interval') ?? 0,
      sharedLayers: whole('attention.shared_kv_layers') ?? 0,
    }),
    heads,
    embedding_length: whole('embedding_length'),
    key_length: whole('attention.key_length'),
    value_length: whole('attention.value_length'),
    kv_lora_rank: whole('attention.kv_lora_rank'),
    rope_dimensions: whole('rope.dimension_count'),
    sliding_window: whole('attention.sliding_window') || null,
    sliding_window_pattern: Array.isArray(pattern) ? pattern.map((flag) => flag !== 0) : (pattern ?? null),
    vocabulary: read.count('tokenizer.ggml.tokens') ?? whole('vocab_size'),
    ssm: resolveRecurrent(whole),
    ...withoutUndefined({
      key_length_swa: rare('attention.key_length_swa'),
      value_length_swa: rare('attention.value_length_swa'),
      indexer_key_length: rare('attention.indexer.key_length'),
      shortconv_cache: rare('shortconv.l_cache'),
      wkv_head_size: rare('wkv.head_size'),
      token_shift_count: rare('token_shift_count'),
      kda_head_length: rare('kda.head_dim'),
    }),
  }
}

/** `fullInterval`: only every nth layer attends. `sharedLayers`: the last n use the cache of earlier ones. 0 = not said. */
function withoutCacheless(
  kvHeads: number | number[] | null,
  layers: number | null,
  said: { readonly fullInterval: number; readonly sharedLayers: number },
): number | number[] | null {
  if (kvHeads === null || layers === null || layers > MAX_LAYERS) return kvHeads
  if (said.fullInterval < 2 && said.sharedLayers === 0) return kvHeads
  const headsOf = (layer: number) => (Array.isArray(kvHeads) ? (kvHeads[layer] ?? 0) : kvHeads)
  const attends = (layer: number) => said.fullInterval < 2 || (layer + 1) % said.fullInterval === 0
  return Array.from({ length: layers }, (_, layer) =>
    attends(layer) && layer < layers - said.sharedLayers ? headsOf(layer) : 0,
  )
}

function resolveRecurrent(whole: (key: ArchitectureKey) => number | null): KvGeometry['ssm'] {
  const ssm = {
    conv_kernel: whole('ssm.conv_kernel'),
    inner_size: whole('ssm.inner_size'),
    state_size: whole('ssm.state_size'),
    group_count: whole('ssm.group_count'),
  }
  return Object.values(ssm).every((value) => value === null) ? null : ssm
}
