import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeFolder } from './make-folder.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-folder-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('makeFolder', () => {
  it('makes what is missing, also when twenty ask at once, and again', async () => {
    const path = join(folder, 'a/b/c d/ü')
    await Promise.all(Array.from({ length: 20 }, () => makeFolder(path)))
    await makeFolder(path)
    expect((await stat(path)).isDirectory()).toBe(true)
  })

  it('ends with the reason where a file stands in the way', async () => {
    await writeFile(join(folder, 'file'), '')
    await expect(makeFolder(join(folder, 'file'))).rejects.toMatchObject({ code: 'EEXIST' })
    await expect(makeFolder(join(folder, 'file/below'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  it('ends where no folder can be made', async () => {
    await expect(makeFolder('/proc/hal0/etc')).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
