import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AnswerFilter } from './answer-filter.ts'
import { createJsonFilter, renameWhole } from './json-filter.ts'

function inPieces(filter: AnswerFilter, text: string, size: number): string {
  const bytes = Buffer.from(text)
  const out: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) out.push(filter.push(bytes.subarray(at, at + size)))
  return Buffer.concat([...out, filter.end()]).toString()
}

const sizes = fc.integer({ min: 1, max: 40 })
const names = fc.constantFrom('asked', '/m/ü.gguf', '模型', 'a"b\\')

describe('createJsonFilter', () => {
  it('renames the model in any pieces and changes nothing else', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), names, names, sizes, (rest, model, asked, size) => {
        const text = JSON.stringify({ ...rest, model, tail: { model: 'nested' } })
        const out = inPieces(createJsonFilter(asked), text, size)
        expect(JSON.parse(out)).toEqual({ ...(JSON.parse(text) as object), model: asked })
        if (model === asked) expect(out).toBe(text)
      }),
    )
  })

  it.each(['not JSON', '{"model":"x', '{"model":"x"} trailing', '', '[{"model":"x"}]'])('passes %s', (text) => {
    fc.assert(
      fc.property(sizes, (size) => {
        expect(inPieces(createJsonFilter('x'), text, size)).toBe(text)
      }),
    )
  })
})

describe('renameWhole', () => {
  it('renames the model at the top level and changes nothing else', () => {
    const rest = fc.dictionary(fc.string(), fc.jsonValue())
    fc.assert(
      fc.property(rest, rest, names, names, fc.constantFrom(0, 2), (front, back, model, asked, indent) => {
        const text = JSON.stringify({ ...front, inner: { model: 'nested' }, model, after: back }, undefined, indent)
        const body = Buffer.from(text)
        const out = renameWhole(body, asked) ?? Buffer.alloc(0)
        expect(JSON.parse(out.toString())).toEqual({ ...(JSON.parse(text) as object), model: asked })
        if (model === asked) expect(out).toBe(body)
      }),
    )
  })

  it.each([
    ['no model', '{"id":1}'],
    ['only one inside, with the name', '{"a":{"model":"x"}}'],
    ['only one inside, with another name', '{"a":{"model":"y"}}'],
    ['the name with spaces', '{ "model" : "x" }'],
    ['the name in escapes', '{"model":"\\u0078"}'],
    ['a text that speaks of it', '{"a":"\\"model\\":\\"y\\""}'],
    ['null', '{"model":null}'],
    ['a list', '[{"model":"y"}]'],
    ['a text', '"model"'],
    ['deep nesting', `{"a":${'['.repeat(2_000)}${']'.repeat(2_000)},"model":{}}`],
  ])('leaves %s', (_name, text) => {
    const body = Buffer.from(text)
    expect(renameWhole(body, 'x')).toBe(body)
  })

  it.each([
    ['an inner one with the name in front', '{"a":{"model":"x"},"model":"y"}', '{"a":{"model":"x"},"model":"x"}'],
    ['the last of two', '{"model":"x","model":"y"}', '{"model":"x","model":"x"}'],
    ['the beginning of the name', '{"model":"x-1"}', '{"model":"x"}'],
    [
      'deep nesting',
      `{"model":"y","a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`,
      `{"model":"x","a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`,
    ],
    ['a long name', `{"model":"${'y'.repeat(5_000)}"}`, '{"model":"x"}'],
    ['a byte order mark', '\ufeff{"model":"y"}', '\ufeff{"model":"x"}'],
    ['spaces', '{ "model"\n:\t"y" }', '{ "model"\n:\t"x" }'],
  ])('renames: %s', (_name, text, expected) => expect(renameWhole(Buffer.from(text), 'x')?.toString()).toBe(expected))

  it.each(['', 'hello', '{"model":"y', '{"model":"y"} x', '{"a":[1,]}', '{"a":"\n"}'])('is no JSON: %s', (text) => {
    expect(renameWhole(Buffer.from(text), 'x')).toBeUndefined()
  })
})
