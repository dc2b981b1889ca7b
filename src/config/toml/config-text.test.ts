import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readConfigText } from './config-text.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-text-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('readConfigText', () => {
  it('gives text as it is, its mark and line ends included', async () => {
    const file = join(folder, 'x.toml')
    await writeFile(file, '\uFEFFa = "é"\r\n')
    expect(await readConfigText(file)).toEqual({ ok: true, value: '\uFEFFa = "é"\r\n' })
  })

  // Read as replacement characters, the next edit by hal0 would have written those over what a person had typed.
  it.each([
    ['latin 1', Buffer.from('a = 1\nb = "caf\xe9"\n', 'latin1'), 'line 2'],
    ['half a character at the end', Buffer.from([0x23, 0xc3]), 'line 1'],
    ['a surrogate', Buffer.from([0x23, 0xed, 0xa0, 0x80]), 'line 1'],
  ])('takes no bytes that are not UTF-8: %s', async (_name, bytes, place) => {
    const file = join(folder, 'x.toml')
    await writeFile(file, bytes)
    const expected = `expected text in UTF-8 (${place} has bytes that are none)`
    expect(await readConfigText(file)).toEqual({ ok: false, error: { file, keyPath: '', expected } })
  })

  it('tells a link that leads nowhere from a file that is not there', async () => {
    const file = join(folder, 'x.toml')
    expect(await readConfigText(file)).toBe('absent')
    expect(await readConfigText(join(file, 'below'))).toBe('absent')
    await symlink('gone.toml', file)
    expect(await readConfigText(file)).toMatchObject({
      error: { expected: expect.stringMatching(/^is a link to a file that is not there/) },
    })
    await writeFile(join(folder, 'gone.toml'), 'back = 1')
    expect(await readConfigText(file)).toEqual({ ok: true, value: 'back = 1' })
  })

  it('waits for no pipe, and reads no folder', async () => {
    const pipe = join(folder, 'pipe.toml')
    spawnSync('mkfifo', [pipe])
    await mkdir(join(folder, 'folder.toml'))
    for (const file of [pipe, join(folder, 'folder.toml')]) {
      expect(await readConfigText(file)).toMatchObject({ error: { expected: 'expected a regular file' } })
    }
  })
})
