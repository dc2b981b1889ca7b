import { lstat, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Home, homeAt } from '../../files/home.ts'
import { silentLog } from '../../kernel/log.ts'
import { createConfigLook, type FileFacts } from './look-at-config.ts'

let home: Home
beforeEach(async () => {
  home = homeAt(await mkdtemp(join(tmpdir(), 'hal0-look-')))
  await mkdir(home.etc, { recursive: true })
})
afterEach(() => rm(home.label, { recursive: true, force: true }))

/** A disk that has every file at the same second. */
const COARSE: FileFacts = {
  lstat: async (path) => atOneSecond(await lstat(path, { bigint: true })),
  stat: async (path) => atOneSecond(await stat(path, { bigint: true })),
}

function atOneSecond(facts: Awaited<ReturnType<FileFacts['stat']>>) {
  return Object.assign(facts, { mtimeNs: 1_700_000_000_000_000_000n, ctimeNs: 1_700_000_000_000_000_000n })
}

it('sees an edit within one second that keeps the size, where the disk keeps no finer times', async () => {
  const file = join(home.etc, 'hal0.toml')
  await writeFile(join(home.label, 'behind.toml'), 'a = 1')
  await symlink(join(home.label, 'behind.toml'), join(home.etc, 'models.toml'))
  await writeFile(file, 'a = 1')
  const look = createConfigLook(home, silentLog, COARSE)
  const first = await look()
  expect(await look()).toEqual(first)
  await writeFile(file, 'a = 2')
  const second = await look()
  expect([...second].filter(([path, state]) => first.get(path) !== state).map(([path]) => path)).toEqual([file])
  await writeFile(join(home.label, 'behind.toml'), 'a = 2')
  expect(await look()).not.toEqual(second)
  await writeFile(join(home.label, 'behind.toml'), 'a = 1')
  expect(await look()).toEqual(second)
})
