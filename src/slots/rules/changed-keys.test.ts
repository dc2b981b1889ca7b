import { describe, expect, it } from 'vitest'
import { selectChangedKeys } from './changed-keys.ts'

describe('selectChangedKeys', () => {
  it.each([
    ['nothing', { a: 1, t: { b: [1] } }, { t: { b: [1] }, a: 1 }, []],
    ['a value', { a: 1 }, { a: 2 }, ['a']],
    ['a key that came and one that went', { a: 1, t: { x: 1 } }, { a: 1, t: { y: 1 } }, ['t.x', 't.y']],
    ['a list as a whole', { l: ['a', 'b'] }, { l: ['b', 'a'] }, ['l']],
    ['undefined is absent', { a: undefined }, {}, []],
    ['no file before', undefined, { a: 1 }, []],
  ])('%s', (_name, before, after, expected) => {
    expect(selectChangedKeys(before, after)).toEqual(expected)
  })
})
