import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ApiDialect } from '../../contract/api-dialect.ts'
import { errorBody } from '../../contract/error-body.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import type { AnswerFilter } from './answer-filter.ts'
import { createEventFilter, type PlacedEventFilter } from './sse-filter.ts'

const filterOf = (dialect: ApiDialect, askedName = 'm', dropsUsageChunk = false): PlacedEventFilter =>
  createEventFilter({ askedName, dialect, dropsUsageChunk })

function inPieces(filter: AnswerFilter, text: string, size: number): string {
  const bytes = Buffer.from(text)
  const out: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) out.push(filter.push(bytes.subarray(at, at + size)))
  return Buffer.concat([...out, filter.end()]).toString()
}
const push = (filter: AnswerFilter, text: string): string => filter.push(Buffer.from(text)).toString()

const sizes = fc.integer({ min: 1, max: 90 })
const lure = JSON.stringify('"model":"lure","response":{"model":"lure"} [DONE]')

const openai = (model: string): string[] => [
  ': comment',
  '',
  `data: {"choices":[{"delta":{"content":${lure},"model":"inner"}}],"model":"${model}","é":"\\n"}`,
  '',
  'event: x',
  `data:{ "model" : "${model}" , "model2":"no" }`,
  'id: 7',
  '',
  'data: {"model":null}',
  '',
  'data: {"model":{"model":"inner"}}',
  '',
  'data: [DONE]',
  '',
  '',
]
const responses = (model: string): string[] => [
  'event: response.created',
  `data: {"type":"response.created","response":{"id":"r","model":"${model}","output":[]},"model":"outer"}`,
  '',
  'event: response.output_text.delta',
  `data: {"type":"response.output_text.delta","delta":${lure}}`,
  '',
  'event: response.completed',
  `data: {"type":"response.completed","response":{"output":[{"model":"inner","text":${lure}}],"model":"${model}"}}`,
  '',
  '',
]
const anthropic = (model: string): string[] => [
  'event: ping',
  'data: {"type": "ping"}',
  '',
  'event: message_start',
  `data: {"type":"message_start","message":{"id":"i","model":"${model}","content":[]},"model":"outer"}`,
  '',
  'event: content_block_delta',
  `data: {"type":"content_block_delta","delta":{"text":${lure},"message":{"model":"inner"}}}`,
  '',
  'event: message_stop',
  'data: {"type":"message_stop"}',
  '',
  '',
]

describe.each<[ApiDialect, (model: string) => string[]]>([
  ['openai', openai],
  ['responses', responses],
  ['anthropic', anthropic],
])('%s', (dialect, events) => {
  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
  ])('renames where the model stands, in any pieces, and changes nothing else (%s)', (_name, nl) => {
    const stream = (model: string): string => events(model).join(nl)
    fc.assert(
      fc.property(sizes, fc.boolean(), (size, drops) => {
        expect(inPieces(filterOf(dialect, 'größer', drops), stream('/a/b.gguf'), size)).toBe(stream('größer'))
        expect(inPieces(filterOf(dialect, 'same', drops), stream('same'), size)).toBe(stream('same'))
      }),
    )
  })

  it('is complete at its end, and not before', () => {
    const all = events('m').join('\n')
    const complete = (text: string): boolean => {
      const filter = filterOf(dialect)
      const sent = filter.push(Buffer.from(text))
      return filter.isComplete(sent.subarray(-2048))
    }
    expect(complete(all)).toBe(true)
    // Without the last line of data.
    expect(complete(all.slice(0, all.lastIndexOf('data:')))).toBe(false)
  })

  it('knows between which bytes an event of its own may stand', () => {
    const filter = filterOf(dialect)
    expect(filter.isBetweenEvents).toBe(true)
    for (const line of events('m').slice(0, -1)) {
      filter.push(Buffer.from(`${line}\n`))
      expect(filter.isBetweenEvents).toBe(line === '')
    }
  })
})

describe('what need not be looked at', () => {
  it('openai: after an event that has the asked name', () => {
    const filter = filterOf('openai')
    push(filter, 'data: {"model":"other"}\n\n')
    expect(filter.isPassive).toBe(false)
    push(filter, 'data: {"a":{"model":"m"}}\n\n')
    expect(filter.isPassive).toBe(false)
    push(filter, 'data: {"model":"m"}\n\ndata: {"mod')
    expect(filter.isPassive).toBe(false)
    push(filter, 'el":"m"}\n')
    expect(filter.isPassive).toBe(true)
  })

  it('anthropic: after message_start, whose beginning is kept', () => {
    const filter = filterOf('anthropic')
    push(filter, 'event: ping\ndata: {"type": "ping"}\n\n')
    expect([filter.isPassive, filter.head.length]).toEqual([false, 0])
    const line = `data: {"type":"message_start","message":{"model":"e","x":"${'y'.repeat(2_000)}"}}`
    push(filter, `event: message_start\n${line}\n\n`)
    expect([filter.isPassive, filter.head.toString()]).toEqual([true, line.slice(0, 1024)])
  })

  it('responses: never; and not while usage is dropped', () => {
    const filter = filterOf('responses')
    push(filter, responses('m').join('\n'))
    expect(filter.isPassive).toBe(false)
    const dropping = filterOf('openai', 'm', true)
    push(dropping, 'data: {"model":"m"}\n\n')
    expect(dropping.isPassive).toBe(false)
  })

  it.each([
    ['data: 1\n\n', ''],
    ['data: 1\r\n\r\n', ''],
    ['data: 1\n', '\n'],
    ['event: x\n', ''],
  ])('what passed counts for the end: %j', (lines, ending) => {
    const filter = filterOf('openai')
    push(filter, 'data: {"model":"m"}\n\n')
    filter.passed(Buffer.from(lines))
    expect(filter.errorEvent({ error: 1 }).toString()).toBe(`${ending}data: {"error":1}\n\n`)
  })
})

