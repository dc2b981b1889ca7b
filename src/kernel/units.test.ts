import { expect, it } from 'vitest'
import { shortText } from './short-text.ts'
import { GIB, gibText, MIB } from './units.ts'

it('tells GiB with one digit, and with two where one would tell little as none', () => {
  expect(gibText(1.5 * GIB)).toBe('1.5 GiB')
  expect(gibText(GIB / 10)).toBe('0.1 GiB')
  expect(gibText(50 * MIB)).toBe('0.05 GiB')
  expect(gibText(0)).toBe('0.00 GiB')
})

it('shortens only what is too long, and shows that it did', () => {
  expect(shortText('four', 4)).toBe('four')
  expect(shortText('fives', 4)).toBe('five…')
})
