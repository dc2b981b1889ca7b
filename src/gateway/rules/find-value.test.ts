import fc from 'fast-check'
import { expect, it } from 'vitest'
import { findValue } from './find-value.ts'
import { asciiBytes } from './json-bytes.ts'

const KEY = asciiBytes('model')
function found(text: string, mayBeCut = false): string | undefined {
  const bytes = Buffer.from(`xx${text}yy`)
  const range = findValue(bytes, 2, bytes.length - 2, KEY, mayBeCut)
  return range === undefined ? undefined : bytes.toString('utf8', range.start, range.end)
}

it('finds what JSON.parse finds', () => {
  const keys = fc.oneof(fc.constantFrom('model', 'mode', 'models', 'Model', ''), fc.string())
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom('"', '\\', '{"model":1}', '"model":'))
  fc.assert(
    fc.property(fc.array(fc.tuple(keys, value), { maxLength: 6 }), fc.constantFrom('', ' ', '\n\t'), (pairs, gap) => {
      const inside = pairs
        .map(([key, of]) => `${JSON.stringify(key)}${gap}:${gap}${JSON.stringify(of)}${gap}`)
        .join(`,${gap}`)
      const text = `${gap}{${gap}${inside}}`
      const range = found(text)
      const parsed: { model?: unknown } = JSON.parse(text)
      // Compared with what the text says, not with what went into it: JSON writes -0 as 0.
      expect(range === undefined ? undefined : { model: JSON.parse(range) }).toEqual(
        pairs.some(([key]) => key === 'model') ? { model: parsed.model } : undefined,
      )
    }),
    { numRuns: 500 },
  )
})

it('of a text that is cut off: nothing that is not whole', () => {
  const text = JSON.stringify({ a: ['x"', { model: 1 }], model: { b: '}' } })
  for (let length = 0; length < text.length; length++) {
    const expected = length > text.lastIndexOf('}}') ? '{"b":"}"}' : undefined
    expect([length, found(text.slice(0, length))]).toEqual([length, expected])
  }
})

it.each([
  ['{"a":1,"model":{"b":[1,', '{"b":[1,'],
  ['{"model":"ab', '"ab'],
  ['{"model":"ab"', '"ab"'],
  ['{"model":', undefined],
  ['{"mod', undefined],
  ['{"a":{"model":1', undefined],
])('cut off, and that is known: %s', (text, expected) => expect(found(text, true)).toBe(expected))

it.each(['', '[]', '"model"', '{', '{model:1}', '{"model" 1}', '{"a":1 "model":1}', '{"model"}'])(
  'no JSON: %s',
  (text) => expect(found(text)).toBeUndefined(),
)
