import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BodyScan, placeOf, scanBody } from './scan-body.ts'
import { spliceForEngine, spliceModel } from './splice-model.ts'

const bytesOf = (text: string) => Buffer.from(text)
const textOf = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

function facts(text: string) {
  const result = scanBody(bytesOf(text))
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.error)}`)
  return result.value
}

function accepts(text: string): boolean {
  return scanBody(bytesOf(text)).ok
}

function parses(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/** A JSON text with random white space between the tokens. */
const spacedObject = fc
  .tuple(fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('model', 'stream', 'a')), fc.jsonValue()), fc.nat(7))
  .map(([object, indent]) => JSON.stringify(object, null, indent))

describe('scanBody against JSON.parse', () => {
  it('accepts every object and finds the same model and stream', () => {
    fc.assert(
      fc.property(spacedObject, (text) => {
        const parsed = JSON.parse(text) as Record<string, unknown>
        const found = facts(text)
        const model = parsed['model']
        if (typeof model === 'string') expect(found.model).toMatchObject({ kind: 'string', value: model })
        else if (model === undefined) expect(found.model.kind).toBe('absent')
        else expect(found.model.kind).toBe(model === null ? 'null' : 'other')
        expect(found.stream).toBe(parsed['stream'] === true)
      }),
    )
  })

  it('judges a damaged text as JSON.parse does', () => {
    const junk = fc.constantFrom(
      '"',
      '\\',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '0',
      '-',
      'e',
      '.',
      't',
      'null',
      '\n',
      '\\u12',
      ' ',
      'é',
    )
    fc.assert(
      fc.property(spacedObject, fc.nat(), fc.nat(3), fc.oneof(junk, fc.constant('')), (text, where, cut, insert) => {
        const at = where % (text.length + 1)
        const damaged = text.slice(0, at) + insert + text.slice(at + cut)
        // A lone surrogate cannot be written in UTF-8.
        fc.pre(!/\p{Surrogate}/u.test(damaged))
        expect(accepts(damaged)).toBe(parses(damaged))
      }),
      { numRuns: 2000 },
    )
  })

  it('finds the same in pieces as in one', () => {
    fc.assert(
      fc.property(spacedObject, fc.integer({ min: 1, max: 7 }), (text, size) => {
        for (const bytes of [bytesOf(text), bytesOf(`\ufeff${text}`)]) {
          const scan = new BodyScan()
          for (let at = 0; at < bytes.length; at += size)
            expect(scan.push(bytes.subarray(at, at + size))).toBeUndefined()
          expect(scan.end()).toEqual({ ok: true, value: facts(text) })
        }
      }),
    )
  })

  it('splices exactly the model', () => {
    fc.assert(
      fc.property(spacedObject, fc.string({ unit: 'binary' }), (text, name) => {
        const found = facts(text)
        const parsed = JSON.parse(text) as Record<string, unknown>
        const named = textOf(Buffer.concat(spliceForEngine(bytesOf(text), found, { alias: name })))
        const expected = found.model.kind === 'other' ? parsed : { ...parsed, model: name }
        expect(JSON.parse(named)).toEqual(JSON.parse(JSON.stringify(expected)))
      }),
    )
  })
})

// Half a mark, or a second one, was stepped over: the name was then put into the body some bytes beside its place.
it.each([
  ['one byte of a mark', [0xef], 0],
  ['two bytes of a mark', [0xef, 0xbb], 0],
  ['two marks', [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf], 0],
  ['a mark and half of one', [0xef, 0xbb, 0xbf, 0xef], 0],
])('%s is no JSON, in any pieces', (_name, mark, offset) => {
  const bytes = Buffer.concat([Buffer.from(mark), bytesOf('{"model":"a"}')])
  expect(scanBody(bytes)).toMatchObject({ ok: false, error: { offset } })
  for (let size = 1; size < bytes.length; size++) {
    const scan = new BodyScan()
    let fault
    for (let at = 0; at < bytes.length && fault === undefined; at += size)
      fault = scan.push(bytes.subarray(at, at + size))
    expect(fault).toMatchObject({ offset })
  }
})

describe('model', () => {
  it.each([
    ['plain', '{"model":"a"}', 'a'],
    ['escaped key', '{"m\\u006fdel":"a"}', 'a'],
    ['escapes and multi-byte in the value', '{"model":"\\"\\u00e9\\ud83d\\ude00ü/\\/"}', '"é😀ü//'],
    ['last of duplicates', '{"model":"a","x":1,"model":"b"}', 'b'],
    ['nested ones do not count', '{"x":{"model":"n"},"y":[{"model":"m"}],"model":"a","z":{"model":"q"}}', 'a'],
    ['behind a byte order mark', '\ufeff{"model":"a"}', 'a'],
    ['as a value of another key', '{"x":"model","model":"a"}', 'a'],
  ])('%s', (_name, text, value) => {
    const { model } = facts(text)
    expect(model).toMatchObject({ kind: 'string', value })
    if (model.kind !== 'string') return
    const body = bytesOf(text.replace('\ufeff', ''))
    expect(JSON.parse(textOf(body.subarray(model.start, model.end)))).toBe(value)
  })

  it.each([
    ['a duplicate that is no string wins', '{"model":"a","model":[]}', 'other'],
    ['a duplicate that is null wins', '{"model":"a","model":null}', 'null'],
    ['number', '{"model":1}', 'other'],
    ['none', '{}', 'absent'],
  ])('%s', (_name, text, kind) => expect(facts(text).model.kind).toBe(kind))

  it('replaces a name by a longer multi-byte one and nothing else', () => {
    const body = bytesOf('{ "model" : "a" , "é":"ü\\n" }')
    const { model } = facts(textOf(body))
    if (model.kind !== 'string') throw new Error('no model')
    const spliced = spliceModel(body, model, 'größer-模型')
    expect(textOf(spliced)).toBe('{ "model" : "größer-模型" , "é":"ü\\n" }')
  })

  it('leaves the same object when the name is right', () => {
    const body = bytesOf('{"model":"a"}')
    expect(spliceForEngine(body, facts('{"model":"a"}'), { alias: 'a' })[0]).toBe(body)
  })
})

describe('faults', () => {
  it.each([
    ['empty', '', 1, 1, 'more: the text ends too early'],
    ['not an object', '[1]', 1, 1, 'a JSON object'],
    ['a missing colon', '{"a" 1}', 1, 6, "':' after a key"],
    ['a trailing comma', '{"a":1,\n}', 2, 1, 'a key in double quotes'],
    ['single quotes', "{'a':1}", 1, 2, "a key in double quotes or '}'"],
    ['an open string', '{"a":"b', 1, 8, 'the end of a string'],
    ['columns count characters', '{"é":x}', 1, 6, 'a value'],
    ['two values', '{}{}', 1, 3, 'nothing after the end of the JSON value'],
    ['a leading zero', '{"a":01}', 1, 7, "',' or '}'"],
  ])('%s', (_name, text, line, column, expected) => {
    const scanned = scanBody(bytesOf(text))
    expect(scanned).toMatchObject({ ok: false, error: { expected } })
    if (!scanned.ok) expect(placeOf(bytesOf(text), scanned.error.offset)).toEqual({ line, column })
  })

  it('counts no lines in a fault that is far into the text', () => {
    expect(placeOf(Buffer.alloc(3 * 1024 * 1024, '\n'), 3 * 1024 * 1024 - 1)).toBeUndefined()
    expect(placeOf(Buffer.alloc(100, '\n'), 99)).toEqual({ line: 100, column: 1 })
  })

  it('knows what is no object by its first byte, and a fault in the piece it is in', () => {
    const list = new BodyScan()
    expect(list.push(bytesOf(' '))).toBeUndefined()
    expect(list.push(bytesOf('['))).toMatchObject({ offset: 1, expected: 'a JSON object' })
    const object = new BodyScan()
    expect(object.push(bytesOf('{"a":1,'))).toBeUndefined()
    expect(object.push(bytesOf(',"b":2'))).toMatchObject({ offset: 7 })
  })

  it('refuses nesting beyond 512 levels and takes 512', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    expect(accepts(nested(512))).toBe(true)
    expect(accepts(nested(513))).toBe(false)
  })

  it('refuses a model name that is not UTF-8 or absurdly long, however it is written', () => {
    const broken = Uint8Array.from([...bytesOf('{"model":"'), 0xff, ...bytesOf('"}')])
    expect(scanBody(broken).ok).toBe(false)
    expect(accepts(`{"model":"${'a'.repeat(5000)}"}`)).toBe(false)
    expect(accepts(`{"model":"${'\\n'.repeat(5000)}"}`)).toBe(false)
    expect(accepts(`{"model":"${'a'.repeat(4096)}"}`)).toBe(true)
    expect(accepts(`{"x":"${'a'.repeat(5000)}"}`)).toBe(true)
  })
})
