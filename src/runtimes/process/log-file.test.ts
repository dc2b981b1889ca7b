import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { linesOf, openLog, readLogTail, rotateLog } from './log-file.ts'
import { markerLine } from './rules/log-marker.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hal0-log-'))
  path = join(folder, 'agent.log')
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('linesOf', () => {
  const euro = Buffer.from('€')
  it.each<[string, Buffer, boolean, string[]]>([
    ['nothing', Buffer.from(''), false, []],
    ['whole lines', Buffer.from('a\nb\n'), false, ['a', 'b']],
    ['a line still being written', Buffer.from('a\nb'), false, ['a', 'b']],
    ['a cut line, left out', Buffer.from('rest\na\n'), true, ['a']],
    ['only a cut line', Buffer.from('rest\n'), true, ['rest']],
    ['a cut character at the start', Buffer.concat([euro.subarray(1), Buffer.from('x')]), true, ['x']],
    ['half a character at the end', Buffer.concat([Buffer.from('a\nx'), euro.subarray(0, 2)]), false, ['a', 'x']],
    ['line ends of Windows', Buffer.from('a\r\nb\r\n'), false, ['a', 'b']],
    ['empty lines inside, not at the ends', Buffer.from('\n\na\n\nb\n\n'), false, ['a', '', 'b']],
  ])('%s', (_what, bytes, isCut, expected) => {
    expect(linesOf(bytes, isCut)).toEqual(expected)
  })
})

describe('readLogTail', () => {
  it('is empty without a log', async () => {
    expect(await readLogTail(path, 100)).toEqual([])
  })

  it('takes whole lines from the end', async () => {
    writeFileSync(path, 'one\ntwo\nthree\n')
    expect(await readLogTail(path, 100)).toEqual(['one', 'two', 'three'])
    expect(await readLogTail(path, 10)).toEqual(['two', 'three'])
    expect(await readLogTail(path, 9)).toEqual(['three'])
    expect(await readLogTail(path, 6)).toEqual(['three'])
    expect(await readLogTail(path, 3)).toEqual(['ee'])
  })

  it('goes on in the rotated file, so that the decisive line is there right after a rotation', async () => {
    writeFileSync(`${path}.1`, 'old 1\nold 2\n')
    writeFileSync(path, 'new\n')
    expect(await readLogTail(path, 100)).toEqual(['old 1', 'old 2', 'new'])
    expect(await readLogTail(path, 10)).toEqual(['old 2', 'new'])
    expect(await readLogTail(path, 4)).toEqual(['new'])
  })

  it('shows one attempt only, also when the one before broke off in the middle of a line', async () => {
    const marker = (attemptId: string) =>
      markerLine({ slot: 'agent', attemptId, startedAt: '2026-01-01T00:00:00.000Z' })
    writeFileSync(path, `${marker('a1')}out of mem${marker('a12')}${marker('a2')}fine\n`)
    expect(await readLogTail(path, 1_000, { attemptId: 'a2' })).toEqual(['fine'])
    expect(await readLogTail(path, 1_000, { attemptId: 'a1' })).toContain('out of mem')
    // Its marker is further back than the bytes that were asked for.
    expect(await readLogTail(path, 5, { attemptId: 'a2' })).toEqual(['fine'])
  })

  it('throws when the log may not be read as a file', async () => {
    mkdirSync(path)
    await expect(readLogTail(path, 10)).rejects.toThrow('EISDIR')
  })
})

describe('rotateLog', () => {
  const limits = { maxBytes: 20, keepBytes: 12 }

  it('leaves a log within its limit alone, and a missing one', async () => {
    expect(await rotateLog(path, limits)).toBe(false)
    writeFileSync(path, 'x'.repeat(20))
    expect(await rotateLog(path, limits)).toBe(false)
    expect(existsSync(`${path}.1`)).toBe(false)
  })

  it('keeps the last whole lines, and the writer goes on at the start of the same file', async () => {
    const handle = await openLog(path)
    try {
      await handle.appendFile('line 1\nline 2\nline 3\nline 4\n')
      const { ino } = statSync(path)
      expect(await rotateLog(path, limits)).toBe(true)
      expect(readFileSync(`${path}.1`, 'utf8')).toBe('line 4\n')
      await handle.appendFile('line 5\n')
      expect(readFileSync(path, 'utf8')).toBe('line 5\n')
      expect(statSync(path).ino).toBe(ino)
    } finally {
      await handle.close()
    }
  })

  it('keeps a line that starts exactly where the kept part starts', async () => {
    writeFileSync(path, 'line 1\nline 2\nline 3\nline 4\n')
    await rotateLog(path, { maxBytes: 20, keepBytes: 14 })
    expect(readFileSync(`${path}.1`, 'utf8')).toBe('line 3\nline 4\n')
  })

  it('replaces the last rotated part', async () => {
    writeFileSync(`${path}.1`, 'older\n')
    writeFileSync(path, 'x'.repeat(30))
    await rotateLog(path, limits)
    expect(readFileSync(`${path}.1`, 'utf8')).toBe('x'.repeat(12))
  })

  it('cuts the log also when the copy fails', async () => {
    mkdirSync(`${path}.1`)
    appendFileSync(path, 'x'.repeat(30))
    await expect(rotateLog(path, limits)).rejects.toThrow('EISDIR')
    expect(statSync(path).size).toBe(0)
    expect(existsSync(`${path}.1.new`)).toBe(false)
  })
})
