import { describe, expect, it } from 'vitest'
import { inPieces } from '../../../../test/support/body-world.ts'
import { boundaryOf } from './boundary.ts'
import { FormScanner } from './form-scanner.ts'

function scan(text: string, size = text.length, boundary = 'b') {
  const scanner = new FormScanner(boundary)
  for (const piece of inPieces(Buffer.from(text, 'latin1'), [size])) {
    const fault = scanner.push(piece)
    if (fault !== undefined) return { scanner, fault }
  }
  return { scanner, fault: scanner.end() }
}

const field = (name: string, value: string, more = '') =>
  `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
const SIZES = [1, 2, 3, 7, 10_000]

describe('boundaryOf', () => {
  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Form-Data;BOUNDARY="a b:c"', 'a b:c'],
    ['multipart/form-data; charset=utf-8 ; boundary = "x\\"y" ;', 'x"y'],
    ['multipart/form-data', undefined],
    ['multipart/form-data; boundary=', undefined],
    ['multipart/form-data; boundary="a "', undefined],
    ['multipart/form-data; boundary=a; boundary=b', undefined],
    ['multipart/form-data; boundary="open', undefined],
    [`multipart/form-data; boundary=${'a'.repeat(201)}`, undefined],
    ['multipart/mixed; boundary=a', undefined],
    ['application/json', undefined],
    [undefined, undefined],
  ])('%s', (header, boundary) => expect(boundaryOf(header)).toBe(boundary))
})

describe('what a form says', () => {
  it.each([
    ['model first', `${field('model', 'm')}${field('file', 'x', '; filename="model"')}--b--`, 'm'],
    ['model behind the file', `${field('file', '\r\n--x', '; filename="a"')}${field('model', 'm')}--b--\r\n`, 'm'],
    ['no model', `${field('file', 'x', '; filename="name=model"')}--b--`, undefined],
    ['an empty model', `${field('model', '')}--b--`, ''],
    ['a name without quotes', '--b\r\nContent-Disposition: form-data; name=model\r\n\r\nm\r\n--b--', 'm'],
    [
      'any case, other headers',
      '--b\r\nX-A: 1\r\ncontent-disposition:form-data;NAME="model"\r\nContent-Type: text/plain\r\n\r\nm\r\n--b--',
      'm',
    ],
    ['padding behind boundaries', `--b \t\r\n${field('model', 'm').slice(5)}--b-- \t\r\nbye`, 'm'],
    ['a preamble', `hello\r\n${field('model', 'm')}--b--`, 'm'],
    ['line breaks in the value', `${field('model', '\r\n\r\r\n-')}--b--`, '\r\n\r\r\n-'],
    ['nothing', '--b--', undefined],
  ])('%s', (_name, text, model) => {
    for (const size of SIZES) {
      const { scanner, fault } = scan(text, size)
      expect(fault).toBeUndefined()
      expect(scanner.model?.value).toBe(model)
      if (scanner.model !== undefined) expect(text.slice(scanner.model.start, scanner.model.end)).toBe(model)
      expect(text.slice(Math.max(0, scanner.closeAt ?? -9)).trimStart()).toMatch(/^--b--/)
    }
  })

  it('stream', () => {
    const { scanner } = scan(`${field('stream', 'true')}${field('model', 'm')}--b--`)
    expect(scanner).toMatchObject({ stream: true })
    expect(scan(`${field('stream', 'false')}--b--`).scanner.stream).toBe(false)
  })
})

describe('what is refused, with its place', () => {
  const headers = (lines: string) => `--b\r\n${lines}\r\n\r\nx\r\n--b--`
  it.each([
    ['a form cut off in a content', field('model', 'm').slice(0, -2), undefined, /begins with --b/],
    ['a form cut off in its headers', '--b\r\nContent-Disp', undefined, /empty line/],
    ['a form cut off in its end', `${field('model', 'm')}--b-`, undefined, /"--"/],
    ['nothing at all', '', undefined, /begins with --b/],
    [
      'a boundary with something behind it',
      `${field('model', 'm')}--bc\r\n`,
      field('model', 'm').length + 3,
      /line break or "--"/,
    ],
    ['bare line feeds', '--b\nContent-Disposition: form-data; name="model"\n\nm\n--b--', 3, /line break/],
    ['a carriage return alone', '--b\rX', 4, /line feed/],
    [
      'something behind the end',
      `${field('model', 'm')}--b--x`,
      field('model', 'm').length + 5,
      /nothing or a line break/,
    ],
    ['no Content-Disposition', headers('X-A: 1'), 'head', /Content-Disposition/],
    [
      'two of them',
      headers('Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=model'),
      'head',
      /one Cont/,
    ],
    ['no name', headers('Content-Disposition: form-data; filename="x"'), 'head', /name=/],
    ['two names', headers('Content-Disposition: form-data; name=a; name=model'), 'head', /name=/],
    ['another disposition', headers('Content-Disposition: attachment; name=model'), 'head', /form-data/],
    ['a folded header', headers('Content-Disposition: form-data;\r\n name="model"'), 'head', /name=/],
    ['a line feed in a header', headers('X-A: 1\nContent-Disposition: form-data; name=a'), 'head', /"Name: value"/],
    ['a space before the colon', headers('Content-Disposition : form-data; name=a'), 'head', /"Name: value"/],
    ['a second model', `${field('model', 'm')}${field('model', 'n')}--b--`, 'head', /one field "model"/],
    ['a model that is a file', `${field('model', 'm', '; filename="m"')}--b--`, undefined, /as text/],
    ['a model that is too long', `${field('model', 'm'.repeat(4097))}--b--`, undefined, /at most 4096 bytes/],
    ['a model that is no UTF-8', `${field('model', '\xff')}--b--`, undefined, /valid UTF-8/],
    ['headers without end', `--b\r\n${'X-A: 1\r\n'.repeat(3000)}`, undefined, /16384 bytes/],
    ['a thousand and one parts', field('a', '').repeat(1001), undefined, /at most 1000 parts/],
    ['no form at all', `{"model":"${'x'.repeat(70_000)}`, undefined, /begins with --b/],
  ])('%s', (_name, text, offset, expected) => {
    for (const size of SIZES) {
      const { fault } = scan(text, size)
      expect(fault?.expected).toMatch(expected)
      expect(fault?.offset).toBeLessThanOrEqual(text.length)
      // `head`: the last byte of the headers.
      const place = offset === 'head' ? text.lastIndexOf('\r\n\r\n') + 3 : offset
      if (place !== undefined) expect(fault?.offset).toBe(place)
    }
  })

  it('the limits are where they are said to be', () => {
    expect(scan(`${field('model', 'm'.repeat(4096))}--b--`, 50).fault).toBeUndefined()
    expect(scan(`${field('a', '').repeat(1000)}--b--`).fault).toBeUndefined()
  })
})
