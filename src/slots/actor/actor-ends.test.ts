import { describe, expect, it } from 'vitest'
import { openActor, openReadyActor as ready } from '../../../test/support/actor-harness.ts'
import { Hal0Error } from '../../kernel/errors.ts'

describe('unloading', () => {
  it('is immediate without leases', async () => {
    const slot = await ready()
    await expect(slot.unload()).resolves.toMatchObject({ state: 'offline', pid: null })
    expect(slot.states().slice(-2)).toEqual(['unloading', 'offline'])
    expect(slot.engine().stops).toEqual([20_000])
    expect(slot.gone).toHaveLength(1)
  })

  it('lets leases end first, gives no new ones, and passes through ready', async () => {
    const slot = await ready({ parallel: 4 })
    const lease = await slot.acquire()
    const unloaded = slot.unload(30_000)
    const late = slot.acquire()
    await slot.clock.advance(29_999)
    expect(slot.row()).toMatchObject({ state: 'serving', in_flight: 1, queued: 1 })
    expect(lease.revoked.aborted).toBe(false)
    lease.release()
    await expect(unloaded).resolves.toMatchObject({ state: expect.stringMatching(/offline|starting/) })
    expect(slot.states().slice(0, 8)).toEqual([
      'starting',
      'warming',
      'ready',
      'serving',
      'ready',
      'unloading',
      'offline',
      'starting',
    ])
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    expect((await late).attemptId).not.toBe(lease.attemptId)
  })

  it('revokes what is left at the deadline', async () => {
    const slot = await ready()
    const lease = await slot.acquire()
    const unloaded = slot.unload(1_000)
    await slot.clock.advance(1_000)
    expect(lease.revoked.reason).toMatchObject({ code: 'slot.unloading', retryAfterS: expect.any(Number) })
    await expect(unloaded).resolves.toMatchObject({ state: 'offline' })
  })

  it('cuts at once with drain 0, also when a patient unload came before', async () => {
    const slot = await ready()
    const lease = await slot.acquire()
    const patient = slot.unload(30_000)
    await slot.unload(0)
    expect(lease.revoked.aborted).toBe(true)
    await expect(patient).resolves.toMatchObject({ state: 'offline' })
    expect(slot.clock.pendingTimers).toBe(0)
  })

  it('answers terminate_timeout after 30 s while the stop goes on to offline', async () => {
    const slot = await ready({ knobs: { ignoresTerm: true }, stopGraceMs: 40_000 })
    const unloaded = slot.unload()
    await slot.clock.advance(30_000)
    await expect(unloaded).rejects.toMatchObject({ code: 'slot.terminate_timeout' })
    expect(slot.row().state).toBe('unloading')
    await slot.clock.advance(10_000)
    expect(slot.row().state).toBe('offline')
  })

  it('of a loading slot keeps its state until the process is gone, and tells those who wait', async () => {
    const slot = openActor({ knobs: { termDelayMs: 500 } })
    const person = slot.load()
    await slot.settle()
    const unloaded = slot.unload()
    await expect(person).rejects.toMatchObject({ code: 'slot.unloading' })
    expect(slot.row()).toMatchObject({ state: 'warming', message: 'stopping before it was ready' })
    await slot.clock.advance(500)
    await expect(unloaded).resolves.toMatchObject({ state: 'offline' })
    expect(slot.engine().isAlive).toBe(false)
  })

  it('fifty intended stops are no crash', async () => {
    const slot = openActor({})
    for (let i = 0; i < 50; i++) {
      const loaded = slot.load()
      await slot.settle()
      slot.say({ kind: 'ready', parallel: 1 })
      await loaded
      await slot.unload()
    }
    expect(slot.states()).not.toContain('error')
    expect(slot.engines().filter((engine) => engine.isAlive)).toEqual([])
    expect(slot.clock.pendingTimers).toBe(0)
  })
})

describe('restart', () => {
  it('never starts before the predecessor is dead', async () => {
    const slot = await ready({ knobs: { termDelayMs: 3_000 } })
    const restarted = slot.restart()
    await slot.clock.advance(2_999)
    expect(slot.engines()).toHaveLength(1)
    await slot.clock.advance(1)
    expect(slot.engines()).toHaveLength(2)
    slot.say({ kind: 'ready', parallel: 1 })
    await expect(restarted).resolves.toMatchObject({ state: 'ready', phases: { stop: 3_000 } })
  })

  it('works from error', async () => {
    const slot = openActor({})
    slot.failNextStart('broken')
    await expect(slot.load()).rejects.toThrow()
    const restarted = slot.restart()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await expect(restarted).resolves.toMatchObject({ state: 'ready' })
  })

  it('an unload that comes after it wins', async () => {
    const slot = await ready({ knobs: { termDelayMs: 1_000 } })
    const restarted = slot.restart()
    const unloaded = slot.unload()
    await slot.settle()
    await expect(restarted).rejects.toMatchObject({ code: 'slot.unloading' })
    await slot.clock.advance(1_000)
    await expect(unloaded).resolves.toMatchObject({ state: 'offline' })
    expect(slot.engines()).toHaveLength(1)
  })
})

