import fc from 'fast-check'
import { expect, it } from 'vitest'
import { durationText, readDuration } from './read-duration.ts'

it.each([
  ['90s', 90_000],
  ['30m', 1_800_000],
  ['2h', 7_200_000],
  ['1d', 86_400_000],
  ['1h30m', 5_400_000],
  ['1d2h3m4s', 93_784_000],
  ['2H', 7_200_000],
  ['', undefined],
  ['0m', undefined],
  ['30', undefined],
  ['m', undefined],
  ['30m1h', undefined],
  ['1.5h', undefined],
  ['-1h', undefined],
  ['1h 30m', undefined],
])('%s', (text, ms) => {
  expect(readDuration(text)).toBe(ms)
})

it('is read back as it is told', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), (seconds) => {
      expect(readDuration(durationText(seconds * 1000))).toBe(seconds * 1000)
    }),
  )
  expect(durationText(0)).toBe('0s')
})
