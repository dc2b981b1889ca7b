import { describe, expect, it } from 'vitest'
import type { KvGeometry } from '../../contract/model.ts'
import { resolveSlidingLayers } from './kv-patterns.ts'

const geometry = (change: Partial<KvGeometry>): KvGeometry => ({
  layers: 8,
  kv_heads: 1,
  heads: 1,
  embedding_length: 64,
  key_length: null,
  value_length: null,
  kv_lora_rank: null,
  rope_dimensions: null,
  sliding_window: 100,
  sliding_window_pattern: null,
  vocabulary: null,
  ssm: null,
  ...change,
})

/** `s` slides, `F` sees everything. */
const show = (architecture: string | null, change: Partial<KvGeometry> = {}) => {
  const { slides, windowTokens } = resolveSlidingLayers(architecture, geometry(change))
  const letters = Array.from({ length: 8 }, (_, layer) => (slides(layer) ? 's' : 'F'))
  return `${letters.join('')} ${windowTokens}`
}

describe('resolveSlidingLayers', () => {
  it.each<readonly [string | null, Partial<KvGeometry>, string]>([
    ['gemma2', {}, 'sFsFsFsF 100'],
    ['gemma2', { sliding_window: null }, 'sFsFsFsF 4096'],
    ['gemma3', {}, 'sssssFss 100'],
    ['gemma3', { sliding_window: null }, 'FFFFFFFF 0'],
    ['gemma3n', {}, 'ssssFsss 100'],
    ['gpt-oss', {}, 'sFsFsFsF 100'],
    ['cohere2', {}, 'sssFsssF 100'],
    ['olmo2', {}, 'sssFsssF 100'],
    ['olmo2', { sliding_window: null }, 'FFFFFFFF 0'],
    ['exaone4', { layers: 64 }, 'sssFsssF 100'],
    ['exaone4', { layers: 30 }, 'FFFFFFFF 0'],
    ['plamo3', {}, 'sssssssF 100'],
    ['smallthinker', {}, 'FsssFsss 100'],
    ['llama4', { sliding_window: null }, 'sssFsssF 8192'],
    // The engine does not use the window that these files name.
    ['phi3', {}, 'FFFFFFFF 0'],
    ['llama', {}, 'FFFFFFFF 0'],
    ['qwen2', {}, 'FFFFFFFF 0'],
    // What the file says wins.
    ['gemma3', { sliding_window_pattern: 4 }, 'sssFsssF 100'],
    ['new', { sliding_window_pattern: 2 }, 'sFsFsFsF 100'],
    ['new', { sliding_window_pattern: 0 }, 'ssssssss 100'],
    ['new', { sliding_window_pattern: 1 }, 'FFFFFFFF 100'],
    ['new', { sliding_window_pattern: [true, false, true] }, 'sFsFFFFF 100'],
    ['new', {}, 'FFFFFFFF 0'],
    [null, {}, 'FFFFFFFF 0'],
  ])('%s %j: %s', (architecture, change, shown) => {
    expect(show(architecture, change)).toBe(shown)
  })

  it('says when it takes the larger side', () => {
    expect(resolveSlidingLayers('new', geometry({})).note).toMatch(/which layers of new use the sliding window/)
    expect(resolveSlidingLayers('gemma2', geometry({})).note).toBeUndefined()
    expect(resolveSlidingLayers('phi3', geometry({})).note).toBeUndefined()
  })
})
