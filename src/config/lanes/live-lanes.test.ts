import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { NewEvent } from '../../contract/events.ts'
import { type Home, homeAt } from '../../files/home.ts'
import { silentLog } from '../../kernel/log.ts'
import { laneFilePath } from './lane-file.ts'
import { openLiveLanes } from './live-lanes.ts'

let folder: string
let home: Home
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-lanes-'))
  home = homeAt(folder)
  for (const name of ['lanes', 'slots']) await mkdir(join(home.etc, name), { recursive: true })
})
afterEach(() => rm(folder, { recursive: true }))

const put = (name: string, text: string) => writeFile(laneFilePath(home, name), text)
const gpus = (...list: number[]) => `device = "gpu-cuda"\ngpus = [${list.join(', ')}]\n`

async function open() {
  const events: NewEvent[] = []
  const lanes = await openLiveLanes({ home, log: silentLog, bus: { publish: (event) => void events.push(event) } })
  return {
    lanes,
    told: () => events.splice(0).map(({ type, message }) => `${type} ${message.replaceAll(home.etc, '')}`),
    shown: () => lanes.all().map(({ name, config, problem }) => `${name} ${config.gpus.join()}${problem ? ' !' : ''}`),
  }
}

it('are none without a folder', async () => {
  await rm(join(home.etc, 'lanes'), { recursive: true })
  const { lanes, told } = await open()
  expect([lanes.all(), lanes.find('x'), told()]).toEqual([[], undefined, []])
})

it('stay as they were last right; each problem is told once, and its end too', async () => {
  await put('b', gpus(1))
  await put('a', gpus(0))
  await put('wrong', 'devise = 1\n')
  const { lanes, shown, told } = await open()
  expect(shown()).toEqual(['a 0', 'b 1'])
  expect(told()).toEqual([
    expect.stringMatching(/^config.invalid .*no such lane until it is mended: .*devise: unknown key/),
  ])
  const before = lanes.all()
  await lanes.reload()
  expect(lanes.all()).toBe(before)
  expect(told()).toEqual([])

  await put('a', `${gpus(0)}approval = "never"\n`)
  await lanes.reload([laneFilePath(home, 'a')])
  expect(shown()).toEqual(['a 0 !', 'b 1'])
  expect(lanes.find('b')).toBe(before[1])
  expect(told()).toEqual([expect.stringMatching(/what it said before still counts: .*approval/)])
  await put('a', `${gpus(0, 2)}approval = "required"\n`)
  await put('wrong', 'device = "cpu"\n')
  await lanes.reload([])
  expect(shown()).toEqual(['a 0,2', 'b 1', 'wrong '])
  expect(told().toSorted()).toEqual([
    'config.restored lanes/a.toml is right again',
    'config.restored lanes/wrong.toml is right again',
  ])
  await rm(laneFilePath(home, 'a'))
  await lanes.reload([laneFilePath(home, 'a')])
  expect([shown(), told()]).toEqual([['b 1', 'wrong '], []])
})

it('reads only what changed', async () => {
  await put('a', gpus(0))
  await put('b', gpus(1))
  const { lanes, shown } = await open()
  await put('a', gpus(2))
  await put('b', gpus(3))
  await lanes.reload([laneFilePath(home, 'b')])
  expect(shown()).toEqual(['a 0', 'b 3'])
})

// CASES 39
it('a GPU has one lane: the one that had it, else the first by name', async () => {
  await put('b', gpus(0, 1))
  await put('a', gpus(0))
  const { lanes, shown, told } = await open()
  expect(shown()).toEqual(['a 0'])
  expect(told()).toEqual([expect.stringMatching(/GPU 0 belongs to lane "a" .*and to lane "b"/)])
  await put('b', gpus(1))
  await lanes.reload([laneFilePath(home, 'b')])
  expect(shown()).toEqual(['a 0', 'b 1'])
  await put('a', gpus(0, 1))
  await lanes.reload()
  expect(shown()).toEqual(['a 0 !', 'b 1'])
  // Both at once, the other way round.
  await put('a', gpus(1))
  await put('b', gpus(0))
  await lanes.reload()
  expect(shown()).toEqual(['a 1', 'b 0'])
})

it('a slot file of the same name wins; one that pins a GPU of a lane is told', async () => {
  await put('a', gpus(0))
  await put('b', gpus(1))
  await put('m', gpus(2))
  await writeFile(join(home.etc, 'models.toml'), '[models.m]\npath = "/m.gguf"\n')
  const { lanes, shown, told } = await open()
  expect(shown()).toEqual(['a 0', 'b 1', 'm 2 !'])
  told()
  await writeFile(join(home.etc, 'slots', 'a.toml'), 'name = "a"\n')
  await writeFile(join(home.etc, 'slots', 's.toml'), 'name = "s"\ngpu_index = 1\n')
  await lanes.reload([])
  expect(shown()).toEqual(['b 1', 'm 2 !'])
  expect(told()).toEqual([
    expect.stringMatching(/^config.invalid lanes\/a.toml .*slot "a".*lane "a"/),
    expect.stringMatching(/^config.invalid \/slots\/s.toml: GPU 1 belongs to lane "b".*slot "s"/),
  ])
})
