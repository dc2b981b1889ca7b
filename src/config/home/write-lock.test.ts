import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { writeFileWhole } from '../../files/atomic-write.ts'
import { type Home, homeAt } from '../../files/home.ts'
import { withWriteLock } from './write-lock.ts'

let folder: string
let home: Home
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-write-lock-'))
  home = homeAt(folder)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

/** A flock of the test's own on PATH. */
async function stubFlock(script: string): Promise<void> {
  await mkdir(join(folder, 'bin'))
  await writeFile(join(folder, 'bin', 'flock'), `#!/bin/sh\n${script}\n`)
  await chmod(join(folder, 'bin', 'flock'), 0o755)
  vi.stubEnv('PATH', join(folder, 'bin'))
}

describe('withWriteLock', () => {
  // It was answered as `internal`: a fault of hal0, with no word of the disk.
  it('tells what the system refuses, naming the path that was meant', async () => {
    await mkdir(home.etc, { recursive: true })
    const inTheWay = join(home.etc, 'slots')
    await writeFile(inTheWay, '')
    const target = join(inTheWay, 'a.toml')
    await expect(withWriteLock(home, () => writeFileWhole(target, 'x'))).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringMatching(new RegExp(`cannot be written: ${target}: E[A-Z]+: [a-z ]+$`)),
      details: { remedy: expect.stringContaining('right to write') },
    })
    await expect(withWriteLock(home, () => rm(home.etc))).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining(home.etc),
    })
  })

  it('names the path also where the system names none (a full disk)', async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
      code: 'ENOSPC',
      syscall: 'write',
    })
    await expect(withWriteLock(home, () => Promise.reject(full))).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining(folder),
      details: { errno: 'ENOSPC', remedy: expect.stringContaining('Make room') },
    })
  })

  it('lets every other error through as it is', async () => {
    const own = new TypeError('own')
    await expect(withWriteLock(home, () => Promise.reject(own))).rejects.toBe(own)
  })

  it.each([
    ['somebody else has it', 'exit 1', 'another program has held'],
    ['flock fails', 'exit 66', 'flock ended with 66'],
    ['flock is killed', 'kill -9 $$', 'flock ended with a signal'],
  ])('writes nothing when %s, and says so', async (_name, script, message) => {
    await stubFlock(script)
    let isDone = false
    const work = async () => void (isDone = true)
    await expect(withWriteLock(home, work)).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining(message),
    })
    expect(isDone).toBe(false)
  })

  it('says what to install where there is no flock', async () => {
    vi.stubEnv('PATH', folder)
    await expect(withWriteLock(home, async () => {})).rejects.toMatchObject({
      code: 'config.invalid',
      details: { remedy: expect.stringContaining('util-linux') },
    })
  })

  it('goes on with the next after one that failed', async () => {
    const first = withWriteLock(home, () => Promise.reject(new Error('first')))
    const second = withWriteLock(home, async () => 2)
    await expect(first).rejects.toThrow('first')
    expect(await second).toBe(2)
  })
})