describe('what the files say', () => {
  it('a load restarts a running slot once when its launch changed, after its leases', async () => {
    const slot = await ready()
    slot.setFiles('changed')
    const lease = await slot.acquire()
    const loads = [slot.load(), slot.load()]
    await slot.settle()
    expect(lease.revoked.aborted).toBe(false)
    lease.release()
    await slot.settle()
    slot.setFiles('same')
    slot.say({ kind: 'ready', parallel: 1 })
    await Promise.all(loads)
    await slot.load()
    expect(slot.engines().map((engine) => engine.isAlive)).toEqual([false, true])
  })

  it.each(['load', 'restart'] as const)('a %s with a mistake in the files costs no working engine', async (wish) => {
    const slot = await ready()
    slot.setFiles(Hal0Error.of('config.invalid', 'a mistake'))
    await expect(slot[wish]()).rejects.toMatchObject({ code: 'config.invalid' })
    expect(slot.row().state).toBe('ready')
    expect(slot.engines()).toHaveLength(1)
  })
})

describe('wishes that cross', () => {
  it('an unload during the stop of a retry is not undone by the retry', async () => {
    const slot = openActor({ knobs: { termDelayMs: 1_000 } })
    const person = slot.load()
    await slot.clock.advance(900_000)
    const unloaded = slot.unload()
    await slot.clock.advance(10_000)
    await expect(unloaded).resolves.toMatchObject({ state: 'offline' })
    await expect(person).rejects.toMatchObject({ code: 'slot.unloading' })
    expect(slot.engines()).toHaveLength(1)
  })

  it('a load asked for while a crash is being explained joins that load, and starts nothing', async () => {
    const slot = openActor({})
    const first = slot.load()
    await slot.settle()
    slot.engine().exit({ code: 3 })
    await Promise.resolve()
    const second = slot.load()
    await slot.clock.advance(2_000)
    await expect(first).rejects.toMatchObject({ code: 'slot.spawn_failed' })
    await expect(second).rejects.toMatchObject({ code: 'slot.spawn_failed' })
    expect(slot.engines()).toHaveLength(1)
    expect(slot.row().state).toBe('error')
  })

  it('an unload while a lost port is being explained is not undone by another try', async () => {
    const slot = openActor({})
    const person = slot.load()
    await slot.settle()
    slot.engine().exit({ code: 98 })
    await Promise.resolve()
    const unloaded = slot.unload(0)
    await slot.clock.advance(5_000)
    await expect(unloaded).resolves.toMatchObject({ state: 'offline' })
    await expect(person).rejects.toMatchObject({ code: 'slot.unloading' })
    expect(slot.engines()).toHaveLength(1)
  })

  it('an unload of what has crashed overtakes a load whose files were still being read', async () => {
    const slot = await ready()
    slot.holdFiles()
    const loaded = slot.load()
    slot.engine().exit({ code: 1 })
    await slot.clock.advance(5_000)
    await expect(slot.unload(0)).resolves.toMatchObject({ state: 'offline' })
    slot.setFiles('same')
    await expect(loaded).rejects.toMatchObject({ code: 'slot.unloading' })
    expect(slot.engines()).toHaveLength(1)
  })

  it('each caller of a stop that does not end waits its own 30 seconds', async () => {
    const slot = await ready({ knobs: { ignoresTerm: true }, stopGraceMs: 600_000 })
    const first = slot.unload()
    await slot.clock.advance(29_000)
    const second = slot.unload()
    await slot.clock.advance(1_000)
    await expect(first).rejects.toMatchObject({ code: 'slot.terminate_timeout' })
    await slot.clock.advance(28_999)
    expect(await Promise.race([second.catch(() => 'rejected'), slot.settle().then(() => 'waits')])).toBe('waits')
    await slot.clock.advance(1)
    await expect(second).rejects.toMatchObject({ code: 'slot.terminate_timeout' })
    const third = slot.unload()
    await slot.clock.advance(600_000)
    await expect(third).rejects.toMatchObject({ code: 'slot.terminate_timeout' })
    expect(slot.row().state).toBe('offline')
  })

  it('a slow load after a restart is not cut short by the limit on its stop', async () => {
    const slot = await ready()
    const restarted = slot.restart()
    await slot.clock.advance(120_000)
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.clock.advance(1_000)
    await expect(restarted).resolves.toMatchObject({ state: 'ready' })
  })

  it('an unload of a loading slot ends the wait of those who wait for that load', async () => {
    const slot = openActor({})
    const waiting = slot.acquire({ waitMs: 600_000 })
    await slot.settle()
    await expect(slot.unload(0)).resolves.toMatchObject({ state: 'offline' })
    await expect(waiting).rejects.toMatchObject({ code: 'slot.unloading' })
    expect(slot.engines()).toHaveLength(1)
  })

  it('an unload takes a failed slot offline, and forgets the failure', async () => {
    const slot = openActor({})
    slot.failNextStart('broken')
    await expect(slot.load()).rejects.toThrow()
    await expect(slot.unload()).resolves.toMatchObject({ state: 'offline', failure: null })
    expect(slot.states()).toEqual(['starting', 'error', 'offline'])
  })

  it('an unload whose engine crashes during the drain ends offline', async () => {
    const slot = await ready()
    await slot.acquire()
    const unloaded = slot.unload(30_000)
    slot.engine().exit({ code: 1 })
    await slot.clock.advance(5_000)
    await expect(unloaded).resolves.toMatchObject({ state: 'offline' })
    expect(slot.clock.pendingTimers).toBe(0)
  })

  it('tells the ready between serving and unloading, however short it was', async () => {
    const slot = await ready()
    const lease = await slot.acquire()
    await slot.clock.advance(300)
    const unloaded = slot.unload(30_000)
    await slot.clock.advance(100)
    lease.release()
    await unloaded
    const legal = slot.states().slice(2)
    expect(legal).toEqual(['ready', 'serving', 'ready', 'unloading', 'offline'])
  })

  it('a stop counts as part of a load only when the load waited for it', async () => {
    const slot = await ready({ knobs: { termDelayMs: 3_000 } })
    const unloaded = slot.unload()
    await slot.clock.advance(3_000)
    await unloaded
    await slot.clock.advance(3_600_000)
    const loaded = slot.load()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    expect((await loaded).phases).not.toHaveProperty('stop')
  })

  it('who waits behind a crash is told of the crash, not of an unload', async () => {
    const slot = await ready({ knobs: { leavesGrandchild: true, termDelayMs: 900 }, parallel: 1 })
    await slot.acquire()
    const waiting = slot.acquire({ waitMs: 500 })
    slot.engine().exit({ code: 1 })
    await slot.clock.advance(500)
    await expect(waiting).rejects.toMatchObject({ message: expect.stringContaining('crash') })
  })
})

