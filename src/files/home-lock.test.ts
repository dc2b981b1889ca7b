import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { daemonFilePath, homeAt } from './home.ts'
import { openHomeId } from './home-id.ts'
import { lockHome } from './home-lock.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-lock-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('lockHome', () => {
  it('gives a home to one of twenty that ask at once', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => lockHome(homeAt(folder))))
    const won = outcomes.filter((outcome) => outcome.status === 'fulfilled')
    expect(won).toHaveLength(1)
    for (const { value } of won) await value.release()
  })

  it('names the daemon that has it, also when asked through another path', async () => {
    const lock = await lockHome(homeAt(folder))
    const other = { url: 'http://127.0.0.1:1', pid: 7, started_at: 'x' }
    await writeFile(daemonFilePath(homeAt(folder)), JSON.stringify(other))
    await symlink(folder, `${folder}-link`)
    try {
      await expect(lockHome(homeAt(`${folder}-link`))).rejects.toMatchObject({
        code: 'server.already_running',
        message: expect.stringContaining('http://127.0.0.1:1 (pid 7)'),
      })
    } finally {
      await rm(`${folder}-link`)
      await lock.release()
    }
  })

  it('is free again after release, and private', async () => {
    await (await lockHome(homeAt(folder))).release()
    const again = await lockHome(homeAt(folder))
    await expect(lockHome(homeAt(folder))).rejects.toMatchObject({ code: 'server.already_running' })
    expect((await stat(join(homeAt(folder).varLib, 'daemon.lock'))).mode & 0o777).toBe(0o600)
    await again.release()
  })

  it('is free again when its holder was killed', async () => {
    const home = homeAt(folder)
    await (await lockHome(home)).release()
    const holder = spawn('flock', ['-x', join(home.varLib, 'daemon.lock'), '-c', 'echo held; exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(holder.stdout, 'data')
    await expect(lockHome(home)).rejects.toMatchObject({ code: 'server.already_running' })
    // The lock goes with the last process that has the file open.
    const children = spawnSync('ps', ['-o', 'pid=', '--ppid', String(holder.pid)], { encoding: 'utf8' })
    for (const pid of children.stdout.trim().split(/\s+/)) process.kill(Number(pid), 'SIGKILL')
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    await (await lockHome(home)).release()
  })

  it('says what is missing where there is no flock', async () => {
    const { PATH } = process.env
    process.env['PATH'] = '/nonexistent'
    try {
      await expect(lockHome(homeAt(folder))).rejects.toMatchObject({
        code: 'config.invalid',
        message: expect.stringContaining('flock'),
      })
    } finally {
      process.env['PATH'] = PATH
    }
  })
})

describe('openHomeId', () => {
  it('stays when the home is moved or linked, and is another for a copy', async () => {
    const id = await openHomeId(homeAt(join(folder, 'a')))
    await rename(join(folder, 'a'), join(folder, 'b'))
    await symlink(join(folder, 'b'), join(folder, 'c'))
    expect(await openHomeId(homeAt(join(folder, 'b')))).toBe(id)
    expect(await openHomeId(homeAt(join(folder, 'c')))).toBe(id)
    spawnSync('cp', ['-r', join(folder, 'b'), join(folder, 'd')])
    expect(await openHomeId(homeAt(join(folder, 'd')))).not.toBe(id)
  })
})
