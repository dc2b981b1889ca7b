import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { daemonFilePath, homeAt } from './home.ts'
import { findHomeId } from './home-id.ts'
import { lockHome, lockName } from './home-lock.ts'

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
    await writeFile(
      daemonFilePath(homeAt(folder)),
      JSON.stringify({ url: 'http://127.0.0.1:1', pid: 7, started_at: 'x' }),
    )
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

  it('is free again after release', async () => {
    await (await lockHome(homeAt(folder))).release()
    const again = await lockHome(homeAt(folder))
    await expect(lockHome(homeAt(folder))).rejects.toMatchObject({ code: 'server.already_running' })
    await again.release()
  })

  it('is free again when its holder was killed', async () => {
    const lock = await lockHome(homeAt(folder))
    await lock.release()
    // Another process takes the same socket name, and is killed without a chance to clean up.
    const name = JSON.stringify(lockName(await findHomeId(homeAt(folder))))
    const holder = spawn(process.execPath, ['-e', `net.createServer().listen(${name}, () => console.log('held'))`])
    await once(holder.stdout, 'data')
    await expect(lockHome(homeAt(folder))).rejects.toMatchObject({ code: 'server.already_running' })
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    await (await lockHome(homeAt(folder))).release()
  })
})
