import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BodyScan } from './scan-body.ts'
import { spliceForEngine } from './splice-model.ts'

/** The body as the engine gets it, scanned in pieces of `size` bytes. */
function spliced(text: string, enableThinking: boolean | undefined, { size = 1 << 20, alias = 'a' } = {}): string {
  const bytes = Buffer.from(text)
  const scan = new BodyScan()
  for (let at = 0; at < bytes.length; at += size) {
    expect(scan.push(bytes.subarray(at, at + size))).toBeUndefined()
  }
  const facts = scan.end()
  if (!facts.ok) throw new Error(`refused: ${JSON.stringify(facts.error)}`)
  return Buffer.concat(spliceForEngine(bytes, facts.value, { alias, enableThinking })).toString()
}

describe('chat_template_kwargs.enable_thinking', () => {
  it.each([
    ['no kwargs', '{"model":"a"}', '{"chat_template_kwargs":{"enable_thinking":false},"model":"a"}'],
    ['no keys at all', '{}', '{"model":"a","chat_template_kwargs":{"enable_thinking":false}}'],
    [
      'empty kwargs',
      '{"chat_template_kwargs": { } ,"model":"a"}',
      '{"chat_template_kwargs": {"enable_thinking":false } ,"model":"a"}',
    ],
    [
      'other kwargs',
      '{"model":"a","chat_template_kwargs":{ "x":1}}',
      '{"model":"a","chat_template_kwargs":{"enable_thinking":false, "x":1}}',
    ],
    [
      'a key of that name deeper down',
      '{"model":"a","chat_template_kwargs":{"x":{"enable_thinking":true}}}',
      '{"model":"a","chat_template_kwargs":{"enable_thinking":false,"x":{"enable_thinking":true}}}',
    ],
    [
      'a value of that name',
      '{"model":"a","chat_template_kwargs":{"x":"enable_thinking"}}',
      '{"model":"a","chat_template_kwargs":{"enable_thinking":false,"x":"enable_thinking"}}',
    ],
    [
      'kwargs that are null',
      '{"model":"a","chat_template_kwargs": null }',
      '{"model":"a","chat_template_kwargs": {"enable_thinking":false} }',
    ],
    [
      'the last of two kwargs counts',
      '{"model":"a","chat_template_kwargs":{"enable_thinking":true},"chat_template_kwargs":{}}',
      '{"model":"a","chat_template_kwargs":{"enable_thinking":true},"chat_template_kwargs":{"enable_thinking":false}}',
    ],
    [
      'kwargs deeper down do not count',
      '{"model":"a","x":{"chat_template_kwargs":{"enable_thinking":true}}}',
      '{"chat_template_kwargs":{"enable_thinking":false},"model":"a","x":{"chat_template_kwargs":{"enable_thinking":true}}}',
    ],
    [
      'a key one letter off',
      '{"model":"a","chat_template_kwarg":{"enable_thinking":true}}',
      '{"chat_template_kwargs":{"enable_thinking":false},"model":"a","chat_template_kwarg":{"enable_thinking":true}}',
    ],
    [
      'name and thinking in one pass',
      '{"x":1,"chat_template_kwargs":{},"model":"long-name","y":2}',
      '{"x":1,"chat_template_kwargs":{"enable_thinking":false},"model":"a","y":2}',
    ],
  ])('is put in: %s', (_name, text, expected) => {
    for (const size of [1, 2, 7, 1 << 20]) expect(spliced(text, false, { size })).toBe(expected)
  })

  it.each([
    ['the client set it', '{"model":"a","chat_template_kwargs":{"x":1,"enable_thinking":true}}'],
    ['the client set it to null', '{"model":"a","chat_template_kwargs":{"enable_thinking":null}}'],
    ['the client wrote it in escapes', '{"model":"a","chat_template_kwargs":{"enable\\u005fthinking":true}}'],
    [
      'both keys entirely in escapes',
      `{"model":"a","${escapedKey('chat_template_kwargs')}":{"${escapedKey('enable_thinking')}":1}}`,
    ],
    ['a list', '{"model":"a","chat_template_kwargs":[{}]}'],
    ['a text', '{"model":"a","chat_template_kwargs":"x"}'],
    ['a number', '{"model":"a","chat_template_kwargs":1}'],
    ['true', '{"model":"a","chat_template_kwargs":true}'],
    ['an object, then a text', '{"model":"a","chat_template_kwargs":{},"chat_template_kwargs":"x"}'],
    ['null, then the key', '{"model":"a","chat_template_kwargs":null,"chat_template_kwargs":{"enable_thinking":1}}'],
  ])('is left alone: %s', (_name, text) => {
    for (const size of [1, 3, 1 << 20]) expect(spliced(text, false, { size })).toBe(text)
  })

  it('nothing is put in where the slot says nothing', () => {
    expect(spliced('{"model":"a","chat_template_kwargs":null}', undefined)).toBe(
      '{"model":"a","chat_template_kwargs":null}',
    )
  })
})

