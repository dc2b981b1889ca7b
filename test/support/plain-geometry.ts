import type { KvGeometry } from '../../src/contract/model.ts'

/** 2 layers of one head with 64 elements: 2 × (64 + 64) × 2 bytes = 512 bytes per cell in f16, 256 per layer. */
export const PLAIN_GEOMETRY: KvGeometry = {
  layers: 2,
  kv_heads: 1,
  heads: 4,
  embedding_length: 256,
  key_length: null,
  value_length: null,
  kv_lora_rank: null,
  rope_dimensions: null,
  sliding_window: null,
  sliding_window_pattern: null,
  vocabulary: null,
  ssm: null,
}
