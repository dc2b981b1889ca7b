import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { FAKE_LAUNCH, FAKE_RUNNER } from '../../../test/support/fake-runner.ts'
import { FakeRuntime } from '../../../test/support/fake-runtime.ts'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { slotFileSchema } from '../../config/slots/rules/slot-schema.ts'
import { type Home, homeAt } from '../../files/home.ts'
import { silentLog } from '../../kernel/log.ts'
import { launchRecordOf, writeLaunchRecord } from '../launch/launch-record.ts'
import { bindingOf } from '../launch/read-binding.ts'
import { createSlotSource } from '../slot-source.ts'
import { takeSurvivors } from './take-survivors.ts'

let folder: string
let home: Home
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-survivors-'))
  home = homeAt(folder)
  await mkdir(join(home.etc, 'slots'), { recursive: true })
})
afterEach(() => rm(folder, { recursive: true }))

// The slot of a lane has no file: without the lane its engine is nobody's.
it.each([
  ['the lane is there', true],
  ['the lane is gone', false],
])('the engine of a lane that an earlier daemon left: %s', async (_what, isThere) => {
  const clock = new ManualClock()
  const runtime = new FakeRuntime(clock)
  const config = slotFileSchema.parse({ name: 'gpu0', device: 'gpu-cuda', model: { default: 'm' }, profile: 'mine' })
  const plan = { slot: 'gpu0', command: ['/fake'] as [string], flags: [], env: {}, port: 9_000 }
  const bound = { ...bindingOf(config), gpus: [0, 1] }
  const binding = { bound, runner: FAKE_RUNNER, launch: { plan, ...FAKE_LAUNCH }, plan, fingerprint: 'f' }
  const need = { kind: 'unknown', reason: 'made up' } as const
  await writeLaunchRecord(home, launchRecordOf('gpu0', 'attempt', { ...binding, releasePort: () => {} }, need))
  const engine = runtime.leaveSurvivor('gpu0', 'attempt')

  // It is to run nothing for now: what runs is found again all the same.
  const asNothing = slotFileSchema.parse({ name: 'gpu0', device: 'gpu-cuda' })
  const lane = { config: asNothing, gpus: [0, 1], runner: undefined }
  const source = createSlotSource({
    home,
    lanes: { names: () => ['gpu0'], configOf: (name) => (isThere && name === 'gpu0' ? lane : undefined) },
  })
  const taking = takeSurvivors({
    ...{ home, source, runtime, clock, log: silentLog },
    runners: { find: () => FAKE_RUNNER, all: () => [FAKE_RUNNER] },
    ports: { hold: () => () => {} },
    bus: { publish: () => {} },
  })
  await clock.advance(0)
  const adopted = (await taking).get('gpu0')?.engine.binding.bound
  expect(engine.isAlive).toBe(isThere)
  expect(adopted === undefined ? undefined : [adopted.modelId, adopted.profile, adopted.gpus]).toEqual(
    isThere ? ['m', 'mine', [0, 1]] : undefined,
  )
})
