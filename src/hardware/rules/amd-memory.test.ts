import { describe, expect, it } from 'vitest'
import { GIB, MIB } from '../../kernel/units.ts'
import { amdPool, isUnifiedAmd } from './amd-memory.ts'
import { amdNameIn, graphicsOfCpu } from './amd-names.ts'

function memory(vramTotalBytes?: number, gttTotalBytes?: number, vramUsedBytes?: number, gttUsedBytes?: number) {
  return { vramTotalBytes, gttTotalBytes, vramUsedBytes, gttUsedBytes }
}

describe('isUnifiedAmd', () => {
  it.each([
    ['1: chips with a maker', 512 * MIB, 60 * GIB, 'hynix', 3, false],
    ['2: metrics of a card, on a server with much memory', 2 * GIB, 256 * GIB, 'unknown', 1, false],
    ['2: metrics of an APU', 512 * MIB, 60 * GIB, 'unknown', 2, true],
    ['2: metrics of an APU, 4 GiB carve-out', 4 * GIB, 14 * GIB, undefined, 3, true],
    ['2: an APU whose firmware sets most memory aside', 96 * GIB, 15 * GIB, undefined, 3, false],
    ['2: as much carve-out as share', 16 * GIB, 16 * GIB, undefined, 3, false],
    ['3: nothing told, small', 512 * MIB, 15 * GIB, undefined, undefined, true],
    ['3: the largest small carve-out', 2 * GIB, 8 * GIB, undefined, undefined, true],
    ['3: a byte more', 2 * GIB + 1, 64 * GIB, undefined, undefined, false],
    ['3: a share that is a byte too small', 2 * GIB, 8 * GIB - 1, undefined, undefined, false],
    ['3: a card with its share', 24 * GIB, 31 * GIB, undefined, undefined, false],
    ['3: no carve-out at all', 0, 15 * GIB, undefined, undefined, true],
    ['sizes unknown', undefined, 15 * GIB, undefined, 3, false],
    ['share unknown', 512 * MIB, undefined, undefined, 3, false],
    ['neither', 0, 0, undefined, 3, false],
  ])('%s', (_what, vram, gtt, memoryMaker, metricsFormat, expected) => {
    expect(isUnifiedAmd(memory(vram, gtt), { memoryMaker, metricsFormat })).toBe(expected)
  })
})

describe('amdPool', () => {
  it.each([
    ['a card: its share does not count', memory(16 * GIB, 32 * GIB, 4 * GIB, GIB), false, 60 * GIB, 16 * GIB, 12 * GIB],
    ['a card without figures', memory(), false, 60 * GIB, undefined, undefined],
    ['a card that tells no memory is no empty card', memory(0, 0, 0, 0), false, GIB, undefined, undefined],
    ['unified: main memory is fuller than the share', memory(GIB, 32 * GIB, 0, GIB), true, 8 * GIB, 33 * GIB, 9 * GIB],
    ['unified: the share is fuller', memory(GIB, 32 * GIB, GIB, 31 * GIB), true, 8 * GIB, 33 * GIB, GIB],
    ['unified: main memory unknown', memory(GIB, 32 * GIB, 0, 0), true, undefined, 33 * GIB, undefined],
    ['unified: use of the share unknown', memory(GIB, 32 * GIB, 0), true, 8 * GIB, 33 * GIB, undefined],
    ['more used than there is', memory(GIB, 32 * GIB, 2 * GIB, 0), true, 8 * GIB, 33 * GIB, undefined],
  ])('%s', (_what, figures, isUnified, hostAvailable, totalBytes, freeBytes) => {
    expect(amdPool(figures, isUnified, hostAvailable)).toEqual({ totalBytes, freeBytes })
  })
})

describe('names', () => {
  it.each([
    ['0x744c', '0xc8', 'AMD Radeon RX 7900 XTX'],
    ['0x744C', '0xcc', 'AMD Radeon RX 7900 XT'],
    ['0x744c', '0x00', undefined],
    ['0x0000', '0xc8', undefined],
  ])('%s %s → %s', (device, revision, expected) => {
    const list =
      '# 744C,\tC8,\tnot this\n1.0.0\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n744C,\tCC,\tAMD Radeon RX 7900 XT\n'
    expect(amdNameIn(list, device, revision)).toBe(expected)
  })

  it.each([
    ['AMD RYZEN AI MAX+ 395 w/ Radeon 8060S', 'Radeon 8060S'],
    ['AMD Ryzen 7 5700G with Radeon Graphics', 'Radeon Graphics'],
    ['AMD Ryzen 9 7950X 16-Core Processor', undefined],
    [undefined, undefined],
  ])('%s → %s', (model, expected) => {
    expect(graphicsOfCpu(model)).toBe(expected)
  })
})
