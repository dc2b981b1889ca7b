import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ApiDialect } from '../../contract/api-dialect.ts'
import { readUsage } from './read-usage.ts'

const NONE = Buffer.alloc(0)
const TAIL_BYTES = 2048
const read = (dialect: ApiDialect, tail: string, head = '') =>
  readUsage(dialect, Buffer.from(head), Buffer.from(tail).subarray(-TAIL_BYTES))
/** prompt, completion, cached */
const tokens = (dialect: ApiDialect, tail: string, head = '') => {
  const usage = read(dialect, tail, head)
  return usage === null ? null : [usage.promptTokens, usage.completionTokens, usage.cachedTokens]
}

const openai =
  '{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":11}}'
const timings = '{"cache_n":11,"prompt_n":1,"prompt_ms":0.6,"predicted_n":3,"predicted_ms":0.7}'
const input = '{"input_tokens":12,"output_tokens":3,"input_tokens_details":{"cached_tokens":11}}'
const start =
  'event: message_start\ndata: {"type":"message_start","message":{"id":"m","content":[],"usage":{"cache_read_input_tokens":11,"input_tokens":1,"output_tokens":0}}}\n\n'
const delta =
  'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'

describe('what engines say', () => {
  it.each<[string, ApiDialect, string, string, (number | null)[] | null]>([
    ['JSON', 'openai', `{"choices":[],"usage":${openai},"id":"x","timings":${timings}}`, '', [12, 3, 11]],
    ['JSON with spaces', 'openai', `{\n  "id" : 1,\n  "usage" : ${openai}\n}\n`, '', [12, 3, 11]],
    ['JSON without details', 'openai', '{"usage":{"prompt_tokens":2,"completion_tokens":0}}', '', [2, 0, null]],
    [
      'details that are null',
      'openai',
      '{"usage":{"prompt_tokens":2,"prompt_tokens_details":null}}',
      '',
      [2, null, null],
    ],
    ['embeddings', 'openai', '{"usage":{"prompt_tokens":2,"total_tokens":2}}', '', [2, null, null]],
    [
      'usage at the front',
      'openai',
      '.1,0.2],"index":0}]}',
      '{"model":"x","usage":{"prompt_tokens":2},"data":[{"em',
      [2, null, null],
    ],
    ['timings', 'openai', `data: {"choices":[{}],"timings":${timings}}\n\ndata: [DONE]\n\n\n`, '', [12, 3, 11]],
    [
      'timings without what was found',
      'openai',
      'data: {"timings":{"prompt_n":5,"predicted_n":3}}\n\n',
      '',
      [null, 3, null],
    ],
    ['an extra chunk', 'openai', `data: {"choices":[],"usage":${openai}}\r\n\r\ndata: [DONE]\r\n\r\n`, '', [12, 3, 11]],
    [
      'a chunk that was dropped',
      'openai',
      'data: {"choices":[{}],"usage":null}\n\ndata: [DONE]\n\n',
      `data: {"choices":[],"usage":${openai}}`,
      [12, 3, 11],
    ],
    ['null after the count', 'openai', `data: {"usage":${openai}}\n\ndata: {"usage":null}\n\n`, '', [12, 3, 11]],
    [
      'the last of two',
      'openai',
      `data: {"usage":{"prompt_tokens":12,"completion_tokens":1}}\n\ndata: {"usage":${openai}}\n\n`,
      '',
      [12, 3, 11],
    ],
    [
      'lines of chunking',
      'openai',
      `\r\n8f\r\ndata: {"usage":${openai}}\n\n\r\n e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n`,
      '',
      [12, 3, 11],
    ],
    ['a response', 'responses', `{"id":"r","output":[],"usage":${input}}`, '', [12, 3, 11]],
    [
      'a streamed response',
      'responses',
      `event: response.completed\ndata: {"type":"response.completed","response":{"usage":${input}},"timings":${timings}}\n\n`,
      '',
      [12, 3, 11],
    ],
    [
      'a streamed response with its type behind',
      'responses',
      `data: {"response":{"usage":${input},"user":null},"sequence_number":9,"type":"response.completed"}\n\n`,
      '',
      [12, 3, 11],
    ],
    [
      'the end of a long response',
      'responses',
      `${'x'.repeat(3000)}"}],"tools":[],"usage":${input}},"sequence_number":9}\n\n`,
      '',
      [12, 3, 11],
    ],
    [
      'a message',
      'anthropic',
      '{"content":[],"usage":{"cache_read_input_tokens":11,"input_tokens":1,"output_tokens":3}}',
      '',
      [12, 3, 11],
    ],
    [
      'a message that filled the cache',
      'anthropic',
      '{"usage":{"cache_creation_input_tokens":5,"cache_read_input_tokens":0,"input_tokens":1,"output_tokens":3}}',
      '',
      [6, 3, 0],
    ],
    ['a streamed message', 'anthropic', delta, start, [12, 3, 11]],
    [
      'a streamed message that tells all at the end',
      'anthropic',
      'data: {"type":"message_delta","usage":{"input_tokens":7,"output_tokens":3}}\n\n',
      start,
      [7, 3, null],
    ],
    ['a head that is cut off', 'anthropic', delta, start.slice(0, -4), [12, 3, 11]],
    ['a head that is cut off too soon', 'anthropic', delta, start.slice(0, 90), [null, 3, null]],
  ])('%s', (_name, dialect, tail, head, expected) => expect(tokens(dialect, tail, head)).toEqual(expected))
})

