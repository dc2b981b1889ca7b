import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Result } from '../../kernel/result.ts'
import type { BodyFacts } from './body-facts.ts'
import type { ScanFault } from './json-scanner.ts'
import { BodyScan, scanBody } from './scan-body.ts'
import { scanWhole } from './scan-whole.ts'
import { spliceForEngine } from './splice-model.ts'

/*
 * Where the scan is meant to differ from JSON.parse, and the only places: the text has to be an object; a byte order mark is stepped over; nesting ends
 * at 512 levels; a model name has at most 4,096 bytes and is valid UTF-8; invalid UTF-8 in other strings is the engine's to judge.
 */

const KEYS = ['model', 'stream', 'stream_options', 'chat_template_kwargs', 'enable_thinking']
const escaped = (text: string): string =>
  Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')

/** One text, written with any of its characters as escapes. */
const written = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(text, fc.oneof({ weight: 4, arbitrary: fc.constant(-1) }, fc.nat(20))).map(([plain, at]) => {
    if (at < 0) return JSON.stringify(plain)
    const cut = Math.min(at, plain.length)
    return `"${JSON.stringify(plain.slice(0, cut)).slice(1, -1)}${escaped(plain.slice(cut, cut + 1))}${JSON.stringify(plain.slice(cut + 1)).slice(1, -1)}"`
  })

