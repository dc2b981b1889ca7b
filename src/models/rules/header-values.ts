/**
 * One value of a GGUF header, as far as it is kept. `text` is undefined when it is too long to matter, `numbers` when there are too many
 * or they are no whole numbers; booleans are 0 and 1.
 */
export type HeaderValue =
  | { readonly kind: 'text'; readonly text: string | undefined; readonly sizeBytes: number }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'list'; readonly count: number; readonly numbers: readonly number[] | undefined }

/** What the descriptions of the tensors add up to. */
export interface TensorTotals {
  readonly count: number
  /** Of all tensors; null = they were too many to walk. */
  readonly elements: number | null
  /** Elements in tensors of two dimensions and more, by the number of the ggml type. */
  readonly matrixElements: ReadonlyMap<number, number>
}

/** What one walk through a header brings home. */
export interface HeaderContent {
  readonly values: ReadonlyMap<string, HeaderValue>
  readonly tensors: TensorTotals
  readonly sizeBytes: number
}

/** Keys without an architecture in front that answer a question of hal0. */
const PLAIN_KEYS: ReadonlySet<string> = new Set([
  'general.architecture',
  'general.type',
  'general.name',
  'general.file_type',
  'general.license',
  'general.parameter_count',
  'general.alignment',
  'adapter.type',
  'imatrix.chunk_count',
  'clip.vision.projection_dim',
  'clip.audio.projection_dim',
  'tokenizer.ggml.model',
  'tokenizer.ggml.tokens',
  'tokenizer.chat_template',
  'split.no',
  'split.count',
])

/** Keys that follow the name of the architecture and a dot. */
const ARCHITECTURE_KEYS = [
  'context_length',
  'block_count',
  'embedding_length',
  'vocab_size',
  'attention.head_count',
  'attention.head_count_kv',
  'attention.key_length',
  'attention.value_length',
  'attention.key_length_swa',
  'attention.value_length_swa',
  'attention.indexer.key_length',
  'attention.kv_lora_rank',
  'attention.sliding_window',
  'attention.sliding_window_pattern',
  'attention.shared_kv_layers',
  'full_attention_interval',
  'rope.dimension_count',
  'nextn_predict_layers',
  'pooling_type',
  'ssm.conv_kernel',
  'ssm.inner_size',
  'ssm.state_size',
  'ssm.group_count',
  'shortconv.l_cache',
  'wkv.head_size',
  'token_shift_count',
  'kda.head_dim',
] as const
export type ArchitectureKey = (typeof ARCHITECTURE_KEYS)[number]

/** Architecture names: what a longer or stranger one stands for, no engine knows. */
export const ARCHITECTURE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/**
 * Is this key worth keeping? The architecture may be named after its keys, so those of every architecture count until it is known;
 * the walker bounds how many there may be.
 */
export function isWantedKey(key: string): boolean {
  return PLAIN_KEYS.has(key) || ARCHITECTURE_KEYS.some((suffix) => key.endsWith(`.${suffix}`))
}