describe('what is not believed', () => {
  const text = JSON.stringify(`"usage":${openai}`)
  it.each<[string, ApiDialect, string]>([
    ["the model's text", 'openai', `data: {"choices":[{"delta":{"content":${text}}}]}\n\n`],
    ["the model's text at the end of a line", 'openai', `{"a":${text}}`],
    ["the model's text, cut within", 'openai', `sage\\":${JSON.stringify(openai).slice(1, -1)}}"}}]}`],
    ["the model's text, cut at its quote", 'openai', `"usage\\":{\\"prompt_tokens\\":1}"}]}`],
    ['a key inside, cut at its quote', 'openai', `"usage":${openai}}`],
    [
      "a tool's arguments",
      'anthropic',
      `{"content":[{"type":"tool_use","input":{"usage":{"input_tokens":5,"output_tokens":1}}}]}`,
    ],
    [
      "a tool's arguments, over several lines",
      'anthropic',
      `{"content":[{"input":{\n"usage":{"input_tokens":5}\n}\n}\n]}`,
    ],
    ['a line of its own in a long body', 'anthropic', `xt","input":{\n"usage":{"input_tokens":5}\n}\n}\n]}`],
    ['another object of an event', 'responses', `data: {"item":{"usage":${input}}}\n\n`],
    ['deeper in the response', 'responses', `data: {"response":{"tools":[{"usage":${input}}]}}\n\n`],
    ['a text', 'openai', `{"usage":"12"}`],
    ['numbers that are none', 'openai', `{"usage":{"prompt_tokens":-1,"completion_tokens":1.5}}`],
    ['numbers as texts', 'openai', `{"usage":{"prompt_tokens":"1"}}`],
    ['a number that is none', 'openai', '{"usage":{"prompt_tokens":1x,"completion_tokens":"2"}}'],
    ['another line', 'openai', `data: {"usage":${openai}\n\n: }\n`],
    ['a count of tokens', 'anthropic', '{"input_tokens":5}'],
    ['nothing', 'openai', ''],
    ['blank lines', 'openai', '\n\r\n \n'],
    ['a brace', 'openai', '}'],
    ['a quote', 'openai', '"}'],
  ])('%s', (_name, dialect, tail) => expect(read(dialect, tail)).toBeNull())
})

describe('any answer', () => {
  const count = fc.nat(1_000_000)
  /** Texts and objects that do their best to look like usage. */
  const lure = fc.oneof(
    fc.string(),
    fc.constantFrom(`"usage":${openai}`, `\\"usage":${openai}}`, '"', '\\', `}\n\ndata: {"usage":${openai}}\n\n`, '{"'),
    fc.jsonValue(),
    fc.record({ usage: fc.record({ prompt_tokens: count, completion_tokens: count }), timings: fc.anything() }),
  )
  const padding = fc.integer({ min: 0, max: 3_000 }).map((length) => '"\\usage'.repeat(length / 4).slice(0, length))
  const before = fc.array(fc.record({ text: lure, inside: fc.record({ usage: fc.constant({ prompt_tokens: 1 }) }) }), {
    maxLength: 3,
  })

  it('JSON or stream, cut anywhere before its usage: exactly what the engine said', () => {
    fc.assert(
      fc.property(
        before,
        padding,
        lure,
        count,
        count,
        fc.boolean(),
        (choices, pad, after, prompt, completion, streams) => {
          const usage = { prompt_tokens: prompt, completion_tokens: completion }
          const short = JSON.stringify(after).length < 500 ? after : null
          const json = JSON.stringify({ choices, pad, usage, zz: { lure: short } })
          const other = JSON.stringify({ choices, pad })
          const body = streams ? `data: ${other}\n\ndata: ${json}\n\ndata: [DONE]\n\n` : json
          expect(tokens('openai', body)).toEqual([prompt, completion, null])
        },
      ),
      { numRuns: 500 },
    )
  })

  it('without usage of its own: null, wherever it is cut', () => {
    fc.assert(
      fc.property(before, padding, lure, fc.nat(4_000), fc.boolean(), (choices, pad, after, from, streams) => {
        const json = JSON.stringify({ choices, pad, zz: { lure: after } })
        const body = Buffer.from(streams ? `data: ${json}\n\n` : json)
        expect(readUsage('openai', NONE, body.subarray(from % body.length))).toBeNull()
      }),
      { numRuns: 1_000 },
    )
  })

  it('any bytes: never throws', () => {
    const bytes = fc.array(fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', '\n', '1', 'usage', 'data:', ' '), {
      maxLength: 60,
    })
    fc.assert(
      fc.property(
        bytes,
        bytes,
        fc.constantFrom<ApiDialect>('openai', 'responses', 'anthropic'),
        (head, tail, dialect) => {
          readUsage(dialect, Buffer.from(head.join('')), Buffer.from(tail.join('')))
        },
      ),
      { numRuns: 2_000 },
    )
  })
})
