import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Home, homeAt } from '../../files/home.ts'
import { silentLog } from '../../kernel/log.ts'
import { modelsFilePath } from '../models/models-file.ts'
import { daemonSettingsPath } from './daemon-settings.ts'
import { openLiveSettings } from './live-settings.ts'

let home: Home
let events: string[]
beforeEach(async () => {
  home = homeAt(await mkdtemp(join(tmpdir(), 'hal0-live-')))
  events = []
  await mkdir(home.etc, { recursive: true })
})
afterEach(() => rm(home.label, { recursive: true, force: true }))

const open = () => openLiveSettings({ home, log: silentLog, bus: { publish: ({ type }) => void events.push(type) } })

// Half of a TOML file often is a right one: while hal0.toml was being written, a change of another file took the defaults over.
it('reads again what has changed, and not what somebody is just writing', async () => {
  await writeFile(daemonSettingsPath(home), '[dispatcher]\nunknown_model = "reject"\n')
  await writeFile(modelsFilePath(home), '[models.a]\npath = "/a"\n')
  const live = await open()
  await writeFile(daemonSettingsPath(home), '[dispatcher]\n')
  await writeFile(modelsFilePath(home), '[models.b]\npath = "/b"\n')
  await live.reload([modelsFilePath(home), '/elsewhere'])
  expect([live.settings().dispatcher.unknown_model, ...live.modelIds()]).toEqual(['reject', 'b'])
  await live.reload([])
  expect(live.settings().dispatcher.unknown_model).toBe('reject')
  await live.reload([daemonSettingsPath(home)])
  expect(live.settings().dispatcher.unknown_model).toBe('agent')
  expect(events).toEqual([])
})

it('tries again what was wrong, whatever has changed', async () => {
  const live = await open()
  await writeFile(modelsFilePath(home), 'nonsense')
  await live.reload()
  expect(live.problem()).toMatch(/models\.toml: line 1, column \d+: not valid TOML/)
  await writeFile(modelsFilePath(home), '[models.b]\npath = "/b"\n')
  await live.reload([])
  expect([...live.modelIds()]).toEqual(['b'])
  expect(live.problem()).toBeUndefined()
  expect(events).toEqual(['config.invalid', 'config.restored'])
})
