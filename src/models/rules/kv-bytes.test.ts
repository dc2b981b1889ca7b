import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PLAIN_GEOMETRY } from '../../../test/support/plain-geometry.ts'
import type { KvGeometry } from '../../contract/model.ts'
import { type KvRequest, kvCacheBytes } from './kv-bytes.ts'

const SSM = { conv_kernel: 4, inner_size: 32, state_size: 8, group_count: 1 }
/** 3 × (32 + 2 × 1 × 8) + 8 × 32 = 400 elements of 4 bytes. */
const SSM_BYTES = 1_600

const ask = (change: Partial<KvRequest> & { readonly of?: Partial<KvGeometry> } = {}): KvRequest => {
  const { of, ...rest } = change
  return {
    architecture: 'llama',
    ctxTokens: 1_024,
    parallel: 1,
    unified: true,
    cacheTypeK: 'f16',
    cacheTypeV: 'f16',
    ubatchTokens: 512,
    swaFull: false,
    ...rest,
    geometry: { ...PLAIN_GEOMETRY, ...of },
  }
}
const bytesOf = (request: KvRequest) => {
  const counted = kvCacheBytes(request)
  return counted.kind === 'known' ? counted.bytes : counted.reason
}

describe('kvCacheBytes', () => {
  it.each<readonly [string, Parameters<typeof ask>[0], number]>([
    ['one pool', {}, 1_024 * 512],
    ['a context is made in steps of 256', { ctxTokens: 1_025 }, 1_280 * 512],
    ['a small one too', { ctxTokens: 1 }, 256 * 512],
    ['sequences that share a pool take no more', { parallel: 4 }, 1_024 * 512],
    ['separate ones divide it', { parallel: 4, unified: false }, 1_024 * 512],
    ['and each is rounded up', { parallel: 3, unified: false }, 3 * 512 * 512],
    ['no key length: width over heads', { of: { heads: 2 } }, 1_024 * 1_024],
    ['key and value lengths of the file', { of: { key_length: 128, value_length: 32 } }, 1_024 * 2 * 160 * 2],
    ['heads by layer, 0 = none', { of: { kv_heads: [0, 3] } }, 1_024 * 3 * 256],
    ['q8_0: 34 bytes for 32', { cacheTypeK: 'q8_0', cacheTypeV: 'q8_0' }, 1_024 * 2 * 4 * 34],
    ['q4_0 keys, f32 values', { cacheTypeK: 'q4_0', cacheTypeV: 'f32' }, 1_024 * 2 * (2 * 18 + 256)],
    ['q4_1 and q5_0', { cacheTypeK: 'q4_1', cacheTypeV: 'q5_0' }, 1_024 * 2 * (2 * 20 + 2 * 22)],
    ['iq4_nl and q5_1', { cacheTypeK: 'iq4_nl', cacheTypeV: 'q5_1' }, 1_024 * 2 * (2 * 18 + 2 * 24)],
    ['bf16, in capitals', { cacheTypeK: 'BF16', cacheTypeV: 'bf16' }, 1_024 * 512],
    [
      'without flash attention values take the room of the widest layer',
      { flashAttention: false, of: { kv_heads: [1, 3] } },
      1_024 * 2 * (64 + 192 + 192 + 192),
    ],
  ])('%s', (_what, change, bytes) => {
    expect(bytesOf(ask(change))).toBe(bytes)
  })

  it.each<readonly [string, Parameters<typeof ask>[0], number]>([
    // gemma2: layer 0 slides, layer 1 does not. 64 × 2 × 2 = 256 bytes per cell and layer.
    ['a window and a step', { architecture: 'gemma2', ctxTokens: 8_192 }, 8_192 * 256 + 1_024 * 256],
    ['of every sequence in one pool', { architecture: 'gemma2', ctxTokens: 8_192, parallel: 4 }, (8_192 + 2_560) * 256],
    [
      'of each in its own',
      { architecture: 'gemma2', ctxTokens: 8_192, parallel: 4, unified: false },
      (8_192 + 4 * 1_024) * 256,
    ],
    ['a smaller step', { architecture: 'gemma2', ctxTokens: 8_192, ubatchTokens: 1 }, (8_192 + 768) * 256],
    ['never more than the context', { architecture: 'gemma2', ctxTokens: 512 }, 2 * 512 * 256],
    ['--swa-full', { architecture: 'gemma2', ctxTokens: 8_192, swaFull: true }, 2 * 8_192 * 256],
  ])('sliding layers hold %s', (_what, change, bytes) => {
    expect(bytesOf(ask({ ...change, of: { sliding_window: 512 } }))).toBe(bytes)
  })

  it('sliding layers may have heads of another length', () => {
    const of = { sliding_window: 512, sliding_window_pattern: [true, false], key_length_swa: 16, value_length_swa: 8 }
    expect(bytesOf(ask({ architecture: 'gemma4', ctxTokens: 8_192, of }))).toBe(1_024 * 24 * 2 + 8_192 * 256)
  })

  it('a window of which nobody knows who uses it counts in full, and says so', () => {
    const counted = kvCacheBytes(ask({ architecture: 'new', ctxTokens: 8_192, of: { sliding_window: 512 } }))
    expect(counted).toMatchObject({ kind: 'known', bytes: 8_192 * 512, note: expect.stringContaining('new') })
  })

  it('latent attention keeps one vector and no values', () => {
    const of = { kv_lora_rank: 512, rope_dimensions: 64, key_length: 576, value_length: 512 }
    expect(bytesOf(ask({ architecture: 'deepseek2', of }))).toBe(1_024 * 2 * 576 * 2)
    expect(bytesOf(ask({ architecture: 'deepseek2', of: { ...of, key_length: null } }))).toBe(1_024 * 2 * 576 * 2)
  })

  it('a file from before the latent cache is decompressed to all heads', () => {
    const of = { kv_lora_rank: 512, rope_dimensions: 64, key_length: 192, value_length: 128, kv_heads: 16 }
    expect(bytesOf(ask({ architecture: 'deepseek2', of }))).toBe(1_024 * 2 * 16 * 320 * 2)
  })

  it.each<readonly [string, Parameters<typeof ask>[0], number]>([
    ['in layers without heads', { of: { ssm: SSM, kv_heads: [0, 1] } }, 1_024 * 256 + SSM_BYTES],
    ['per sequence', { parallel: 3, of: { ssm: SSM, kv_heads: 0 } }, 2 * 3 * SSM_BYTES],
    [
      'whatever the types of the cache',
      { cacheTypeK: 'q8_0', cacheTypeV: 'q8_0', of: { ssm: SSM, kv_heads: 0 } },
      2 * SSM_BYTES,
    ],
    [
      'in every layer where all have heads',
      { architecture: 'falcon-h1', of: { ssm: SSM } },
      1_024 * 512 + 2 * SSM_BYTES,
    ],
    ['for each token that may be taken back', { rollbackStates: 3, of: { ssm: SSM, kv_heads: 0 } }, 2 * 4 * SSM_BYTES],
    [
      'in three of four layers of an architecture that does not say',
      { architecture: 'qwen35', of: { layers: 4, ssm: SSM } },
      1_024 * 256 + 3 * SSM_BYTES,
    ],
    ['of a short convolution', { of: { shortconv_cache: 3, kv_heads: 0 } }, 2 * 2 * 256 * 4],
    ['of RWKV', { architecture: 'rwkv7', of: { wkv_head_size: 64, kv_heads: 0 } }, 2 * (2 * 256 + 64 * 256) * 4],
    [
      'of Kimi',
      { of: { kda_head_length: 16, ssm: { ...SSM, inner_size: null }, kv_heads: 0 } },
      2 * (3 * 3 * 64 + 64 * 16) * 4,
    ],
  ])('recurrent state: %s', (_what, change, bytes) => {
    expect(bytesOf(ask(change))).toBe(bytes)
  })

  it('layers for multi-token prediction count when they are used, with their own types', () => {
    const mtp = { layers: 1, isUsed: false, cacheTypeK: 'f32', cacheTypeV: 'f32' }
    expect(bytesOf(ask({ mtp }))).toBe(1_024 * 256)
    expect(bytesOf(ask({ mtp: { ...mtp, isUsed: true } }))).toBe(1_024 * (256 + 512))
    // The layer behind the hybrid ones attends, whatever its number.
    const of = { layers: 5, ssm: SSM }
    expect(bytesOf(ask({ architecture: 'qwen35', of, mtp: { ...mtp, isUsed: true } }))).toBe(
      1_024 * (256 + 512) + 3 * SSM_BYTES,
    )
  })

  it('an encoder keeps nothing', () => {
    expect(bytesOf(ask({ architecture: 'bert', of: { layers: null } }))).toBe(0)
  })

  it.each<readonly [string, Parameters<typeof ask>[0]]>([
    ['how many layers', { of: { layers: null } }],
    ['more than any model', { of: { layers: 5_000 } }],
    ['how many heads', { of: { kv_heads: null } }],
    ['the heads of 1 of 2 layers', { of: { kv_heads: [1] } }],
    ['how long the keys', { of: { embedding_length: null } }],
    ['how long the keys', { of: { heads: 0 } }],
    ['how long the keys', { of: { kv_lora_rank: 512 } }],
    ['cache type q3_9', { cacheTypeV: 'q3_9' }],
    ['deepseek4', { architecture: 'deepseek4' }],
    ['more bytes than any machine', { of: { key_length: 1e15, value_length: 1 } }],
  ])('cannot be counted: %s', (words, change) => {
    expect(bytesOf(ask(change))).toContain(words)
  })

  it('grows with the context and the sequences, whatever the shape', () => {
    const shape = fc.record({
      architecture: fc.constantFrom('llama', 'gemma2', 'gemma3', 'deepseek2', 'jamba', 'new', null),
      unified: fc.boolean(),
      parallel: fc.integer({ min: 1, max: 16 }),
      of: fc.record({
        layers: fc.integer({ min: 1, max: 80 }),
        kv_heads: fc.integer({ min: 0, max: 8 }),
        sliding_window: fc.constantFrom(null, 128, 4_096),
        ssm: fc.constantFrom(null, SSM),
      }),
    })
    fc.assert(
      fc.property(
        shape,
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 0, max: 100_000 }),
        (of, ctx, more) => {
          const small = kvCacheBytes(ask({ ...of, ctxTokens: ctx }))
          const large = kvCacheBytes(ask({ ...of, ctxTokens: ctx + more }))
          const crowd = kvCacheBytes(ask({ ...of, ctxTokens: ctx, parallel: of.parallel + 1 }))
          if (small.kind !== 'known' || large.kind !== 'known' || crowd.kind !== 'known') throw new Error('not counted')
          expect(large.bytes).toBeGreaterThanOrEqual(small.bytes)
          if (of.unified) expect(crowd.bytes).toBeGreaterThanOrEqual(small.bytes)
          expect(small.layerBytes.reduce((sum, own) => sum + own, 0)).toBe(small.bytes)
          expect(Number.isSafeInteger(small.bytes)).toBe(true)
        },
      ),
    )
  })
})
