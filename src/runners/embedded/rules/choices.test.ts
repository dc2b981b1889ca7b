import { describe, expect, it } from 'vitest'
import { GIB, MIB } from '../../../kernel/units.ts'
import { chooseFlashAttention, chooseParallel, chooseThreads, parallelChoices } from './choose-resources.ts'
import { chooseSequence } from './choose-sequence.ts'
import { metricsText, zeroCounters } from './metrics-text.ts'

describe('chooseThreads', () => {
  it.each([
    ['what was asked for', 3, 8, GIB, 3],
    ['every core for a model of size', 0, 8, GIB, 8],
    ['one for a tiny model', 0, 8, 2 * MIB, 1],
    ['one at least', 0, 0, GIB, 1],
  ])('%s', (_what, asked, cores, bytes, threads) => {
    expect(chooseThreads(asked, cores, bytes)).toBe(threads)
  })
})

describe('parallelChoices', () => {
  it.each([
    [0, [1, 2, 3, 4]],
    [1, [1]],
    [3, [1, 2, 3]],
    [4, [1, 2, 3, 4]],
    [16, [1, 2, 3, 4, 16]],
  ])('at most %i: %j', (limit, choices) => {
    expect(parallelChoices(limit)).toEqual(choices)
  })
})

describe('chooseParallel', () => {
  it.each([
    ['four when a quarter of the memory holds them', 400, 4],
    ['three when it holds three', 399, 3],
    ['one when it holds one', 100, 1],
    ['one even when it holds none', 10, 1],
  ])('%s', (_what, freeBytes, parallel) => {
    expect(chooseParallel([1, 2, 3, 4], [25, 50, 75, 100], freeBytes)).toBe(parallel)
  })
})

describe('chooseFlashAttention', () => {
  it.each([
    [40, false],
    [64, 'auto'],
    [80, false],
    [128, 'auto'],
  ])('heads of %i: %s', (size, choice) => {
    expect(chooseFlashAttention(size)).toBe(choice)
  })
})

describe('chooseSequence', () => {
  const free = (id: number, sharedTokens: number, lastUse: number) => ({ id, sharedTokens, lastUse })
  it.each([
    ['the one that holds most of the prompt', [free(0, 20, 1), free(1, 60, 9), free(2, 0, 0)], 1],
    ['the least recently used when no overlap is worth it', [free(0, 10, 3), free(1, 5, 2), free(2, 0, 4)], 1],
    ['one that was never used before one that was', [free(0, 0, 1), free(3, 0, 0)], 3],
    ['the lowest id among equals', [free(2, 0, 0), free(1, 0, 0)], 1],
  ])('%s', (_what, candidates, id) => {
    expect(chooseSequence(candidates, 100)).toBe(id)
  })
})

describe('metricsText', () => {
  it('prints every counter from the start, with rates of 0', () => {
    const text = metricsText(zeroCounters(), 0, 0)
    for (const name of ['prompt_tokens_total', 'tokens_predicted_total', 'requests_processing', 'requests_deferred']) {
      expect(text).toContain(`\nllamacpp:${name} 0\n`)
    }
    expect(text).not.toMatch(/NaN|Infinity/)
  })

  it('gives rates per second', () => {
    const text = metricsText({ ...zeroCounters(), predictedTokens: 50, predictedMs: 2000 }, 1, 2)
    expect(text).toContain('\nllamacpp:predicted_tokens_seconds 25\n')
    expect(text).toContain('\nllamacpp:requests_processing 1\n')
    expect(text).toContain('\nllamacpp:requests_deferred 2\n')
  })
})
