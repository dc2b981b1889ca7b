import type { GgufOptions, GgufTensor, GgufValue } from './gguf-builder.ts'

/**
 * Models that a real llama.cpp loads: every tensor that their architecture asks for, of zeros, and a vocabulary of bytes. They say nothing
 * sensible; they are for measuring what an engine allocates.
 */
export interface TinyModel {
  readonly name: string
  readonly gguf: GgufOptions
}

/** Elements of an embedding. */
export const WIDTH = 128
/** Elements inside a feed-forward part. */
export const FFN = 128
const VOCABULARY = 259
const EPSILON: GgufValue = { type: 'float32', value: 1e-5 }

/** The keys that llama.cpp wants of a tokenizer with one token per byte. */
function vocabularyKeys(): Readonly<Record<string, GgufValue>> {
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`)
  const types = [2, 3, 3, ...bytes.map(() => 6)]
  return {
    'tokenizer.ggml.model': 'llama',
    'tokenizer.ggml.tokens': ['<unk>', '<s>', '</s>', ...bytes],
    'tokenizer.ggml.scores': { type: 'float32', items: types.map(() => 0) },
    'tokenizer.ggml.token_type': { type: 'int32', items: types },
    'tokenizer.ggml.unknown_token_id': 0,
    'tokenizer.ggml.bos_token_id': 1,
    'tokenizer.ggml.eos_token_id': 2,
  }
}

interface Shape {
  readonly architecture: string
  readonly layers: number
  readonly keys: Readonly<Record<string, GgufValue>>
  /** Of one layer, without `blk.N.` and `.weight`. */
  readonly layer: (layer: number) => Readonly<Record<string, readonly number[]>>
  readonly top?: Readonly<Record<string, readonly number[]>>
}

/** A model of this shape: the keys without the name of the architecture, and the tensors of each layer. */
export function tiny(name: string, { architecture, layers, keys, layer, top }: Shape): TinyModel {
  const own: Record<string, GgufValue> = {
    context_length: 8192,
    embedding_length: WIDTH,
    block_count: layers,
    feed_forward_length: FFN,
    vocab_size: VOCABULARY,
    'attention.layer_norm_rms_epsilon': EPSILON,
    ...keys,
  }
  const tensors: GgufTensor[] = [
    { name: 'token_embd.weight', shape: [WIDTH, VOCABULARY] },
    ...Object.entries(top ?? { output_norm: [WIDTH] }).map(([key, shape]) => ({ name: `${key}.weight`, shape })),
  ]
  for (let nth = 0; nth < layers; nth++) {
    for (const [key, shape] of Object.entries(layer(nth))) {
      const suffix = key.includes('.') || key === 'ssm_a' || key === 'ssm_d' ? '' : '.weight'
      tensors.push({ name: `blk.${nth}.${key}${suffix}`, shape })
    }
  }
  const prefixed = Object.fromEntries(Object.entries(own).map(([key, value]) => [`${architecture}.${key}`, value]))
  return { name, gguf: { architecture, keys: { ...prefixed, ...vocabularyKeys() }, tensors } }
}

/** Tensors of a plain feed-forward part with its norm. */
export const FEED_FORWARD = { ffn_norm: [WIDTH], ffn_gate: [WIDTH, FFN], ffn_up: [WIDTH, FFN], ffn_down: [FFN, WIDTH] }

/** Tensors of plain attention with its norm; lengths in elements of a head. */
export const attention = (heads: number, kvHeads: number, key: number, value = key) => ({
  attn_norm: [WIDTH],
  attn_q: [WIDTH, heads * key],
  attn_k: [WIDTH, kvHeads * key],
  attn_v: [WIDTH, kvHeads * value],
  attn_output: [heads * value, WIDTH],
})

/** Grouped heads. */
export function plainModel(): TinyModel {
  return tiny('plain', {
    architecture: 'llama',
    layers: 5,
    keys: {
      'attention.head_count': 4,
      'attention.head_count_kv': 2,
      'attention.key_length': 64,
      'attention.value_length': 64,
      'rope.dimension_count': 64,
    },
    layer: () => ({ ...attention(4, 2, 64), ...FEED_FORWARD }),
  })
}

/** Every sixth of its layers sees everything; the file does not say which. */
export function slidingModel(windowTokens: number): TinyModel {
  return tiny('sliding', {
    architecture: 'gemma3',
    // One full layer: with another pattern it would be none or two.
    layers: 11,
    keys: {
      'attention.head_count': 2,
      'attention.head_count_kv': 1,
      'attention.key_length': 64,
      'attention.value_length': 64,
      'attention.sliding_window': windowTokens,
    },
    layer: () => ({
      ...attention(2, 1, 64),
      ...FEED_FORWARD,
      attn_q_norm: [64],
      attn_k_norm: [64],
      post_attention_norm: [WIDTH],
      post_ffw_norm: [WIDTH],
    }),
  })
}

/** Every second layer slides, from the first on. */
export function alternatingModel(windowTokens: number): TinyModel {
  return tiny('alternating', {
    architecture: 'gemma2',
    layers: 7,
    keys: {
      'attention.head_count': 2,
      'attention.head_count_kv': 1,
      'attention.key_length': 64,
      'attention.value_length': 64,
      'attention.sliding_window': windowTokens,
    },
    layer: () => ({ ...attention(2, 1, 64), ...FEED_FORWARD, post_attention_norm: [WIDTH], post_ffw_norm: [WIDTH] }),
  })
}

const RANK = 64
const ROPE = 32
const NOPE = 32
const MLA_VALUE = 32
const Q_RANK = 32

/** Multi-head latent attention: one compressed vector per token, and no values. */
export function latentModel(): TinyModel {
  return tiny('latent', {
    architecture: 'deepseek2',
    layers: 6,
    keys: {
      'attention.head_count': 4,
      'attention.head_count_kv': 1,
      'attention.q_lora_rank': Q_RANK,
      'attention.kv_lora_rank': RANK,
      'attention.key_length': RANK + ROPE,
      'attention.value_length': RANK,
      'attention.key_length_mla': NOPE + ROPE,
      'attention.value_length_mla': MLA_VALUE,
      'rope.dimension_count': ROPE,
      leading_dense_block_count: 6,
      expert_count: 2,
      expert_used_count: 1,
      expert_shared_count: 1,
      expert_feed_forward_length: 32,
      expert_weights_scale: { type: 'float32', value: 1 },
      expert_gating_func: 2,
    },
    top: { output_norm: [WIDTH], output: [WIDTH, VOCABULARY] },
    layer: () => ({
      attn_norm: [WIDTH],
      attn_q_a: [WIDTH, Q_RANK],
      attn_q_a_norm: [Q_RANK],
      attn_q_b: [Q_RANK, 4 * (NOPE + ROPE)],
      attn_kv_a_mqa: [WIDTH, RANK + ROPE],
      attn_kv_a_norm: [RANK],
      attn_k_b: [NOPE, RANK, 4],
      attn_v_b: [RANK, MLA_VALUE, 4],
      attn_output: [4 * MLA_VALUE, WIDTH],
      ...FEED_FORWARD,
    }),
  })
}
