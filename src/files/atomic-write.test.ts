import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writeFileWhole } from './atomic-write.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-write-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const modeOf = async (path: string) => (await stat(path)).mode & 0o777

describe('writeFileWhole', () => {
  // A slot file that its owner had made 0600, because of a token in it, was readable to everybody after one edit.
  it('keeps the rights of a file that is there, unless it is told others', async () => {
    const file = join(folder, 'x')
    await writeFile(file, 'old')
    await chmod(file, 0o600)
    await writeFileWhole(file, 'new')
    expect([await modeOf(file), await readFile(file, 'utf8')]).toEqual([0o600, 'new'])
    await writeFileWhole(file, 'newer', 0o640)
    expect(await modeOf(file)).toBe(0o640)
  })

  it('makes the folder, and leaves a link a link', async () => {
    const file = join(folder, 'a', 'b', 'x')
    await writeFileWhole(file, '1', 0o600)
    expect(await modeOf(file)).toBe(0o600)
    const link = join(folder, 'link')
    await symlink(file, link)
    await writeFileWhole(link, '2')
    expect([(await lstat(link)).isSymbolicLink(), await readFile(file, 'utf8')]).toEqual([true, '2'])
  })

  it('names the path that was meant when it fails, keeps the code, and leaves nothing behind', async () => {
    const file = join(folder, 'x')
    await mkdir(file)
    await expect(writeFileWhole(file, '1')).rejects.toMatchObject({
      message: expect.stringMatching(new RegExp(`^${file}: EISDIR: [a-z ]+`)),
      code: 'EISDIR',
      path: file,
    })
    expect(await readdir(folder)).toEqual(['x'])
  })
})
