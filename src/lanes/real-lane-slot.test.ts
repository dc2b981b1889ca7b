import { readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { type FleetOptions, openFleetHarness } from '../../test/support/fleet-harness.ts'
import { needOf, poolOf } from '../../test/support/memory-world.ts'
import type { LaneFile } from '../config/lanes/live-lanes.ts'
import { slotsFolder } from '../config/slots/slot-file.ts'
import { laneConfigSchema } from '../contract/lane-config.ts'
import { HOUR_MS, MINUTE_MS } from '../kernel/units.ts'
import { createLaneBindings } from './lane-bindings.ts'
import { createLaneSlot } from './real-lane-slot.ts'
import type { LaneTarget } from './rules/lane-target.ts'

type Model = Extract<LaneTarget, { kind: 'model' }>
const target = (model: string, profile = 'chat'): Model => ({ kind: 'model', model, profile })
const A = target('a')
const B = target('b')
const DRAIN = { drainMs: 10_000, restart: false }

function laneFile(name: string, config: Readonly<Record<string, unknown>> = {}): LaneFile {
  return { name, config: laneConfigSchema.parse({ device: 'gpu-cuda', gpus: [0], ...config }), problem: undefined }
}

async function open(more: Partial<FleetOptions> = {}) {
  const files = [laneFile('gpu0')]
  const lanes = { all: () => files, find: (name: string) => files.find((file) => file.name === name) }
  const targets = createLaneBindings(lanes)
  const fleet = await openFleetHarness({
    slots: {},
    pools: [poolOf('host', 64), poolOf('gpu0', 24), poolOf('gpu1', 24)],
    lanes: targets,
    laneTraits: { gpu0: { models: { a: needOf(10), b: needOf(12) }, parallel: 1 } },
    ...more,
  })
  const lane = createLaneSlot({ name: 'gpu0', slots: fleet.slots, targets, bus: fleet.bus })
  let changes = 0
  const stopListening = lane.onChange(() => void changes++)
  return {
    fleet,
    files,
    lane,
    targets,
    stopListening,
    changes: () => changes,
    slotFiles: () => readdir(slotsFolder(fleet.home)),
    row: () => fleet.row('gpu0'),
  }
}

const outcomeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  )

