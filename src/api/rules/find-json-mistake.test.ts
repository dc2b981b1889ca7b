import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findJsonMistake } from './find-json-mistake.ts'

describe('findJsonMistake', () => {
  it.each([
    ['', 1, 1, 'the end of the text'],
    ['{"a": 1', 1, 8, 'the end of the text'],
    ['{"a": 1,}', 1, 9, '"}"'],
    ['{"a": 1 "b": 2}', 1, 9, '"\\""'],
    ['{a: 1}', 1, 2, '"a"'],
    ["{'a': 1}", 1, 2, '"\'"'],
    ['{"a"\n: tru}', 2, 3, '"t"'],
    ['{\n  "a": 01\n}', 2, 9, '"1"'],
    ['[1, 2,, 3]', 1, 7, '","'],
    ['[1}', 1, 3, '"}"'],
    ['{} {}', 1, 4, '"{"'],
    ['{"a": "x\ny"}', 1, 7, '"\\""'],
    ['"\\x"', 1, 1, '"\\""'],
    ['nul', 1, 1, '"n"'],
  ])('%j: line %i, column %i, %s', (text, line, column, found) => {
    expect(findJsonMistake(text)).toEqual({ line, column, found })
  })

  it('agrees with JSON.parse on what is JSON', () => {
    const texts = fc.oneof(
      fc.json(),
      // Valid text with one character taken out or put in.
      fc
        .tuple(fc.json(), fc.nat(), fc.constantFrom('', '"', ',', '}', ']', '\\', '1', ' ', 'e'))
        .map(
          ([text, at, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + 1),
        ),
    )
    fc.assert(
      fc.property(texts, (text) => {
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        expect(findJsonMistake(text) === undefined).toBe(isJson)
      }),
    )
  })
})
