import { expect, it } from 'vitest'
import { listNames } from './list-names.ts'

const names = (count: number) => Array.from({ length: count }, (_, nth) => `n${nth}`)

it('lists at most twenty names, and tells how many more there are', () => {
  expect(listNames([])).toBe('')
  expect(listNames(names(2))).toBe('n0, n1')
  expect(listNames(names(20))).toBe(names(20).join(', '))
  expect(listNames(new Set(names(23)))).toBe(`${names(20).join(', ')}, and 3 more`)
})