describe('the slot of a lane', () => {
  it('is there without a file, runs what the lane says, and leaves nothing on disk', async () => {
    const { fleet, lane, changes, row, slotFiles } = await open()
    expect(row()).toMatchObject({
      state: 'offline',
      model_id: null,
      managed_by: 'lane',
      autoload: false,
      pinned: false,
    })
    expect(lane.view()).toEqual({ state: 'down', running: undefined, inFlight: 0, failure: undefined })
    await fleet.until(lane.run(A, DRAIN))
    expect(lane.view()).toMatchObject({ state: 'up', running: A, inFlight: 0 })
    expect(row()).toMatchObject({ state: 'ready', model_id: 'a', profile: 'chat', managed_by: 'lane' })
    expect(changes()).toBeGreaterThan(2)
    await fleet.until(lane.run(B, DRAIN))
    expect(row()).toMatchObject({ state: 'ready', model_id: 'b' })
    await fleet.until(lane.run(target('b', 'mine'), DRAIN))
    expect(lane.view().running).toEqual(target('b', 'mine'))
    await fleet.until(lane.run(target('b', 'mine'), { drainMs: 0, restart: true }))
    await fleet.until(lane.stop(DRAIN))
    await fleet.advance(0)
    expect(lane.view()).toMatchObject({ state: 'down', running: undefined })
    expect(row()).toMatchObject({ state: 'offline', model_id: null })
    expect(fleet.starts()).toHaveLength(4)
    expect(await slotFiles()).toEqual([])
  })

  it('stays as it is when it is to run what it runs', async () => {
    const { fleet, lane } = await open()
    await fleet.until(lane.run(A, DRAIN))
    const asked = fleet.ask('gpu0', 60_000)
    await fleet.advance(10)
    await fleet.until(lane.run(A, { drainMs: 0, restart: false }))
    expect(await fleet.until(asked)).toMatchObject({ how: 'served' })
    expect(fleet.starts()).toHaveLength(1)
  })

  it.each([
    ['another model', B],
    ['nothing', undefined],
  ] as const)('a drain for %s is taken back when it is to run the same again', async (_what, other) => {
    const { fleet, lane, row } = await open()
    await fleet.until(lane.run(A, DRAIN))
    const asked = fleet.ask('gpu0', 60_000)
    await fleet.advance(10)
    const left = outcomeOf(other === undefined ? lane.stop(DRAIN) : lane.run(other, DRAIN))
    await fleet.advance(1_000)
    expect(lane.view()).toMatchObject({ state: 'draining', running: A })
    await fleet.until(lane.run(A, DRAIN))
    expect([await left, lane.view().state, row().state, row().message]).toEqual([
      'model_switching',
      'up',
      'serving',
      '',
    ])
    // The limit of that drain is over long before.
    expect(await fleet.until(asked)).toMatchObject({ how: 'served' })
    expect(await fleet.until(fleet.ask('gpu0', 10))).toMatchObject({ how: 'served' })
    expect(fleet.starts()).toHaveLength(1)
    await fleet.until(lane.run(B, DRAIN))
    expect([row().model_id, fleet.starts().length]).toEqual(['b', 2])
  })

  it('a drain that is taken back and begun again has its whole limit, and ends by it', async () => {
    const { fleet, lane } = await open()
    await fleet.until(lane.run(A, DRAIN))
    const asked = fleet.ask('gpu0', 60_000)
    await fleet.advance(10)
    void outcomeOf(lane.run(B, DRAIN))
    await fleet.advance(9_000)
    await fleet.until(lane.run(A, DRAIN))
    const last = lane.run(B, DRAIN)
    await fleet.advance(9_900)
    expect(lane.view()).toMatchObject({ state: 'draining', inFlight: 1 })
    await fleet.until(last)
    expect(await fleet.until(asked)).not.toMatchObject({ how: 'served' })
    expect(fleet.starts()).toHaveLength(2)
  })

  it('a drain for other flags of the same model is not taken back', async () => {
    const { fleet, lane } = await open()
    await fleet.until(lane.run(A, DRAIN))
    void fleet.ask('gpu0', 60_000)
    await fleet.advance(10)
    void outcomeOf(lane.run(B, DRAIN))
    await fleet.advance(1_000)
    await fleet.until(lane.run(target('a', 'mine'), DRAIN))
    expect([lane.view().running, fleet.starts().length]).toEqual([target('a', 'mine'), 2])
  })

  it('joins a load of the same target, and ends one of another', async () => {
    const { fleet, lane } = await open()
    const first = outcomeOf(lane.run(A, DRAIN))
    await fleet.advance(200)
    expect(lane.view()).toMatchObject({ state: 'loading', running: A })
    const same = outcomeOf(lane.run(A, DRAIN))
    await fleet.advance(200)
    expect(await first).toBe('model_switching')
    const other = outcomeOf(lane.run(B, DRAIN))
    await fleet.until(other)
    expect([await same, await other]).toEqual(['model_switching', 'done'])
    expect(fleet.starts()).toHaveLength(2)
    expect(lane.view()).toMatchObject({ state: 'up', running: B })
    expect(fleet.loads.map(({ model_id, outcome }) => [model_id, outcome])).toEqual([
      ['a', 'cancelled'],
      ['b', 'ready'],
    ])
  })

  it('ends a load that is not wanted any more', async () => {
    const { fleet, lane } = await open()
    const load = outcomeOf(lane.run(A, DRAIN))
    await fleet.advance(200)
    const stop = lane.stop({ drainMs: 0 })
    expect(['stopping', 'down']).toContain(lane.view().state)
    await fleet.until(stop)
    expect(await load).toBe('model_switching')
    await fleet.advance(MINUTE_MS)
    expect(fleet.running()).toEqual([])
  })

  it('runs what it was told last, whatever came in between', async () => {
    const { fleet, lane } = await open()
    await fleet.until(lane.run(A, DRAIN))
    const asked = fleet.ask('gpu0', 60_000)
    await fleet.advance(10)
    const calls = [lane.stop(DRAIN), lane.run(B, DRAIN), lane.stop(DRAIN), lane.run(A, DRAIN), lane.run(B, DRAIN)]
    const outcomes = await fleet.until(Promise.all(calls.map(outcomeOf)))
    expect(outcomes).toEqual([...Array.from({ length: 4 }, () => 'model_switching'), 'done'])
    expect(await asked).toMatchObject({ how: 'slot.unloading' })
    await fleet.advance(MINUTE_MS)
    expect(lane.view()).toMatchObject({ state: 'up', running: B })
  })

  it('lets requests end within the drain limit; those that only waited are told that it switches', async () => {
    const { fleet, lane } = await open()
    await fleet.until(lane.run(A, DRAIN))
    const held = fleet.ask('gpu0', 5_000)
    await fleet.advance(10)
    const queued = fleet.ask('gpu0', 10)
    await fleet.advance(10)
    const switched = lane.run(B, DRAIN)
    await fleet.advance(10)
    expect(lane.view()).toMatchObject({ state: 'draining', running: A, inFlight: 1 })
    expect(await queued).toMatchObject({ how: 'model_switching', waitedMs: 10 })
    expect(await fleet.ask('gpu0', 10)).toMatchObject({ how: 'model_switching', waitedMs: 0 })
    expect(await fleet.until(held)).toMatchObject({ how: 'served' })
    expect(await fleet.ask('gpu0', 10)).toMatchObject({ how: 'model_switching' })
    await fleet.until(switched)
    expect(await fleet.until(fleet.ask('gpu0', 10), 10)).toMatchObject({ how: 'served', waitedMs: 0 })
  })

  it('is never loaded by a request, which hears why', async () => {
    const { fleet, lane } = await open()
    expect(await fleet.ask('gpu0', 10)).toMatchObject({ how: 'slot.not_ready', waitedMs: 0 })
    const load = lane.run(A, DRAIN)
    await fleet.advance(200)
    expect(await fleet.ask('gpu0', 10)).toMatchObject({ how: 'slot.loading', waitedMs: 0 })
    await fleet.until(load)
    expect(await fleet.ask('gpu0', 10, { modelId: 'b' })).toMatchObject({ how: 'model_switching' })
    fleet.engine('gpu0').exit({ code: 1 })
    await fleet.advance(10)
    expect((await fleet.ask('gpu0', 10)).how).toMatch(/^(model_switching|slot\.not_ready)$/)
    await fleet.advance(5_000)
    expect(await fleet.ask('gpu0', 10)).toMatchObject({ how: 'slot.not_ready' })
    expect(lane.view()).toMatchObject({ state: 'failed', running: undefined, failure: { code: 'slot.spawn_failed' } })
    await fleet.advance(HOUR_MS)
    expect(fleet.starts()).toHaveLength(1)
  })

  it('is never parked: each try of the lane is a try', async () => {
    const { fleet, lane, row } = await open()
    for (let n = 1; n <= 7; n++) {
      const load = outcomeOf(lane.run(A, DRAIN))
      await fleet.advance(200)
      fleet.engine('gpu0').exit({ code: 1 })
      expect(await fleet.until(load)).toBe('slot.spawn_failed')
      await fleet.advance(2_000)
      expect(lane.view().state).toBe('failed')
      expect(row().breaker).toBeNull()
      expect(fleet.starts()).toHaveLength(n)
    }
    expect(fleet.events.filter(({ type }) => type === 'slot.parked')).toEqual([])
    await fleet.until(lane.run(A, DRAIN))
    expect(lane.view()).toMatchObject({ state: 'up', failure: undefined })
  })

  it('is never idle, unloaded for being quiet, or evicted for another', async () => {
    const { fleet, lane, row } = await open({
      slots: { s: { gpuGib: 20, file: { gpu_index: 1 } }, big: { gpuGib: 20, file: { gpu_index: 0 } } },
      settings: { slots: { idle_timeout_s: 1, unload_after_s: 2 } },
    })
    await fleet.until(lane.run(A, DRAIN))
    await fleet.until(fleet.ask('gpu0', 10), 10)
    await fleet.advance(HOUR_MS)
    expect(row()).toMatchObject({ state: 'ready', idle_reason: null })
    expect(await fleet.slots.residents.evict('gpu0', 'pressure')).toBe('refused')
    expect(await fleet.slots.residents.claim('gpu0', 'arbiter').gone).toBe('refused')
    const wanted = outcomeOf(fleet.load('big'))
    expect(await fleet.until(wanted)).toBe('slot.preload_evict_insufficient')
    expect(lane.view().state).toBe('up')
    await fleet.until(fleet.slots.autoload())
    expect(fleet.starts().filter((slot) => slot === 'gpu0')).toHaveLength(1)
  })

  it('stays what it is when what it is to run could not start', async () => {
    const { fleet, lane, targets } = await open({ brokenModel: 'b' })
    await fleet.until(lane.run(A, DRAIN))
    expect(await fleet.until(outcomeOf(lane.run(B, { drainMs: 0, restart: false })))).toBe('slot.model_missing')
    expect(lane.view()).toMatchObject({ state: 'up', running: A })
    expect(targets.targetOf('gpu0')).toEqual(A)
    expect(fleet.running()).toEqual(['gpu0'])
  })

  it('is closed when its lane is gone and nothing of it runs, and comes with a new lane', async () => {
    const { fleet, files, lane, slotFiles } = await open()
    await fleet.until(lane.run(A, DRAIN))
    files.splice(0)
    await fleet.slots.sync()
    expect(fleet.running()).toEqual(['gpu0'])
    await fleet.until(lane.stop({ drainMs: 0 }))
    await fleet.slots.sync()
    expect(fleet.slots.row('gpu0')).toBeUndefined()
    expect(lane.view()).toMatchObject({ state: 'down', running: undefined })
    files.push(laneFile('gpu1'))
    await fleet.slots.sync()
    expect(fleet.rows().map(({ name, managed_by }) => [name, managed_by])).toEqual([['gpu1', 'lane']])
    expect(await slotFiles()).toEqual([])
  })

  it('goes on with the engine of an earlier daemon, whatever the lane says by then', async () => {
    const mine = target('b', 'mine')
    const { fleet, lane, row } = await open({ adopts: { gpu0: { modelId: 'b', profile: 'mine' } } })
    expect(lane.view()).toMatchObject({ state: 'loading', running: mine })
    // It is what the lane wants, found before it is known to serve: nothing is started for it.
    const first = lane.run(mine, DRAIN)
    await fleet.until(first, 10)
    expect(lane.view()).toMatchObject({ state: 'up', running: mine })
    expect(row()).toMatchObject({ state: 'ready', model_id: 'b', managed_by: 'lane', restart_needed: [] })
    await fleet.until(lane.run(mine, DRAIN))
    expect(await fleet.until(fleet.ask('gpu0', 10), 10)).toMatchObject({ how: 'served' })
    expect(fleet.starts()).toHaveLength(1)
    await fleet.until(lane.run(A, DRAIN))
    expect(fleet.starts()).toHaveLength(2)
    expect(lane.view().running).toEqual(A)
  })

  it('serves with an adopted engine before the lane has said anything, and calls that no mistake', async () => {
    const { fleet, lane, row } = await open({ adopts: { gpu0: { modelId: 'a', profile: 'chat' } } })
    await fleet.advance(5_000)
    expect(lane.view()).toMatchObject({ state: 'up', running: A })
    await fleet.slots.sync()
    await fleet.advance(10)
    expect(row()).toMatchObject({ state: 'ready', model_id: 'a', config_problem: null })
    expect(await fleet.until(fleet.ask('gpu0', 10), 10)).toMatchObject({ how: 'served' })
    await fleet.until(lane.stop({ drainMs: 0 }))
    expect(fleet.running()).toEqual([])
  })

  it('tells nobody any more who has left', async () => {
    const { fleet, lane, changes, stopListening } = await open()
    stopListening()
    await fleet.until(lane.run(A, DRAIN))
    expect(changes()).toBe(0)
  })
})

// What a person put there as a slot is a slot; the check of the files tells of the clash.
it('a slot file of the same name is the slot', async () => {
  const { fleet, row } = await open({ slots: { gpu0: { gpuGib: 1 } } })
  expect(row()).toMatchObject({ managed_by: null, file_model_id: 'm' })
  expect(fleet.rows()).toHaveLength(1)
})
