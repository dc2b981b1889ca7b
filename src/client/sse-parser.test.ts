import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSseParser, type SseMessage } from './sse-parser.ts'

const parse = (...chunks: string[]): SseMessage[] => {
  const parser = createSseParser()
  return chunks.flatMap((chunk) => parser.push(chunk))
}
const message = (data: string, event = 'message', lastEventId = ''): SseMessage => ({ event, data, lastEventId })

describe('what a stream says', () => {
  it.each([
    ['one event', 'data: a\n\n', [message('a')]],
    ['several data lines', 'data: a\ndata: b\n\n', [message('a\nb')]],
    ['only the first space is not data', 'data:  a\n\ndata:b\n\n', [message(' a'), message('b')]],
    ['a name holds for one event', 'event: x\ndata: a\n\ndata: b\n\n', [message('a', 'x'), message('b')]],
    ['an id holds on', 'id: 7\ndata: a\n\ndata: b\n\n', [message('a', 'message', '7'), message('b', 'message', '7')]],
    ['an id with NUL is none', 'id: 7\0\ndata: a\n\n', [message('a')]],
    ['comments', ': hi\ndata: a\n: ho\n\n:\n\n', [message('a')]],
    ['no data, no event', 'event: x\nid: 3\n\ndata: a\n\n', [message('a', 'message', '3')]],
    ['an empty data line is data', 'data\n\n', [message('')]],
    ['unknown fields', 'retry: 5\nfoo: x\ndata: a\n\n', [message('a')]],
    ['an unfinished event is none', 'data: a\n', []],
    ['a byte order mark', '\uFEFFdata: a\n\n', [message('a')]],
    ['carriage returns', 'data: a\rdata: b\r\rdata: c\r\n\r\n', [message('a\nb'), message('c')]],
  ])('%s', (_, text, expected) => {
    expect(parse(text)).toEqual(expected)
  })

  it('dispatches at a carriage return, without waiting for what follows', () => {
    expect(parse('data: a\r\r')).toEqual([message('a')])
  })

  it('takes CR and LF in two chunks for one line end', () => {
    expect(parse('data: a\r', '\ndata: b\r', '\n\r', '\n')).toEqual([message('a\nb')])
  })
})

it('does not depend on the chunking', () => {
  const line = fc.constantFrom('data: ä', 'data', 'event: e', 'id: 1', ': c', 'x', '', '')
  const end = fc.constantFrom('\n', '\r', '\r\n')
  const stream = fc.array(fc.tuple(line, end), { maxLength: 30 }).map((lines) => lines.flat().join(''))
  fc.assert(
    fc.property(stream, fc.array(fc.nat(40), { maxLength: 20 }), (text, cuts) => {
      const chunks: string[] = []
      let at = 0
      for (const cut of cuts) {
        chunks.push(text.slice(at, at + cut))
        at += cut
      }
      chunks.push(text.slice(at))
      expect(parse(...chunks)).toEqual(parse(text))
    }),
  )
})
