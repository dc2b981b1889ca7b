import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Home, homeAt } from '../../files/home.ts'
import { findKeylessRunners } from './find-keyless-runners.ts'

let home: Home
beforeEach(async () => {
  home = homeAt(await mkdtemp(join(tmpdir(), 'hal0-keyless-')))
})
afterEach(() => rm(home.label, { recursive: true, force: true }))

async function put(file: string, text: string): Promise<void> {
  const path = join(home.etc, file)
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, text)
}

it('names the slots and the lanes that an engine without a key would serve', async () => {
  await put('hal0.toml', '[runners.open]\ntemplate = ["/bin/true", "${PORT}"]\n')
  await put('profiles.toml', '[profiles.mine]\nrunner = "open"\n')
  await put('slots/a.toml', 'name = "a"\nbinary = "open"\n')
  await put('lanes/by-name.toml', 'runner = "open"\n')
  await put('lanes/by-profile.toml', 'default = { model = "x", profile = "mine" }\n')
  await put('lanes/other.toml', 'default = { model = "x" }\n')
  await put('lanes/torn.toml', 'runner = \n')
  const found = await findKeylessRunners(home)
  expect(found.find(({ key }) => key === 'open')).toEqual({
    key: 'open',
    slots: ['a'],
    lanes: ['by-name', 'by-profile'],
  })
})
