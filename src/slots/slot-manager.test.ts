import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { FakeRuntime } from '../../test/support/fake-runtime.ts'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { slotFilePath, slotsFolder } from '../config/slot-file.ts'
import type { NewEvent } from '../contract/events.ts'
import { type Home, homeAt, slotStatePath } from '../files/home.ts'
import { silentLog } from '../kernel/log.ts'
import { createSlotEffects } from './effects.ts'
import { createPortPool } from './port-pool.ts'
import { openSlots } from './slot-manager.ts'

let home: Home
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-slots-'))
  home = homeAt(folder)
  await mkdir(slotsFolder(home), { recursive: true })
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function open() {
  const events: NewEvent[] = []
  const warnings: string[] = []
  const preferred: [string, number][] = []
  const clock = new ManualClock()
  const ports = createPortPool([1, 1])
  const slots = await openSlots({
    home,
    ports: { forget: () => undefined, prefer: (slot, port) => void preferred.push([slot, port]) },
    clock,
    runtime: new FakeRuntime(clock),
    bus: { publish: (event) => void events.push(event) },
    log: { ...silentLog, warn: (_facts, message) => void warnings.push(message) },
    effects: createSlotEffects(home, { find: () => undefined, all: () => [] }, ports),
    settings: { queueLimit: 1, stopGraceMs: 1, stopWaitMs: 1, loadVerdictMs: 1, loadLimitMs: 1 },
  })
  await slots.close({ drainMs: 0, keepEngines: false })
  return { rows: slots.rows(), events, warnings, preferred }
}

it('says which files can be no slots, and goes on with the others', async () => {
  for (const file of ['agent.toml', 'Agent2.toml', 'a b.toml', '.agent.toml.swp', 'agent.toml~']) {
    await writeFile(join(slotsFolder(home), file), 'name = "agent"\n')
  }
  const { rows, events, warnings } = await open()
  expect(rows.map((row) => row.name)).toEqual(['agent'])
  const told = events.filter((event) => event.type === 'config.unfit_name')
  expect(told.map((event) => event.data['file'])).toEqual(['Agent2.toml', 'a b.toml'])
  expect(told[0]?.message).toContain(join(slotsFolder(home), 'Agent2.toml'))
  expect(warnings).toEqual(told.map((event) => event.message))
})

it('knows the ports slots had, and lets what a file says weigh more', async () => {
  await writeFile(slotFilePath(home, 'a'), 'name = "a"\nport = 9001\n')
  await writeFile(slotFilePath(home, 'b'), 'name = "b"\n')
  const record = { name: 'b', state: 'offline', model_id: null, port: 9001, updated_at: 'x', message: '', extra: {} }
  await mkdir(dirname(slotStatePath(home, 'b')), { recursive: true })
  await writeFile(slotStatePath(home, 'b'), JSON.stringify(record))
  const { preferred } = await open()
  expect(preferred).toEqual([
    ['b', 9001],
    ['a', 9001],
  ])
})

it('does not start on a folder of slots that it cannot read', async () => {
  await rm(slotsFolder(home), { recursive: true })
  await writeFile(slotsFolder(home), '')
  await expect(open()).rejects.toMatchObject({ code: 'config.invalid' })
})
