import { describe, expect, it } from 'vitest'
import { type AnswerHead, isResumable, judgeAnswer, parseTag, type Wanted } from './judge-answer.ts'
import { nextAttempt } from './next-attempt.ts'
import { resolveStorePath } from './store-path.ts'
import { keepSamples, transferRate } from './transfer-rate.ts'

const SHA = 'a'.repeat(64)
const tag = (value: string, kind: 'linked' | 'strong' | 'weak' = 'strong') => ({ value, kind })

describe('judgeAnswer', () => {
  const fresh: Wanted = { offsetBytes: 0, sizeBytes: 100, tag: null, sha256: SHA }
  const rest: Wanted = { offsetBytes: 40, sizeBytes: 100, tag: tag('e'), sha256: SHA }
  const head = (status: number, headers: Record<string, string> = {}, more: Partial<AnswerHead> = {}): AnswerHead => ({
    status,
    headers,
    tag: tag('e'),
    linkedSizeBytes: null,
    fromHub: true,
    ...more,
  })
  const range = (text: string, more: Record<string, string> = {}) => ({ 'content-range': text, ...more })

  it.each<{ name: string; want: Wanted; got: AnswerHead; is: object }>([
    { name: '200', want: fresh, got: head(200, { 'content-length': '100' }), is: { kind: 'begin' } },
    { name: '200 without a length', want: fresh, got: head(200), is: { kind: 'begin' } },
    { name: '200 to a range', want: rest, got: head(200, { 'content-length': '100' }), is: { kind: 'begin' } },
    { name: '200 to a range, without the tag', want: rest, got: head(200, {}, { tag: null }), is: { kind: 'faulty' } },
    { name: '200, too short', want: fresh, got: head(200, { 'content-length': '99' }), is: { kind: 'faulty' } },
    { name: '200, compressed', want: fresh, got: head(200, { 'content-encoding': 'gzip' }), is: { kind: 'faulty' } },
    { name: '206, the rest', want: rest, got: head(206, range('bytes 40-99/100')), is: { kind: 'append', bytes: 60 } },
    {
      name: '206, a piece of the rest',
      want: rest,
      got: head(206, range('bytes 40-49/*')),
      is: { kind: 'append', bytes: 10 },
    },
    { name: '206, too early', want: rest, got: head(206, range('bytes 39-99/100')), is: { kind: 'faulty' } },
    { name: '206, too late', want: rest, got: head(206, range('bytes 41-99/100')), is: { kind: 'faulty' } },
    { name: '206, past the end', want: rest, got: head(206, range('bytes 40-100/*')), is: { kind: 'faulty' } },
    { name: '206, of another size', want: rest, got: head(206, range('bytes 40-99/101')), is: { kind: 'faulty' } },
    { name: '206, backwards', want: rest, got: head(206, range('bytes 40-39/100')), is: { kind: 'faulty' } },
    {
      name: '206, two lengths',
      want: rest,
      got: head(206, range('bytes 40-99/100', { 'content-length': '61' })),
      is: { kind: 'faulty' },
    },
    { name: '206, no range', want: rest, got: head(206), is: { kind: 'faulty' } },
    {
      name: '206, several ranges',
      want: rest,
      got: head(206, { 'content-type': 'multipart/byteranges' }),
      is: { kind: 'faulty' },
    },
    {
      name: '206, another tag',
      want: rest,
      got: head(206, range('bytes 40-99/100'), { tag: tag('f') }),
      is: { kind: 'changed' },
    },
    {
      name: '206, no tag, with a checksum',
      want: rest,
      got: head(206, range('bytes 40-99/100'), { tag: null }),
      is: { kind: 'append', bytes: 60 },
    },
    {
      name: '206, no tag, no checksum',
      want: { ...rest, sha256: null },
      got: head(206, range('bytes 40-99/100'), { tag: null }),
      is: { kind: 'faulty' },
    },
    { name: '200, another tag', want: rest, got: head(200, {}, { tag: tag('f') }), is: { kind: 'changed' } },
    {
      name: 'the hub links another file',
      want: fresh,
      got: head(200, {}, { tag: tag('b'.repeat(64), 'linked') }),
      is: { kind: 'changed' },
    },
    {
      name: 'the hub links the file',
      want: fresh,
      got: head(200, {}, { tag: tag(SHA, 'linked') }),
      is: { kind: 'begin' },
    },
    {
      name: 'the hub links another size',
      want: fresh,
      got: head(200, {}, { linkedSizeBytes: 99 }),
      is: { kind: 'changed' },
    },
    { name: '416', want: rest, got: head(416), is: { kind: 'changed' } },
    { name: '429', want: rest, got: head(429, { 'retry-after': '7' }), is: { kind: 'busy', waitMs: 7000 } },
    {
      name: '503 with a date',
      want: rest,
      got: head(503, { 'retry-after': 'Mon, 01 Jan 2029 00:00:00 GMT' }),
      is: { kind: 'busy', waitMs: 0 },
    },
    { name: '408', want: rest, got: head(408), is: { kind: 'busy' } },
    { name: '403 of the hub', want: rest, got: head(403), is: { kind: 'refused', status: 403 } },
    { name: '403 elsewhere', want: rest, got: head(403, {}, { fromHub: false }), is: { kind: 'faulty' } },
    { name: '404', want: rest, got: head(404), is: { kind: 'refused', status: 404 } },
    { name: '304', want: rest, got: head(304), is: { kind: 'refused', status: 304 } },
  ])('$name', ({ want, got, is }) => {
    expect(judgeAnswer(want, got)).toMatchObject(is)
  })

  it.each([
    ['"abc"', tag('abc')],
    ['W/"abc"', tag('abc', 'weak')],
    ['abc', tag('abc')],
    ['', null],
    [undefined, null],
  ])('the tag in %j', (header, parsed) => {
    expect(parseTag(header, false)).toEqual(parsed)
  })

  it.each([
    { of: tag('e'), sha256: null, is: true },
    { of: tag('e', 'weak'), sha256: null, is: false },
    { of: null, sha256: null, is: false },
    { of: null, sha256: SHA, is: true },
  ])('$of with checksum $sha256 is resumable: $is', ({ of, sha256, is }) => {
    expect(isResumable(of, sha256)).toBe(is)
  })
})

