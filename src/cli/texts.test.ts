import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emptyPayload, putAt, typedValue } from './keyed-values.ts'
import { shellLine } from './shell-line.ts'
import { bytesText } from './size-text.ts'

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [102_348, '99.9 KiB'],
  [1_048_063, '1023 KiB'],
  [1_048_064, '1.0 MiB'],
  [4_700_000_000, '4.4 GiB'],
  [2 ** 51, '2048 TiB'],
])('%d bytes: %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text)
})

it('a shell reads a line back as the words it was made of', () => {
  const word = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', ' ', "'", '"', '\\', '$', '`', '\n', '*', '=') }),
    fc.constant('--flag'),
  )
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
      const said = execFileSync('sh', ['-c', `printf '%s\\0' ${shellLine(words)}`], { encoding: 'utf8' })
      expect(said.split('\0').slice(0, -1)).toEqual(words)
    }),
    { numRuns: 25 },
  )
})

describe('keys as typed', () => {
  it.each([
    ['60', 60],
    ['-1', -1],
    ['true', true],
    ['null', null],
    ['["a"]', ['a']],
    ['"60"', '60'],
    ['gpu-cuda', 'gpu-cuda'],
    ['', ''],
    ['1024x1024', '1024x1024'],
  ])('%s', (text, value) => {
    expect(typedValue(text)).toEqual(value)
  })

  it('a key called __proto__ is a key', () => {
    const payload = emptyPayload()
    putAt(payload, '__proto__.x', 1)
    expect(JSON.stringify(payload)).toBe('{"__proto__":{"x":1}}')
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false)
  })
})