const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('größer-模型', '😀', '\ud800', '\udc00x', '"', '\\', '/', '\n', '\u2028', '\0', 'model', 'true'),
  fc.nat(900).map((size) => 'base64+/'.repeat(size / 8) + '='),
)
const key = written(
  fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...KEYS) }, { weight: 1, arbitrary: fc.string({ unit: 'binary' }) }),
)
const gap = fc.constantFrom('', '', '', ' ', '\n', '\t \r\n')
const scalar = fc.oneof(
  written(anyText),
  fc.constantFrom('true', 'false', 'null', '0', '-0', '1e5', '-12.50E-3', '9007199254740993', '1E+400'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
)
const { object } = fc.letrec<{ value: string; object: string; list: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, scalar, tie('object'), tie('list')),
  object: fc
    .tuple(fc.array(fc.tuple(gap, key, gap, gap, tie('value'), gap), { maxLength: 6 }), gap)
    .map(([pairs, last]) =>
      pairs.length === 0
        ? `{${last}}`
        : `{${pairs.map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`).join(',')}}`,
    ),
  list: fc
    .tuple(fc.array(fc.tuple(gap, tie('value'), gap), { maxLength: 5 }), gap)
    .map(([items, last]) => (items.length === 0 ? `[${last}]` : `[${items.map((item) => item.join('')).join(',')}]`)),
}))
const bodyText = fc.tuple(gap, object, gap).map((parts) => parts.join(''))

/** Cuts at any places. */
const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 })

function inPieces(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length] ?? 1
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}

function scanPieces(pieces: readonly Buffer[]): Result<BodyFacts, ScanFault> {
  const scan = new BodyScan()
  for (const piece of pieces) {
    const fault = scan.push(piece)
    if (fault !== undefined) return { ok: false, error: fault }
  }
  return scan.end()
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const has = (value: Record<string, unknown>, name: string): boolean => Object.hasOwn(value, name)
const kindOf = (value: unknown, text: string): string =>
  value === null ? 'null' : typeof value === 'string' ? text : isObject(value) ? 'object' : 'other'

function expectFacts(facts: BodyFacts, value: Record<string, unknown>): void {
  const model = value['model']
  const modelKind = isObject(model) ? 'other' : kindOf(model, 'string')
  expect(facts.model.kind).toBe(has(value, 'model') ? modelKind : 'absent')
  if (facts.model.kind === 'string') expect(facts.model.value).toBe(model)
  expect(facts.stream).toBe(value['stream'] === true)
  expect(facts.streamOptions).toBe(has(value, 'stream_options') ? 'present' : 'absent')
  const kwargs = value['chat_template_kwargs']
  expect(facts.kwargs.kind).toBe(has(value, 'chat_template_kwargs') ? kindOf(kwargs, 'other') : 'absent')
  if (facts.kwargs.kind === 'object' && isObject(kwargs)) {
    expect(facts.kwargs.hasThinking).toBe(has(kwargs, 'enable_thinking'))
    expect(facts.kwargs.hasKeys).toBe(Object.keys(kwargs).length > 0)
  }
  expect(facts.hasKeys).toBe(Object.keys(value).length > 0)
}

describe('the scan against JSON.parse', () => {
  it('says of any object what JSON.parse says, in any pieces, behind a byte order mark, and the quick way too', () => {
    fc.assert(
      fc.property(bodyText, cuts, fc.boolean(), (text, sizes, hasMark) => {
        const bytes = Buffer.from(hasMark ? `\ufeff${text}` : text)
        const value = parsed(Buffer.from(text).toString()) ?? {}
        const scanned = scanPieces(inPieces(bytes, sizes))
        if (!scanned.ok) throw new Error(`refused at ${scanned.error.offset}: ${scanned.error.expected}`)
        expectFacts(scanned.value, value)
        const whole = scanWhole(Buffer.from(text))
        if (whole !== undefined) expect(whole).toEqual(scanned.value)
        expect(scanBody(Buffer.from(text))).toEqual(scanned)
      }),
      { numRuns: 2500 },
    )
  })

  it('the spliced body, in any pieces, is the same value but for what was put in', () => {
    const wish = fc.record({
      alias: anyText.map((text) => Buffer.from(text).toString()),
      enableThinking: fc.constantFrom(undefined, true, false),
      askForUsage: fc.boolean(),
    })
    fc.assert(
      fc.property(bodyText, cuts, wish, (text, sizes, wanted) => {
        const pieces = inPieces(Buffer.from(text), sizes)
        const scanned = scanPieces(pieces)
        if (!scanned.ok) throw new Error('refused')
        const value = parsed(Buffer.from(text).toString()) ?? {}
        const out = parsed(Buffer.concat(spliceForEngine(pieces, scanned.value, wanted)).toString())
        if (scanned.value.model.kind !== 'other') value['model'] = wanted.alias
        const kwargs = value['chat_template_kwargs']
        if (wanted.enableThinking !== undefined) {
          const pair = { enable_thinking: wanted.enableThinking }
          if (kwargs === undefined || kwargs === null) value['chat_template_kwargs'] = pair
          else if (isObject(kwargs)) value['chat_template_kwargs'] = { ...pair, ...kwargs }
        }
        if (wanted.askForUsage && !has(value, 'stream_options')) value['stream_options'] = { include_usage: true }
        expect(out).toEqual(value)
      }),
      { numRuns: 1500 },
    )
  })

  it('refuses what JSON.parse refuses, not behind the place where that stops, and nothing else', () => {
    const mutation = fc.record({
      kind: fc.constantFrom('flip', 'delete', 'insert', 'cut'),
      where: fc.nat(),
      byte: fc.oneof(fc.constantFrom(...Buffer.from('"\\{}[],:0-+.eEtfnu \n')), fc.nat(255)),
    })
    fc.assert(
      fc.property(bodyText, fc.array(mutation, { minLength: 1, maxLength: 2 }), cuts, (text, mutations, sizes) => {
        let bytes = Buffer.from(text)
        for (const { kind, where, byte } of mutations) {
          const at = where % (bytes.length + 1)
          const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)]
          if (kind === 'flip') bytes = Buffer.concat([head, Buffer.of(byte), tail.subarray(1)])
          else if (kind === 'delete') bytes = Buffer.concat([head, tail.subarray(1)])
          else if (kind === 'insert') bytes = Buffer.concat([head, Buffer.of(byte), tail])
          else bytes = Buffer.from(head)
        }
        fc.pre(!bytes.subarray(0, 3).equals(Buffer.from('\ufeff')))
        const damaged = bytes.toString()
        const value = parsed(damaged)
        const scanned = scanPieces(inPieces(bytes, sizes))
        expect(scanBody(bytes)).toEqual(scanned)
        if (scanned.ok) {
          expect(value).toBeDefined()
          if (value !== undefined) expectFacts(scanned.value, value)
          return
        }
        if (value !== undefined) {
          expect(scanned.error.expected).toMatch(/^a model name/)
          expect(damaged).toContain('\ufffd')
          return
        }
        expect(scanned.error.offset).toBeLessThanOrEqual(parseFaultBytes(damaged, bytes))
      }),
      { numRuns: 4000 },
    )
  })

  it('the quick way is taken for what clients send', () => {
    for (const text of [
      '{"model":"agent","messages":[{"role":"user","content":"Say \\"hello\\"\\n\\u00e9 ü"}],"stream":true,"temperature":0.7}',
      '{ "model" : "a" , "chat_template_kwargs" : { "x" : [ 1 , { } ] } , "stream_options" : null }',
      '{"id":"x","object":"chat.completion.chunk","model":"/models/x.gguf","choices":[{"delta":{},"finish_reason":"stop"}]}',
    ]) {
      expect(scanWhole(Buffer.from(text))).toEqual(scanPieces([Buffer.from(text)]).ok && okOf(text))
    }
  })
})

function okOf(text: string): BodyFacts | undefined {
  const scanned = scanPieces(inPieces(Buffer.from(text), [3]))
  return scanned.ok ? scanned.value : undefined
}

/** Where JSON.parse stopped, as far as it tells, in bytes. */
function parseFaultBytes(text: string, bytes: Buffer): number {
  try {
    JSON.parse(text)
  } catch (thrown) {
    const found = /at position (\d+)/.exec(String(thrown))?.[1]
    // Replaced bytes count differently.
    if (found !== undefined && !text.includes('\ufffd')) return Buffer.byteLength(text.slice(0, Number(found)))
  }
  return bytes.length
}
