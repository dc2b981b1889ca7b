import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { OPEN_DESK } from '../../test/support/actor-harness.ts'
import { FakeRuntime } from '../../test/support/fake-runtime.ts'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { daemonSettingsSchema } from '../config/settings/daemon-settings.ts'
import { slotFilePath, slotsFolder } from '../config/slots/slot-file.ts'
import type { NewEvent } from '../contract/events.ts'
import { type Home, homeAt, slotStatePath } from '../files/home.ts'
import { silentLog } from '../kernel/log.ts'
import { deferred } from './actor/deferred.ts'
import { createSlotEffects } from './effects.ts'
import { createPortPool } from './port-pool.ts'
import { slotSettingsOf } from './settings.ts'
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
  const { slots, ...seen } = await openAll()
  await slots.close({ drainMs: 0, keepEngines: false })
  return { rows: slots.rows(), ...seen }
}

async function openAll() {
  const events: NewEvent[] = []
  const warnings: string[] = []
  const preferred: [string, number][] = []
  const clock = new ManualClock()
  const ports = createPortPool([1, 1])
  const slots = await openSlots({
    home,
    ports: { ...ports, forget: () => undefined, prefer: (slot, port) => void preferred.push([slot, port]) },
    adoptions: new Map(),
    openDesk: () => OPEN_DESK,
    onLoadEnded: () => {},
    startRefusal: () => undefined,
    managedBy: () => null,
    clock,
    runtime: new FakeRuntime(clock),
    bus: { publish: (event) => void events.push(event) },
    log: { ...silentLog, warn: (_facts, message) => void warnings.push(message) },
    effects: createSlotEffects({
      home,
      runners: { find: () => undefined, all: () => [] },
      ports,
      clock,
      missing: { find: async () => undefined },
      kept: { keep: async () => {}, close: () => {} },
    }),
    settings: {
      ...slotSettingsOf(daemonSettingsSchema.parse({}), {}),
      queueLimit: 1,
      stopGraceMs: 1,
      stopWaitMs: 1,
      loadVerdictMs: 1,
      loadLimitMs: 1,
    },
  })
  return { slots, events, warnings, preferred }
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

describe('a slot that is being deleted', () => {
  const name = 'a'
  const now = { drainMs: 0 }
  const remove = () => rm(slotFilePath(home, name))

  // Its file was still there: a sync opened the slot again, and a request could load what was then nobody's.
  it('is not opened again before its file is gone', async () => {
    await writeFile(slotFilePath(home, name), 'name = "a"\n')
    const { slots } = await openAll()
    const mayRemove = deferred<void>()
    const begun = deferred<void>()
    const gone = slots.retire(name, 'deleted', now, async () => {
      begun.resolve()
      await mayRemove.promise
      await remove()
    })
    await begun.promise
    await slots.sync()
    await expect(slots.load(name)).rejects.toMatchObject({ code: 'slot.not_found' })
    mayRemove.resolve()
    await gone
    expect(slots.row(name)).toBeUndefined()
    await slots.sync()
    expect(slots.row(name)).toBeUndefined()
  })

  it('is deleted once, however often it is asked for; what is asked besides is refused', async () => {
    await writeFile(slotFilePath(home, name), 'name = "a"\n')
    const { slots } = await openAll()
    const removals: string[] = []
    const take = async () => {
      removals.push(name)
      await remove()
    }
    const [first, second, renamed] = await Promise.allSettled([
      slots.retire(name, 'deleted', now, take),
      slots.retire(name, 'deleted', now, take),
      slots.retireIfDown(name, 'renamed', take),
    ])
    expect([first.status, second.status, renamed.status]).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    expect(removals).toEqual([name])
  })

  it('is there again when its file could not be removed', async () => {
    await writeFile(slotFilePath(home, name), 'name = "a"\n')
    const { slots } = await openAll()
    const fail = () => Promise.reject(new Error('read-only'))
    await expect(slots.retire(name, 'deleted', now, fail)).rejects.toThrow('read-only')
    await slots.sync()
    expect(slots.row(name)).toMatchObject({ state: 'offline' })
    await slots.retire(name, 'deleted', now, remove)
    expect(slots.row(name)).toBeUndefined()
  })

  it('writes no record any more', async () => {
    await writeFile(slotFilePath(home, name), 'name = "a"\n')
    const { slots } = await openAll()
    const looked = slots.look(name)
    await slots.retire(name, 'deleted', now, async () => {
      await remove()
      await slots.forget(name)
    })
    await looked
    await expect(access(slotStatePath(home, name))).rejects.toThrow('ENOENT')
  })
})

it('opens nothing any more once it closes', async () => {
  await writeFile(slotFilePath(home, 'a'), 'name = "a"\n')
  const { slots } = await openAll()
  await writeFile(slotFilePath(home, 'b'), 'name = "b"\n')
  const synced = slots.sync()
  await slots.close({ drainMs: 0, keepEngines: false })
  await synced
  // Whatever is opened after the end would never be closed.
  expect(slots.row('b')).toBeUndefined()
})

describe('what is on the way of a request', () => {
  const writeSlot = (name: string) =>
    writeFile(slotFilePath(home, name), `name = "${name}"\naliases = ["${name}-too"]\n`)

  it('views are in name order, and the same until a slot is opened or closed', async () => {
    await writeSlot('b')
    await writeSlot('a')
    const { slots } = await openAll()
    const views = slots.views()
    expect(views.map(({ name, aliases }) => [name, ...aliases])).toEqual([
      ['a', 'a-too'],
      ['b', 'b-too'],
    ])
    await slots.sync()
    expect(slots.views()).toBe(views)
    await writeSlot('0')
    await slots.sync()
    expect(slots.views().map(({ name }) => name)).toEqual(['0', 'a', 'b'])
    // One slot is one view for its whole life.
    expect(slots.views()[1]).toBe(views[0])
    await rm(slotFilePath(home, 'a'))
    await slots.sync()
    expect(slots.views().map(({ name }) => name)).toEqual(['0', 'b'])
    await slots.close({ drainMs: 0, keepEngines: false })
  })

  it('of a slot that there is not is told as nothing, and by acquire as an error that names those there are', async () => {
    await writeSlot('a')
    const { slots } = await openAll()
    expect([slots.leaseNow('b', undefined), slots.phases('b'), slots.restartNeeded('b')]).toEqual([undefined, null, []])
    const wish = slots.acquire('b', { signal: new AbortController().signal, waitMs: 1 })
    await expect(wish).rejects.toMatchObject({ code: 'slot.not_found', message: expect.stringContaining('a') })
    await slots.close({ drainMs: 0, keepEngines: false })
  })
})
