import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openAppendFile } from './append-file.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-append-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('an append file', () => {
  it('has every line in order, also those that were waiting when it was closed, and is private', async () => {
    const path = join(folder, 'a.log')
    const file = openAppendFile(path)
    for (let i = 0; i < 1_000; i++) {
      file.write(`${i}\n`)
      if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await file.close()
    const lines = (await readFile(path, 'utf8')).split('\n').slice(0, -1)
    expect(lines).toEqual(Array.from({ length: 1_000 }, (_, i) => String(i)))
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(file.dropped).toBe(0)
  })

  it('appends to what is there', async () => {
    const path = join(folder, 'a.log')
    for (const text of ['one\n', 'two\n']) {
      const file = openAppendFile(path)
      file.write(text)
      await file.close()
    }
    expect(await readFile(path, 'utf8')).toBe('one\ntwo\n')
  })

  it('on a full disk drops lines, counts them, and neither throws nor hangs', async () => {
    const file = openAppendFile('/dev/full')
    for (let i = 0; i < 10; i++) file.write('x\n')
    while (file.dropped < 10) await new Promise((resolve) => setImmediate(resolve))
    file.write('y\n')
    await file.close()
    expect(file.dropped).toBe(11)
  })

  it('does not fill the memory when the disk is slower than the lines', async () => {
    const file = openAppendFile('/dev/null')
    const line = 'x'.repeat(1024)
    for (let i = 0; i < 5_000; i++) file.write(line)
    expect(file.dropped).toBeGreaterThan(3_000)
    await file.close()
  })

  it('says at once what cannot be opened', () => {
    expect(() => openAppendFile(folder)).toThrow('EISDIR')
  })
})
