import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorBody } from '../../contract/error-body.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import type { AnswerFilter } from './answer-filter.ts'
import { createJsonFilter } from './json-filter.ts'
import { createSseFilter } from './sse-filter.ts'

function inPieces(filter: AnswerFilter, text: string, size: number): string {
  const bytes = Buffer.from(text)
  const out: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) out.push(filter.push(bytes.subarray(at, at + size)))
  return Buffer.concat([...out, filter.end()]).toString()
}

const sizes = fc.integer({ min: 1, max: 40 })

describe('createJsonFilter', () => {
  it('renames the model in any pieces and changes nothing else', () => {
    const names = fc.constantFrom('asked', '/m/ü.gguf', '模型')
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

describe('createSseFilter', () => {
  const event = (model: string, n: number) => `data: {"id":${n},"model":"${model}","é":"\\n"}`

  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
  ])('renames every event in any pieces (%s)', (_name, nl) => {
    const stream = (model: string) =>
      [`: comment`, event(model, 1), '', `event: x`, event(model, 2), '', 'data: [DONE]', '', ''].join(nl)
    fc.assert(
      fc.property(sizes, (size) => {
        expect(inPieces(createSseFilter('größer'), stream('/a/b.gguf'), size)).toBe(stream('größer'))
        expect(inPieces(createSseFilter('same'), stream('same'), size)).toBe(stream('same'))
      }),
    )
  })

  it('passes whole lines at once and holds a half one', () => {
    const filter = createSseFilter('m')
    expect(filter.push(Buffer.from('data: {"a":1}\n\ndata: {"b"')).toString()).toBe('data: {"a":1}\n\n')
    expect(filter.push(Buffer.from(':2}\n\n')).toString()).toBe('data: {"b":2}\n\n')
  })

  it('lets go of a line that is longer than it cares to hold, and goes on renaming after it', () => {
    const filter = createSseFilter('m')
    const long = `data: "${'x'.repeat(600_000)}"`
    const text = `${long}\n\n${event('other', 1)}\n\n`
    expect(inPieces(filter, text, 100_000)).toBe(`${long}\n\n${event('m', 1)}\n\n`)
  })

  const error = errorBody(Hal0Error.of('dispatch.upstream_unavailable', 'gone'))
  it.each([
    ['before any event', [], ''],
    ['between events', ['data: 1\n\n'], ''],
    ['between CRLF events', ['data: 1\r\n\r', '\n'], ''],
    ['in the middle of a line, which is dropped', ['data: 1\n\ndata: {"ha'], ''],
    ['after a line', ['data: 1\n\nevent: x\n'], '\n'],
    ['after a CRLF line', ['data: 1\r\n'], '\n'],
    ['in a long line that went out in part', [`data: ${'x'.repeat(300_000)}`], '\n\n'],
  ])('ends with a readable error %s', (_name, chunks, ending) => {
    const filter = createSseFilter('m')
    for (const chunk of chunks) filter.push(Buffer.from(chunk))
    expect(filter.errorEvent(error).toString()).toBe(`${ending}data: ${JSON.stringify(error)}\n\n`)
  })
})
