import { describe, expect, it } from 'vitest'
import { parseHead, valueOf } from './answer-head.ts'

const head = (...lines: string[]) => ['HTTP/1.1 200 OK', ...lines].join('\r\n')

describe('parseHead', () => {
  it('gives names in lower case, in order, repeated ones repeated', () => {
    const parsed = parseHead(head('Content-Type: text/plain', 'X-A:1', 'x-a:  2  ', 'Empty:'), 'POST')
    expect(parsed).toMatchObject({
      status: 200,
      lines: ['content-type', 'text/plain', 'x-a', '1', 'x-a', '2', 'empty', ''],
    })
    expect(typeof parsed === 'string' ? '' : valueOf(parsed.lines, 'x-a')).toBe('1')
  })

  it.each([
    ['nothing', head(), undefined],
    ['seconds', head('Keep-Alive: timeout=5'), 5],
    ['seconds among others', head('Keep-Alive: max=100, Timeout = 65'), 65],
    ['no number', head('Keep-Alive: timeout=soon'), undefined],
    ['an absurd number', head('Keep-Alive: timeout=99999999999'), undefined],
    ['only how often', head('Keep-Alive: max=100'), undefined],
    ['another word', head('Keep-Alive: xtimeout=5'), undefined],
  ])('keeps for so long: %s', (_name, text, keepsForS) => {
    expect(parseHead(text, 'POST')).toMatchObject({ keepsForS })
  })

  it.each([
    ['a length', head('Content-Length: 5'), 'POST', { kind: 'length', bytes: 5 }, true],
    [
      'the same length twice',
      head('Content-Length: 5', 'Content-Length: 5'),
      'POST',
      { kind: 'length', bytes: 5 },
      true,
    ],
    ['chunks', head('Transfer-Encoding: chunked'), 'POST', { kind: 'chunked' }, true],
    ['chunks in capitals', head('Transfer-Encoding: CHUNKED'), 'POST', { kind: 'chunked' }, true],
    [
      'chunks and a length',
      head('Content-Length: 5', 'Transfer-Encoding: chunked'),
      'POST',
      { kind: 'chunked' },
      false,
    ],
    ['neither', head(), 'POST', { kind: 'close' }, false],
    ['no content', 'HTTP/1.1 204 No Content', 'POST', { kind: 'none' }, true],
    ['not modified', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5', 'GET', { kind: 'none' }, true],
    ['an answer to HEAD', head('Content-Length: 5'), 'HEAD', { kind: 'none' }, true],
    [
      'an engine that closes',
      head('Content-Length: 5', 'Connection: close'),
      'POST',
      { kind: 'length', bytes: 5 },
      false,
    ],
    ['an old engine', 'HTTP/1.0 200 OK\r\nContent-Length: 5', 'POST', { kind: 'length', bytes: 5 }, false],
    [
      'an old engine that keeps',
      'HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: Keep-Alive',
      'POST',
      { kind: 'length', bytes: 5 },
      true,
    ],
    ['no reason', 'HTTP/1.1 200\r\nContent-Length: 0', 'POST', { kind: 'length', bytes: 0 }, true],
  ])('%s', (_name, text, asked, framing, keepsAlive) => {
    expect(parseHead(text, asked)).toMatchObject({ framing, keepsAlive })
  })

  it.each([
    ['another protocol', 'SSH-2.0-x'],
    ['another version', 'HTTP/2.0 200 OK'],
    ['no status', 'HTTP/1.1 OK'],
    ['a status of four digits', 'HTTP/1.1 2000 OK'],
    ['a status below 100', 'HTTP/1.1 099 OK'],
    ['a header without a colon', head('nonsense')],
    ['a header without a name', head(': x')],
    ['a name with a space', head('Content-Length : 5')],
    ['a folded line', head('X-A: 1', ' 2')],
    ['a bare line feed', head('X-A: 1\nContent-Length: 5')],
    ['a bare carriage return', head('X-A: 1\rX-B: 2')],
    ['two lengths', head('Content-Length: 5', 'Content-Length: 6')],
    ['a length with a sign', head('Content-Length: +5')],
    ['a length in hex', head('Content-Length: 0x5')],
    ['a list of lengths', head('Content-Length: 5, 5')],
    ['an absurd length', head('Content-Length: 9999999999999999')],
    ['a coding that is not known', head('Transfer-Encoding: gzip')],
    ['codings in a row', head('Transfer-Encoding: gzip, chunked')],
    ['chunked twice', head('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
  ])('refuses %s', (_name, text) => expect(parseHead(text, 'POST')).toBeTypeOf('string'))
})
