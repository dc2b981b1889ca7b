import { describe, expect, it } from 'vitest'
import { openActor, openReadyActor } from '../../../test/support/actor-harness.ts'
import { Hal0Error } from '../../kernel/errors.ts'

/** Starts of this slot so far. */
const starts = (slot: { engines(): readonly unknown[] }) => slot.engines().length

describe('swap', () => {
  it('of a slot at rest loads the other model', async () => {
    const slot = openActor({})
    const swapped = slot.swap('n')
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 2 })
    await slot.settle()
    expect(await swapped).toMatchObject({ state: 'ready', model_id: 'n' })
  })

  it('lets requests end, then changes the model once', async () => {
    const slot = await openReadyActor()
    const lease = await slot.acquire()
    const swapped = slot.swap('n')
    await slot.settle()
    expect([slot.row().state, slot.engine().isAlive, starts(slot)]).toEqual(['serving', true, 1])
    lease.release()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 2 })
    await slot.settle()
    expect([(await swapped).model_id, starts(slot)]).toEqual(['n', 2])
  })

  it('to what is loaded does nothing', async () => {
    const slot = await openReadyActor()
    expect(await slot.swap('m')).toMatchObject({ state: 'ready' })
    expect(starts(slot)).toBe(1)
  })

  it('costs no working engine when the files are wrong', async () => {
    const slot = await openReadyActor()
    slot.setFiles(Hal0Error.of('slot.model_missing', 'no n'))
    await expect(slot.swap('n')).rejects.toMatchObject({ code: 'slot.model_missing' })
    expect([slot.row().state, slot.row().model_id, starts(slot)]).toEqual(['ready', 'm', 1])
  })

  it('without persisting holds until the slot is unloaded', async () => {
    const slot = openActor({})
    void slot.swap('n')
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 2 })
    await slot.settle()
    await slot.unload()
    const loaded = slot.load()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 2 })
    expect((await loaded).model_id).toBe('m')
  })

  it('ends with a restart, which runs what the file binds', async () => {
    const slot = openActor({})
    void slot.swap('n')
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 2 })
    await slot.settle()
    expect(slot.row()).toMatchObject({ model_id: 'n', file_model_id: 'm' })
    const restarted = slot.restart()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 2 })
    expect((await restarted).model_id).toBe('m')
  })

  it('that comes to nothing leaves what the file binds', async () => {
    const slot = openActor({ brokenModel: 'bad' })
    await expect(slot.swap('bad')).rejects.toMatchObject({ code: 'slot.model_missing' })
    const loaded = slot.load()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 2 })
    expect((await loaded).model_id).toBe('m')
  })

  it('while another load runs ends that and loads this', async () => {
    const slot = openActor({})
    const first = slot.load()
    await slot.settle()
    const swapped = slot.swap('n')
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 2 })
    await slot.settle()
    expect([(await swapped).model_id, (await first).model_id, starts(slot)]).toEqual(['n', 'n', 2])
  })
})

describe('a slot that models share', () => {
  it('loads what the first request asks for', async () => {
    const slot = openActor({})
    const lease = slot.acquire({ modelId: 'n' })
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 2 })
    await lease
    expect(slot.row().model_id).toBe('n')
  })

  it('never cuts a request for another model; its callers queue behind that one', async () => {
    const slot = await openReadyActor()
    const first = await slot.acquire({ modelId: 'm' })
    const other = slot.acquire({ modelId: 'n' })
    const late = slot.acquire({ modelId: 'm' })
    await slot.settle()
    expect([slot.row().queued, slot.row().in_flight, starts(slot)]).toEqual([2, 1, 1])
    first.release()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 2 })
    const second = await other
    expect([first.revoked.aborted, slot.row().model_id, slot.row().queued]).toEqual([false, 'n', 1])
    second.release()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 2 })
    await late
    expect([slot.row().model_id, starts(slot)]).toEqual(['m', 3])
  })

  it('serves all that wait for a model in one turn (CASES 13)', async () => {
    const slot = await openReadyActor({ parallel: 4 })
    const holder = await slot.acquire({ modelId: 'm' })
    const wishes = ['n', 'm', 'o', 'm', 'n'].map((modelId) =>
      slot.acquire({ modelId }).then((lease) => lease.release()),
    )
    await slot.settle()
    holder.release()
    for (let turn = 0; turn < 3; turn++) {
      await slot.settle()
      slot.say({ kind: 'ready', parallel: 4 })
      await slot.settle()
    }
    await Promise.all(wishes)
    expect(starts(slot)).toBe(4)
  })

  it('goes on with the next model when one cannot be loaded', async () => {
    const slot = openActor({ brokenModel: 'bad' })
    const bad = slot.acquire({ modelId: 'bad' })
    const good = slot.acquire({ modelId: 'n' })
    await expect(bad).rejects.toThrow('no bad')
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 2 })
    expect((await good).slot).toBe('s')
    expect(slot.row().model_id).toBe('n')
  })

  it('bounds the wait for a turn', async () => {
    const slot = await openReadyActor()
    await slot.acquire({ modelId: 'm' })
    const other = slot.acquire({ modelId: 'n', waitMs: 5_000 })
    await slot.settle()
    await slot.clock.advance(5_000)
    await expect(other).rejects.toMatchObject({ code: 'slot.loading', message: expect.stringContaining('serves m') })
    expect(slot.row().state).toBe('serving')
  })

  it('says why a model that is loaded has to be waited for', async () => {
    const slot = await openReadyActor()
    await slot.acquire({ modelId: 'm' })
    slot.acquire({ modelId: 'n' }).catch(() => undefined)
    const late = slot.acquire({ modelId: 'm', waitMs: 5_000 })
    await slot.clock.advance(5_000)
    const message = expect.stringContaining('another model came first; m is loaded again')
    await expect(late).rejects.toMatchObject({ code: 'slot.loading', message })
  })
})

describe('files that change', () => {
  it('say what waits for a restart, and touch no process', async () => {
    const slot = await openReadyActor()
    const { pid } = slot.row()
    slot.setFiles('changed')
    expect(await slot.look()).toMatchObject({ state: 'ready', restart_needed: ['model'], pid })
    slot.setFiles('same')
    expect((await slot.look()).restart_needed).toEqual([])
  })

  it('that became wrong leave what runs alone, and say so', async () => {
    const slot = await openReadyActor()
    slot.setFiles(Hal0Error.of('config.invalid', 'line 3'))
    expect(await slot.look()).toMatchObject({ state: 'ready', config_problem: 'line 3' })
    await slot.acquire()
    slot.setFiles('same')
    expect((await slot.look()).config_problem).toBeNull()
  })

  it('that were mended take a failure away that was theirs', async () => {
    const slot = openActor({ brokenModel: 'm' })
    await slot.load().catch(() => undefined)
    expect(slot.row()).toMatchObject({ state: 'error', failure: { code: 'slot.model_missing' } })
    slot.broken.clear()
    expect(await slot.look()).toMatchObject({ state: 'offline', failure: null })
  })

  it('say nothing about another failure', async () => {
    const slot = openActor({})
    slot.failNextStart('no such program')
    await slot.load().catch(() => undefined)
    expect(await slot.look()).toMatchObject({ state: 'error', failure: { code: 'slot.spawn_failed' } })
  })
})