describe('the extra chunk with usage', () => {
  const chunk = 'id: 1\ndata: {"choices":[],"model":"e","usage":{"prompt_tokens":1}}\n\n'
  const others = [
    'data: {"choices":[{"delta":{}}],"usage":null}\n\n',
    'data: {"choices":[],"prompt_filter_results":[]}\n\n',
    'data: {"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}\n\n',
    `data: {"choices":[{"delta":{"content":${JSON.stringify('"choices":[],"usage":{}')}}}]}\n\n`,
  ]

  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
  ])('is dropped whole, nothing else is, and is kept for the count (%s)', (_name, nl) => {
    const lines = (text: string): string => text.replaceAll('\n', nl)
    fc.assert(
      fc.property(sizes, (size) => {
        const filter = filterOf('openai', 'm', true)
        const text = [...others, chunk, chunk, 'data: [DONE]\n\n'].join('')
        expect(inPieces(filter, lines(text), size)).toBe(lines([...others, 'data: [DONE]\n\n'].join('')))
        expect(filter.head.toString()).toBe(chunk.split('\n')[1])
        expect(filter.isBetweenEvents).toBe(true)
      }),
    )
  })

  it('stays where the client asked for it', () => {
    expect(push(filterOf('openai', 'e'), chunk)).toBe(chunk)
    expect(push(filterOf('responses', 'e', true), chunk)).toBe(chunk)
  })
})

describe('lines', () => {
  it('passes whole lines at once and holds a half one', () => {
    const filter = filterOf('openai')
    expect(push(filter, 'data: {"a":1}\n\ndata: {"b"')).toBe('data: {"a":1}\n\n')
    expect(push(filter, ':2}\n\n')).toBe('data: {"b":2}\n\n')
  })

  it.each<ApiDialect>(['openai', 'responses', 'anthropic'])(
    'lets go of a long one and goes on after it: %s',
    (dialect) => {
      const long = `data: "${'x'.repeat(600_000)}"`
      const events = { openai, responses, anthropic }[dialect]
      for (const drops of [false, true]) {
        const text = (model: string): string => `${long}\n\n${events(model).join('\n')}`
        expect(inPieces(filterOf(dialect, 'm', drops), text('other'), 100_000)).toBe(text('m'))
      }
    },
  )

  it.each([
    ['with its name before it', 'event: response.completed\n', true],
    ['of another name', 'event: response.created\n', false],
    ['without a name', '', false],
  ])('a last response that is too long to be read, %s', (_name, name, expected) => {
    const filter = filterOf('responses')
    const text = `data: 1\n\n${name}data: {"response":{"text":"${'x'.repeat(600_000)}"}}`
    const tail = Buffer.from(inPieces(filter, text, 100_000)).subarray(-2048)
    // It may still break off.
    expect(filter.isComplete(tail)).toBe(false)
    push(filter, '\n\n')
    expect(filter.isComplete(tail)).toBe(expected)
  })

  it('such a last response says its type behind the text', () => {
    const filter = filterOf('responses')
    const text = `data: {"response":{"text":"${'x'.repeat(600_000)}"},"type":"response.completed"}\n\n`
    expect(filter.isComplete(Buffer.from(inPieces(filter, text, 100_000)).subarray(-2048))).toBe(true)
  })
})

describe('the last event of a stream that breaks off', () => {
  const error = errorBody(Hal0Error.of('dispatch.upstream_unavailable', 'gone'))
  it.each([
    ['before any event', [], ''],
    ['between events', ['data: 1\n\n'], ''],
    ['between CRLF events', ['data: 1\r\n\r', '\n'], ''],
    ['in the middle of a line, which is dropped', ['data: 1\n\ndata: {"ha'], ''],
    ['after a line of data', ['data: 1\n\ndata: x\n'], '\n'],
    ['after a CRLF line', ['data: 1\r\n'], '\n'],
    ['after a line behind the data', ['data: 1\nid: 7\n'], '\n'],
    ['after the name of the next event', ['data: 1\n\ndata: 2\n\n', 'event: x\n', 'id: 7\n'], ''],
    ['after the end of a line in pieces', ['data: 1\n', 'id: 7\nretry: 9\n'], '\n'],
    ['after a line behind the data, in pieces', ['data: 1\n', 'id: 7\n'], '\n'],
    // It was ended like data: clients read an event with empty data, and failed at that.
    ['after the name of an event', ['data: 1\n\nevent: x\n'], ''],
    ['in a long line that went out in part', [`data: ${'x'.repeat(300_000)}`], '\n\n'],
    ['after the end of a long line', [`data: ${'x'.repeat(300_000)}`, '\n'], '\n'],
    ['after a line behind a long line', [`data: ${'x'.repeat(300_000)}`, '\nid: 7\n'], '\n'],
    ['after a long line', [`data: ${'x'.repeat(300_000)}`, 'x\n'], '\n'],
  ])('%s', (_name, chunks, ending) => {
    const filter = filterOf('openai')
    for (const chunk of chunks) push(filter, chunk)
    expect(filter.errorEvent(error).toString()).toBe(`${ending}data: ${JSON.stringify(error)}\n\n`)
  })

  it.each<ApiDialect>(['responses', 'anthropic'])('has a name: %s', (dialect) => {
    expect(filterOf(dialect).errorEvent({ a: 1 }).toString()).toBe('event: error\ndata: {"a":1}\n\n')
  })
})
