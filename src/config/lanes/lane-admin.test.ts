import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failure } from '../../../test/support/failure.ts'
import { type Home, homeAt } from '../../files/home.ts'
import { checkSlotRefs } from '../slots/check-slot-refs.ts'
import { slotFilePath } from '../slots/slot-file.ts'
import { guardSlotWrite } from '../slots/slot-gate.ts'
import { createLaneAdmin, type LaneAdmin } from './lane-admin.ts'
import { laneFilePath } from './lane-file.ts'

let folder: string
let home: Home
let admin: LaneAdmin
let told: string[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-lane-admin-'))
  home = homeAt(folder)
  told = []
  await put('models.toml', '[models.hello]\npath = "/m/hello.gguf"\n')
  await put('profiles.toml', '[profiles.mine]\n')
  await put('slots/a.toml', 'name = "a"\naliases = ["also"]\ngpu_index = 5\n')
  admin = createLaneAdmin({
    home,
    knownRunners: () => ['cpu', 'cuda'],
    written: async (files) => void told.push(...files),
  })
})
afterEach(() => rm(folder, { recursive: true }))

async function put(file: string, text: string): Promise<void> {
  const path = join(home.etc, file)
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, text)
}
const textOf = (name: string) => readFile(laneFilePath(home, name), 'utf8')

const GPU0 = { device: 'gpu-cuda', gpus: [0], default: { model: 'hello', profile: 'mine' }, runner: 'cuda' }

describe('the files of the lanes', () => {
  it('are made, shown, changed with their comments kept, and removed', async () => {
    expect(await admin.create('gpu0', GPU0)).toEqual({ name: 'gpu0', config: GPU0 })
    expect(await admin.config('gpu0')).toEqual({ name: 'gpu0', config: GPU0 })
    await writeFile(laneFilePath(home, 'gpu0'), `# the big one\n${await textOf('gpu0')}`)
    const patch = { runner: null, approval: 'required', default: { profile: null }, limits: { max_hours: 4 } }
    const { config } = await admin.update('gpu0', patch)
    expect(config).toEqual({
      device: 'gpu-cuda',
      gpus: [0],
      default: { model: 'hello' },
      approval: 'required',
      limits: { max_hours: 4 },
    })
    expect(await textOf('gpu0')).toMatch(/^# the big one\n/)
    expect((await admin.update('gpu0', { limits: { max_hours: null } })).config).not.toHaveProperty('limits')
    await admin.remove('gpu0')
    expect(await readdir(join(home.etc, 'lanes'))).toEqual([])
    expect(told).toEqual(Array.from({ length: 4 }, () => laneFilePath(home, 'gpu0')))
  })

  it('are not found where there are none', async () => {
    for (const act of [admin.config('x'), admin.update('x', {}), admin.remove('x'), admin.remove('../slots/a')]) {
      expect(await failure(act)).toMatchObject({ code: 'lane.not_found' })
    }
    expect(await readdir(join(home.etc, 'slots'))).toEqual(['a.toml'])
  })

  it('tell all that is wrong at once, and write nothing', async () => {
    const wrong = {
      devise: 'cpu',
      gpus: [1, 1],
      limits: { min_minutes: -1 },
      default: { model: 'helo' },
      runner: 'cud',
    }
    const error = await failure(admin.create('l', wrong))
    expect(error).toMatchObject({ code: 'validation.invalid' })
    expect(error.message).toMatch(/devise: unknown key; did you mean device\?/)
    for (const part of [
      'gpus: expected each GPU once',
      'limits.min_minutes: ',
      'did you mean hello?',
      'did you mean cuda?',
    ])
      expect(error.message).toContain(part)
    expect(await failure(admin.config('l'))).toMatchObject({ code: 'lane.not_found' })
    expect(told).toEqual([])
  })

  it.each([
    ['gpu0', GPU0, 'slot.exists', 'there is a lane "gpu0" already'],
    ['X', {}, 'validation.invalid', 'name: expected'],
    ['a', {}, 'slot.exists', /slot "a" \(.*a\.toml\) already: choose another for the new lane "a"$/],
    ['also', {}, 'slot.exists', /alias of slot "a".*the new lane "also"$/],
    ['hello', {}, 'slot.exists', /model "hello" \(models\.toml\) already: choose another for the new lane "hello"$/],
    ['agent', {}, 'slot.exists', 'its name is reserved'],
    ['l', { name: 'k' }, 'validation.invalid', 'name: expected "l", the name of the file'],
    ['l', { device: 'gpu-cuda' }, 'validation.invalid', 'gpus: expected the GPUs of the lane'],
    ['l', { default: { model: 'no' } }, 'model.not_found', 'default.model: there is no model "no"'],
    ['l', { default: { model: 'hello', profile: 'no' } }, 'profile.not_found', 'default.profile: there is no profile'],
    ['l', { runner: 'no' }, 'validation.invalid', 'runner: there is no runner "no"'],
    // CASES 39: both are named.
    [
      'l',
      { ...GPU0, gpus: [1, 0] },
      'validation.invalid',
      /GPU 0 belongs to lane "gpu0".*already: choose another for the new lane "l"$/,
    ],
    ['l', { ...GPU0, gpus: [5] }, 'validation.invalid', /slot "a".*pins GPU 5: choose another for the new lane "l"$/],
  ])('refuse %s %j: %s', async (name, config, code, message) => {
    await admin.create('gpu0', GPU0)
    const error = await failure(admin.create(name, config))
    expect(error.code).toBe(code)
    expect(error.message).toMatch(message)
  })

  it('refuse a slot that pins the GPU of a lane, and let be what a change does not touch', async () => {
    await admin.create('gpu0', GPU0)
    const slot = (gpu: number) =>
      guardSlotWrite({ name: 'b', gpu_index: gpu }, { file: slotFilePath(home, 'b'), name: 'b', source: 'api' })
    const check = (gpu: number, key: string) =>
      checkSlotRefs({ home, knownRunners: () => [] }, slot(gpu), new Set([key]))
    expect(await failure(check(0, 'gpu_index'))).toMatchObject({
      code: 'slot.config_error',
      param: 'gpu_index',
      message: expect.stringMatching(/lane "gpu0".*slot "b"/),
    })
    await check(1, 'gpu_index')
    await check(0, 'priority')
    await put('lanes/gpu0.toml', 'device = "cpu"\n[default]\nmodel = "gone"\n')
    await admin.update('gpu0', { approval: 'required' })
    expect(await failure(admin.update('gpu0', { default: { profile: 'mine' } }))).toMatchObject({
      code: 'model.not_found',
    })
  })

  it('can be mended, and take no slip of the hand', async () => {
    await put('lanes/l.toml', 'devise = "cpu"\n')
    expect(await failure(admin.update('l', { approval: 'required' }))).toMatchObject({ code: 'validation.invalid' })
    expect((await admin.update('l', { devise: null, device: 'cpu' })).config).toEqual({ device: 'cpu' })
    expect((await failure(admin.update('l', { runer: null }))).message).toContain('did you mean runner?')
    await put('lanes/l.toml', 'device = \n')
    expect(await failure(admin.update('l', { device: 'cpu' }))).toMatchObject({ code: 'config.invalid' })
    await admin.remove('l')
  })
})
