import { expect, it } from 'vitest'
import { fieldOf, parseJson } from './read-json.ts'

it('reads JSON, and says undefined of what is none', () => {
  expect(parseJson('{"a":[1]}')).toEqual({ a: [1] })
  expect(parseJson('null')).toBeNull()
  expect(parseJson('')).toBeUndefined()
  expect(parseJson('{"a":')).toBeUndefined()
})

it('finds own keys only', () => {
  expect(fieldOf({ a: 0 }, 'a')).toBe(0)
  expect(fieldOf({ a: 0 }, 'toString')).toBeUndefined()
  expect(fieldOf(null, 'a')).toBeUndefined()
  expect(fieldOf('text', 'a')).toBeUndefined()
})
