import { attention, FEED_FORWARD, FFN, type TinyModel, tiny, WIDTH } from './tiny-models.ts'

/** Short convolutions with attention in every third layer. */
export function convolutionModel(): TinyModel {
  const kvHeads = [0, 0, 2, 0, 0, 2]
  return tiny('convolution', {
    architecture: 'lfm2',
    layers: kvHeads.length,
    keys: {
      'attention.head_count': 2,
      'attention.head_count_kv': kvHeads,
      'shortconv.l_cache': 3,
    },
    top: { token_embd_norm: [WIDTH] },
    layer: (nth) => ({
      ...(kvHeads[nth] === 0
        ? {
            attn_norm: [WIDTH],
            'shortconv.conv.weight': [3, WIDTH],
            'shortconv.in_proj.weight': [WIDTH, 3 * WIDTH],
            'shortconv.out_proj.weight': [WIDTH, WIDTH],
          }
        : { ...attention(2, 2, 64), attn_q_norm: [64], attn_k_norm: [64] }),
      ...FEED_FORWARD,
    }),
  })
}

const INNER = 2 * WIDTH
const STATE = 16
const DT_RANK = 8

/** Nothing but recurrent state. */
export function recurrentModel(): TinyModel {
  return tiny('recurrent', {
    architecture: 'mamba',
    layers: 4,
    keys: {
      feed_forward_length: 0,
      'attention.head_count': 0,
      'ssm.conv_kernel': 4,
      'ssm.inner_size': INNER,
      'ssm.state_size': STATE,
      'ssm.time_step_rank': DT_RANK,
    },
    layer: () => ({
      attn_norm: [WIDTH],
      ssm_in: [WIDTH, 2 * INNER],
      'ssm_conv1d.weight': [4, INNER],
      'ssm_conv1d.bias': [INNER],
      ssm_x: [INNER, DT_RANK + 2 * STATE],
      'ssm_dt.weight': [DT_RANK, INNER],
      'ssm_dt.bias': [INNER],
      ssm_a: [STATE, INNER],
      ssm_d: [INNER],
      ssm_out: [INNER, WIDTH],
    }),
  })
}

/** Recurrent layers of the second Mamba, with attention in every third layer. */
export function hybridModel(): TinyModel {
  const kvHeads = [0, 0, 2, 0, 0, 2]
  const heads = 8
  return tiny('hybrid', {
    architecture: 'granitehybrid',
    layers: kvHeads.length,
    keys: {
      'attention.head_count': 2,
      'attention.head_count_kv': kvHeads,
      'rope.dimension_count': 64,
      'ssm.conv_kernel': 4,
      'ssm.inner_size': INNER,
      'ssm.state_size': STATE,
      'ssm.time_step_rank': heads,
      'ssm.group_count': 1,
      logit_scale: { type: 'float32', value: 1 },
    },
    layer: (nth) => ({
      ...(kvHeads[nth] === 0
        ? {
            attn_norm: [WIDTH],
            ssm_in: [WIDTH, 2 * INNER + 2 * STATE + heads],
            'ssm_conv1d.weight': [4, INNER + 2 * STATE],
            'ssm_conv1d.bias': [INNER + 2 * STATE],
            'ssm_dt.bias': [heads],
            ssm_a: [1, heads],
            ssm_d: [1, heads],
            ssm_norm: [INNER, 1],
            ssm_out: [INNER, WIDTH],
          }
        : attention(2, 2, 64)),
      ...FEED_FORWARD,
    }),
  })
}

const LINEAR_HEADS = 4
const LINEAR_HEAD = 32
const LINEAR_WIDTH = LINEAR_HEADS * LINEAR_HEAD

/** Linear attention with a full layer in every fourth, and one more for multi-token prediction. */
export function linearModel(): TinyModel {
  const heads = 2
  const layers = 9
  return tiny('linear', {
    architecture: 'qwen35',
    layers,
    keys: {
      'attention.head_count': heads,
      'attention.head_count_kv': 1,
      'attention.key_length': 64,
      'attention.value_length': 64,
      'rope.dimension_count': 32,
      'rope.dimension_sections': { type: 'int32', items: [4, 4, 8, 0] },
      'ssm.conv_kernel': 4,
      'ssm.inner_size': LINEAR_WIDTH,
      'ssm.state_size': LINEAR_HEAD,
      'ssm.time_step_rank': LINEAR_HEADS,
      'ssm.group_count': LINEAR_HEADS,
      full_attention_interval: 4,
      nextn_predict_layers: 1,
    },
    layer: (nth) => ({
      attn_norm: [WIDTH],
      post_attention_norm: [WIDTH],
      ffn_gate: [WIDTH, FFN],
      ffn_up: [WIDTH, FFN],
      ffn_down: [FFN, WIDTH],
      ...((nth + 1) % 4 === 0 || nth === layers - 1
        ? { ...attention(2 * heads, 1, 64), attn_output: [heads * 64, WIDTH], attn_q_norm: [64], attn_k_norm: [64] }
        : {
            attn_qkv: [WIDTH, 3 * LINEAR_WIDTH],
            attn_gate: [WIDTH, LINEAR_WIDTH],
            'ssm_conv1d.weight': [4, 3 * LINEAR_WIDTH],
            'ssm_dt.bias': [LINEAR_HEADS],
            ssm_a: [LINEAR_HEADS],
            ssm_alpha: [WIDTH, LINEAR_HEADS],
            ssm_beta: [WIDTH, LINEAR_HEADS],
            ssm_norm: [LINEAR_HEAD],
            ssm_out: [LINEAR_WIDTH, WIDTH],
          }),
      ...(nth === layers - 1
        ? { 'nextn.eh_proj.weight': [2 * WIDTH, WIDTH], 'nextn.enorm.weight': [WIDTH], 'nextn.hnorm.weight': [WIDTH] }
        : {}),
    }),
  })
}
