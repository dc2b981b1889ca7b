import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { daemonFilePath, homeAt } from './home.ts'
import { openHomeId } from './home-id.ts'
import { lockHome, lockName } from './home-lock.ts'

const OTHER = { url: 'http://127.0.0.1:1', pid: 7, start_ticks: 12, boot_id: 'b', started_at: 'x' }
const nobody = () => false

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-lock-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('lockHome', () => {
  it('gives a home to one of twenty that ask at once', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => lockHome(homeAt(folder), nobody)))
    const won = outcomes.filter((outcome) => outcome.status === 'fulfilled')
    expect(won).toHaveLength(1)
    for (const { value } of won) await value.release()
  })

  it('names the daemon that has it, also when asked through another path', async () => {
    const lock = await lockHome(homeAt(folder), nobody)
    await writeFile(daemonFilePath(homeAt(folder)), JSON.stringify(OTHER))
    await symlink(folder, `${folder}-link`)
    try {
      await expect(lockHome(homeAt(`${folder}-link`), nobody)).rejects.toMatchObject({
        code: 'server.already_running',
        message: expect.stringContaining('http://127.0.0.1:1 (pid 7)'),
      })
    } finally {
      await rm(`${folder}-link`)
      await lock.release()
    }
  })

  // In another network namespace the socket's name is free although the home is not: containers that share a volume.
  it('is refused while daemon.json names a live process, and leaves the socket free', async () => {
    const home = homeAt(folder)
    await openHomeId(home)
    await writeFile(daemonFilePath(home), JSON.stringify(OTHER))
    const asked: unknown[] = []
    const alive = (ref: unknown) => asked.push(ref) > 0
    await expect(lockHome(home, alive)).rejects.toMatchObject({
      code: 'server.already_running',
      message: expect.stringContaining('http://127.0.0.1:1 (pid 7)'),
    })
    expect(asked).toMatchObject([{ pid: 7, start_ticks: 12, boot_id: 'b' }])
    await (await lockHome(home, nobody)).release()
  })

  it('does not take a file that this very process left for another daemon', async () => {
    const home = homeAt(folder)
    await openHomeId(home)
    await writeFile(daemonFilePath(home), JSON.stringify({ ...OTHER, pid: process.pid }))
    const lock = await lockHome(home, () => true)
    await expect(lockHome(home, () => true)).rejects.toMatchObject({ code: 'server.already_running' })
    await lock.release()
  })

  it('is free again after release', async () => {
    await (await lockHome(homeAt(folder), nobody)).release()
    const again = await lockHome(homeAt(folder), nobody)
    await expect(lockHome(homeAt(folder), nobody)).rejects.toMatchObject({ code: 'server.already_running' })
    await again.release()
  })

  it('is free again when its holder was killed', async () => {
    const lock = await lockHome(homeAt(folder), nobody)
    await lock.release()
    // Another process takes the same socket name, and is killed without a chance to clean up.
    const name = JSON.stringify(lockName(await openHomeId(homeAt(folder))))
    const holder = spawn(process.execPath, ['-e', `net.createServer().listen(${name}, () => console.log('held'))`])
    await once(holder.stdout, 'data')
    await expect(lockHome(homeAt(folder), nobody)).rejects.toMatchObject({ code: 'server.already_running' })
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    await (await lockHome(homeAt(folder), nobody)).release()
  })
})