describe('closing', () => {
  it('with the engine to be kept: an unload that comes after it still ends the engine', async () => {
    const slot = await ready()
    const lease = await slot.acquire()
    const closed = slot.close({ drainMs: 800, keepEngine: true })
    const unloaded = slot.unload(0)
    await slot.settle()
    expect(lease.revoked.aborted).toBe(true)
    await expect(unloaded).resolves.toMatchObject({ state: 'offline' })
    await closed
    expect(slot.engine().isAlive).toBe(false)
  })

  it('does not keep an engine that somebody asked to be stopped, and answers them', async () => {
    const slot = await ready()
    const lease = await slot.acquire()
    const unloaded = slot.unload(30_000)
    await slot.close({ drainMs: 0, keepEngine: true })
    expect(lease.revoked.aborted).toBe(true)
    await expect(unloaded).resolves.toMatchObject({ state: 'offline' })
    expect(slot.engine().isAlive).toBe(false)
  })

  it('stops the engine and refuses what comes', async () => {
    const slot = await ready()
    await slot.close({ drainMs: 0, keepEngine: false })
    await expect(slot.acquire()).rejects.toMatchObject({ code: 'slot.unloading' })
    await expect(slot.load()).rejects.toMatchObject({ code: 'slot.unloading' })
    expect(slot.engine().isAlive).toBe(false)
    expect(slot.clock.pendingTimers).toBe(0)
  })

  it('keeps the engine when asked to', async () => {
    const slot = await ready()
    await slot.close({ drainMs: 0, keepEngine: true })
    expect(slot.engine().isAlive).toBe(true)
    expect(slot.row().state).toBe('ready')
  })

  it('lets streams end, and a second close cuts them', async () => {
    const slot = await ready()
    const lease = await slot.acquire()
    const patient = slot.close({ drainMs: 30_000, keepEngine: false })
    await slot.clock.advance(1_000)
    expect(lease.revoked.aborted).toBe(false)
    await slot.close({ drainMs: 0, keepEngine: false })
    expect(lease.revoked.aborted).toBe(true)
    await patient
  })
})
