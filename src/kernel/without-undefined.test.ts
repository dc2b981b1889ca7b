import { expect, it } from 'vitest'
import { withoutUndefined } from './without-undefined.ts'

it('leaves out the keys that are undefined, and no others', () => {
  const input = { a: 1, b: undefined, c: null, d: '', e: false }
  expect(Object.entries(withoutUndefined(input))).toEqual([
    ['a', 1],
    ['c', null],
    ['d', ''],
    ['e', false],
  ])
  expect(Object.keys(input)).toHaveLength(5)
})
