import fc from 'fast-check'
import { expect, it } from 'vitest'
import { chooseSeedWindow } from './choose-seed-window.ts'

const GIB = 1024 ** 3

it.each([
  // 65536 tokens cost 8 GiB: with 8 GiB of weights that is 16 of 0.75 × 21⅓ GiB.
  ['a large machine', 64 * GIB, 65_536, 65_536],
  ['just enough', (16 * GIB) / 0.75, 65_536, 65_536],
  ['one byte short', Math.floor((16 * GIB) / 0.75) - 2, 65_536, 32_768],
  ['16 GiB', 16 * GIB, 65_536, 32_768],
  // 0.75 × 14 − 8 = 2.5 GiB: 20480 tokens.
  ['14 GiB: a power of two', 14 * GIB, 65_536, 16_384],
  ['8 GiB: not even the weights fit', 8 * GIB, 65_536, 8192],
  ['nothing', 0, 65_536, 8192],
  ['a small window is never made larger', GIB, 4096, 4096],
  ['8192 is affordable everywhere', GIB, 8192, 8192],
  ['a wanted window that is no power of two', 16 * GIB, 30_000, 30_000],
  ['a wanted window that is no power of two, too large', 14 * GIB, 30_000, 16_384],
])('%s', (_name, memoryBytes, wanted, expected) => expect(chooseSeedWindow(memoryBytes, wanted)).toBe(expected))

it('never gives more than was wanted, nor less with more memory', () => {
  const memory = fc.integer({ min: 0, max: 2 ** 40 })
  fc.assert(
    fc.property(memory, memory, fc.integer({ min: 256, max: 2 ** 24 }), (a, b, wanted) => {
      const [less, more] = [Math.min(a, b), Math.max(a, b)].map((bytes) => chooseSeedWindow(bytes, wanted))
      expect(less).toBeLessThanOrEqual(more ?? 0)
      expect(more).toBeLessThanOrEqual(wanted)
      expect(less).toBeGreaterThanOrEqual(Math.min(wanted, 8192))
    }),
  )
})