describe('nextAttempt', () => {
  const attempts = { progressed: false, barren: 1, changes: 0, waitMs: 0 }
  it.each([
    { name: 'progress', of: { ...attempts, progressed: true, barren: 0 }, delayMs: 250 },
    { name: 'first barren', of: attempts, delayMs: 1000 },
    { name: 'fifth barren', of: { ...attempts, barren: 5 }, delayMs: 16_000 },
    { name: 'sixth barren', of: { ...attempts, barren: 6 }, delayMs: null },
    { name: 'asked to wait', of: { ...attempts, waitMs: 300_000 }, delayMs: 300_000 },
    { name: 'asked to wait less than the backoff', of: { ...attempts, barren: 5, waitMs: 500 }, delayMs: 16_000 },
    { name: 'asked to wait too long', of: { ...attempts, waitMs: 300_001 }, delayMs: null },
    { name: 'fifth change', of: { ...attempts, changes: 5 }, delayMs: 1000 },
    { name: 'sixth change', of: { ...attempts, changes: 6 }, delayMs: null },
  ])('$name', ({ of, delayMs }) => {
    expect(nextAttempt(of)).toEqual(delayMs === null ? { kind: 'give_up' } : { kind: 'again', delayMs })
  })
})

describe('resolveStorePath', () => {
  it.each([
    ['org/name', 'm.gguf', 'org--name/m.gguf'],
    ['Org.x/na_me-1', 'a/b/m 模.gguf', 'Org.x--na_me-1/a/b/m 模.gguf'],
    ['org/name', `${'x'.repeat(195)}.gguf`, `org--name/${'x'.repeat(195)}.gguf`],
    ['org/name', `${'x'.repeat(196)}.gguf`, null],
    ['org/name', `${'模'.repeat(66)}.gguf`, null],
    ['org', 'm.gguf', null],
    ['a/b/c', 'm.gguf', null],
    ['../name', 'm.gguf', null],
    ['org/..', 'm.gguf', null],
    ['org/a--b', 'm.gguf', null],
    ['org/na me', 'm.gguf', null],
    ['org/name', '../m.gguf', null],
    ['org/name', 'a/../m.gguf', null],
    ['org/name', './m.gguf', null],
    ['org/name', '/m.gguf', null],
    ['org/name', '', null],
    ['org/name', 'a\\m.gguf', null],
    ['org/name', 'a\u0000.gguf', null],
    ['org/name', 'a\n.gguf', null],
  ])('%j %j → %j', (repo, path, expected) => {
    const resolved = resolveStorePath(repo, path)
    expect(resolved.ok ? resolved.value : null).toBe(expected)
  })
})

describe('transferRate', () => {
  const samples = [0, 1000, 2000, 6500, 7000].map((atMs) => ({ atMs, bytes: atMs * 10 }))
  it.each([
    { name: 'nothing yet', of: [], bytes: 0, nowMs: 10, rate: null },
    { name: 'too short', of: samples.slice(0, 1), bytes: 9, nowMs: 499, rate: null },
    { name: 'steady', of: samples, bytes: 75_000, nowMs: 7500, rate: 10_000 },
    { name: 'stalled for two seconds', of: samples, bytes: 70_000, nowMs: 9000, rate: 7143 },
    { name: 'stalled for long', of: samples, bytes: 70_000, nowMs: 60_000, rate: 0 },
  ])('$name', ({ of, bytes, nowMs, rate }) => {
    expect(transferRate(of, bytes, nowMs)).toBe(rate)
  })

  it('keeps what the window needs', () => {
    expect(keepSamples(samples, 7500).map(({ atMs }) => atMs)).toEqual([2000, 6500, 7000])
    expect(keepSamples(samples, 60_000).map(({ atMs }) => atMs)).toEqual([7000])
  })
})