function escapedKey(key: string): string {
  return key.replace(/./g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Keys that matter, written in every way, and others. */
const key = (name: string) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(JSON.stringify(name)) },
    fc.constant(`"${escapedKey(name)}"`),
    fc.nat(name.length - 1).map((at) => `"${name.slice(0, at)}${escapedKey(name.charAt(at))}${name.slice(at + 1)}"`),
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  )
const gap = fc.constantFrom('', ' ', '\n\t')
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value))

function objectText(pair: fc.Arbitrary<readonly [string, string]>): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(fc.tuple(gap, pair, gap), { maxLength: 5 }), gap)
    .map(([pairs, last]) => `{${pairs.map(([a, [k, v], b]) => `${a}${k}${b}:${b}${v}${a}`).join(',')}${last}}`)
}

const kwargsText = fc.oneof(objectText(fc.tuple(key('enable_thinking'), json)), fc.constant('null'), json)
const bodyText = objectText(
  fc.oneof(
    fc.tuple(key('chat_template_kwargs'), kwargsText),
    fc.tuple(key('model'), fc.oneof(fc.constant('"a"'), fc.constant('null'), json)),
    fc.tuple(key('x'), fc.oneof(kwargsText, json)),
  ),
)

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What the rule says, on built values. */
function ruleSays(text: string, alias: string, enableThinking: boolean): Record<string, unknown> {
  const body: unknown = JSON.parse(text)
  if (!isObject(body)) throw new Error('no object')
  const model = body['model']
  if (model === undefined || model === null || typeof model === 'string') body['model'] = alias
  const kwargs = body['chat_template_kwargs']
  if (kwargs === undefined || kwargs === null) body['chat_template_kwargs'] = { enable_thinking: enableThinking }
  else if (isObject(kwargs) && !Object.hasOwn(kwargs, 'enable_thinking')) kwargs['enable_thinking'] = enableThinking
  return body
}

describe('spliceForEngine against JSON.parse', () => {
  it('any body in any pieces parses to what the rule says', () => {
    const options = fc.record({ size: fc.integer({ min: 1, max: 9 }), alias: fc.string({ unit: 'binary' }) })
    fc.assert(
      fc.property(bodyText, fc.boolean(), options, (text, enableThinking, { size, alias }) => {
        const result = spliced(text, enableThinking, { size, alias })
        expect(JSON.parse(result)).toEqual(ruleSays(text, JSON.parse(JSON.stringify(alias)) as string, enableThinking))
      }),
      { numRuns: 2000 },
    )
  })

  it('every byte that is not replaced stays as it was', () => {
    const pairs = objectText(fc.tuple(fc.oneof(key('chat_template_kwargs'), key('x')), kwargsText))
    fc.assert(
      fc.property(pairs, fc.boolean(), (object, enableThinking) => {
        const text = `{"model":"a","y":${object},${object.slice(1)}`
        fc.pre(!/,\s*\}$/.test(text))
        const parsed: unknown = JSON.parse(text)
        const isReplaced = isObject(parsed) && parsed['chat_template_kwargs'] === null
        const result = spliced(text, enableThinking)
        let head = 0
        while (head < text.length && text[head] === result[head]) head++
        let tail = 0
        while (tail < text.length - head && text.at(-1 - tail) === result.at(-1 - tail)) tail++
        expect(text.slice(head, text.length - tail)).toBe(isReplaced ? 'null' : '')
      }),
      { numRuns: 500 },
    )
  })
})
