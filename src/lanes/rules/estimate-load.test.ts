import { describe, expect, it } from 'vitest'
import { estimateLoad, type LoadKnowledge, loadMsOfPhases } from './estimate-load.ts'
import { NOTHING } from './lane-target.ts'

const fresh: LoadKnowledge = {
  target: { kind: 'model', model: 'm', profile: 'p' },
  recentMs: [],
  fileBytes: 3e9,
  diskReadMbps: 150,
  stopTimeoutMs: 30_000,
}

describe('estimateLoad', () => {
  it.each<readonly [string, Partial<LoadKnowledge>, number, string]>([
    ['file by disk, and 15 s', {}, 35_000, 'size'],
    ['whole ms, upwards', { fileBytes: 1 }, 15_001, 'size'],
    ['an empty file', { fileBytes: 0 }, 15_000, 'size'],
    ['a faster disk', { diskReadMbps: 3_000 }, 16_000, 'size'],
    ['unknown size', { fileBytes: undefined }, 15_000, 'unknown'],
    ['nothing', { target: NOTHING }, 30_000, 'stop'],
    ['nothing has no history', { target: NOTHING, recentMs: [1] }, 30_000, 'stop'],
    ['one load', { recentMs: [7_000] }, 7_000, 'history'],
    ['also without a size', { recentMs: [7_000], fileBytes: undefined }, 7_000, 'history'],
    ['mean of five', { recentMs: [1, 2, 3, 4, 5] }, 3, 'history'],
    ['older ones do not count', { recentMs: [1, 2, 3, 4, 5, 9e9] }, 3, 'history'],
    ['fewer', { recentMs: [1, 2] }, 2, 'history'],
    ['at once', { recentMs: [0] }, 0, 'history'],
  ])('%s', (_name, change, ms, source) => {
    expect(estimateLoad({ ...fresh, ...change })).toEqual({ ms, source })
  })
})

describe('loadMsOfPhases', () => {
  it.each([
    ['none', {}, 0],
    ['release to ready', { release: 1, spawn: 20, warm: 300, sanity: 4_000 }, 4_321],
    ['not what came before', { queue: 9e6, evict: 9e6, drain: 9e6, stop: 9e6, spawn: 5 }, 5],
  ])('%s', (_name, phases, ms) => {
    expect(loadMsOfPhases(phases)).toBe(ms)
  })
})
