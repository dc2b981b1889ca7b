import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChunkReader, type ChunkTaker } from './chunk-reader.ts'

interface Read {
  readonly data: string
  /** What was passed on as it came, piece by piece. */
  readonly passed: readonly string[]
  readonly rest: string | undefined
  readonly fault: string | undefined
}

/** Reads pieces; `takes`: whole chunks are wanted as they are. Every piece lies in the same memory, as with a real connection. */
function read(pieces: readonly Buffer[], takes: boolean, isMoreAtHand = true): Read {
  const shared = Buffer.alloc(1024 * 1024)
  const reader = new ChunkReader()
  let data = ''
  const passed: string[] = []
  const taker: ChunkTaker = {
    takesChunks: takes,
    onChunks(chunks) {
      passed.push(chunks.toString('latin1'))
      data += unframed(chunks.toString('latin1'))
    },
    onData: (bytes) => void (data += bytes.toString('latin1')),
  }
  for (let n = 0; n < pieces.length; n++) {
    const piece = pieces[n] ?? Buffer.alloc(0)
    const view = shared.subarray(0, piece.copy(shared))
    const step = reader.push(view, isMoreAtHand, taker)
    if (typeof step === 'string') return { data, passed, rest: undefined, fault: step }
    if (step.kind === 'more') continue
    const after = Buffer.concat([piece.subarray(piece.length - (view.length - step.at)), ...pieces.slice(n + 1)])
    return { data, passed, rest: after.toString('latin1'), fault: undefined }
  }
  reader.letGo(taker)
  return { data, passed, rest: undefined, fault: undefined }
}

/** A reader of the plainest kind, for whole chunks. */
function unframed(text: string): string {
  let out = ''
  let at = 0
  while (at < text.length) {
    const end = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, end), 16)
    out += text.slice(end + 2, end + 2 + size)
    at = end + 2 + size + 2
  }
  return out
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  let at = 0
  for (let n = 0; at < bytes.length; n++) {
    const size = Math.max(1, sizes[n % sizes.length] ?? 1)
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}

const chunk = (data: string) => `${data.length.toString(16)}\r\n${data}\r\n`
const END = '0\r\n\r\n'

describe('ChunkReader', () => {
  it('gives the same bytes in any pieces, whether chunks pass or not', () => {
    const events = fc.constantFrom('data: {}\n\n', 'data: x', '\n', 'e', `data: ${'y'.repeat(300)}\n\n`, 'a\r\nb\n')
    fc.assert(
      fc.property(
        fc.array(events, { maxLength: 30 }),
        fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        fc.boolean(),
        (parts, sizes, takes, isMoreAtHand) => {
          const bytes = Buffer.from(parts.map(chunk).join('') + END, 'latin1')
          const { data, rest, fault, passed } = read(cut(bytes, sizes), takes, isMoreAtHand)
          expect([data, rest, fault]).toEqual([parts.join(''), '', undefined])
          // What passed as it came is whole chunks, each of which ends a line.
          for (const text of passed) expect(text).toMatch(/\n\r\n$/)
          if (!takes) expect(passed).toEqual([])
        },
      ),
    )
  })

  it('passes chunks that have come whole at once, and the last one when its rest comes', () => {
    const text = chunk('a\n') + chunk('b\n') + chunk('c\n')
    const { passed } = read([Buffer.from(text.slice(0, 16)), Buffer.from(text.slice(16))], true)
    expect(passed).toEqual([chunk('a\n') + chunk('b\n'), chunk('c\n')])
  })

  it('holds nothing back for what is not at hand', () => {
    expect(read([Buffer.from('5\r\nab')], true, false).data).toBe('ab')
  })

  it('does not hold back a whole chunk that ends no line', () => {
    expect(read([Buffer.from(chunk('abc'))], true).data).toBe('abc')
  })

  it('gives what is kept of a chunk that never comes whole', () => {
    expect(read([Buffer.from('5\r\nab')], true).data).toBe('ab')
  })

  it('tells where the next answer begins', () => {
    expect(read([Buffer.from(`${chunk('a\n') + END}HTTP/1.1`)], true).rest).toBe('HTTP/1.1')
  })

  it.each([
    ['an extension', '2;a=b\r\nhi\r\n', 'hi'],
    ['white space behind the size', '2 \r\nhi\r\n', 'hi'],
    ['capital digits', 'A\r\n0123456789\r\n', '0123456789'],
    ['leading zeros', '0002\r\nhi\r\n', 'hi'],
    ['trailers', '2\r\nhi\r\n0\r\nX-A: 1\r\nX-B: 2\r\n\r\n', 'hi'],
  ])('reads %s', (_name, text, expected) => {
    for (const takes of [true, false]) {
      const { data, fault } = read(cut(Buffer.from(text), [3]), takes)
      expect([data, fault]).toEqual([expected, undefined])
    }
  })

  it.each([
    ['no size', '\r\nhi\r\n'],
    ['a size that is none', 'zz\r\nhi\r\n'],
    ['a negative size', '-1\r\nhi\r\n'],
    ['an absurd size', '123456789\r\nhi\r\n'],
    ['a bare line feed behind the size', '2\nhi\r\n'],
    ['data longer than the size', '2\r\nhi!\r\n'],
    ['data without its line end', '2\r\nhi2\r\nho\r\n'],
    ['a bare line feed in an extension', '2;a\nhi\r\n'],
    ['an endless extension', `2;${'a'.repeat(5_000)}\r\nhi\r\n`],
    ['endless trailers', `0\r\n${'X: y\r\n'.repeat(5_000)}`],
    ['a bare line feed in the trailers', '0\r\n\n'],
  ])('refuses %s', (_name, text) => {
    for (const takes of [true, false]) {
      for (const size of [1, 7, 100_000]) expect(read(cut(Buffer.from(text), [size]), takes).fault).toBeTypeOf('string')
    }
  })
})
