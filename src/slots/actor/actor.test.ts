import { describe, expect, it } from 'vitest'
import { type ActorHarness, openActor, openReadyActor as ready } from '../../../test/support/actor-harness.ts'

describe('loading', () => {
  it('goes offline → starting → warming → ready and records the phases', async () => {
    const slot = await ready()
    expect(slot.states()).toEqual(['starting', 'warming', 'ready'])
    expect(slot.row()).toMatchObject({ state: 'ready', parallel: 2, failure: null })
    expect(Object.keys(slot.row().phases ?? {})).toEqual(['spawn', 'warm'])
  })

  it('spawns once for fifty requests and two loads, and answers all', async () => {
    const slot = openActor({})
    const leases = Array.from({ length: 50 }, () => slot.acquire())
    const loads = [slot.load(), slot.load()]
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 50 })
    expect(new Set((await Promise.all(leases)).map((lease) => lease.attemptId)).size).toBe(1)
    await Promise.all(loads)
    expect(slot.engines()).toHaveLength(1)
  })

  it('is a no-op when it serves already', async () => {
    const slot = await ready()
    await expect(slot.load()).resolves.toMatchObject({ state: 'ready' })
    expect(slot.engines()).toHaveLength(1)
  })

  it('gives a waiter slot.loading with Retry-After when its wait is over, and goes on loading for the others', async () => {
    const slot = openActor({})
    const short = slot.acquire({ waitMs: 1_000 })
    const long = slot.acquire({ waitMs: 60_000 })
    await slot.clock.advance(1_000)
    await expect(short).rejects.toMatchObject({ code: 'slot.loading', retryAfterS: expect.any(Number) })
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    expect((await long).slot).toBe('s')
  })

  it('a waiter that leaves cancels nobody else’s load', async () => {
    const slot = openActor({})
    const leaving = new AbortController()
    const gone = slot.acquire({ signal: leaving.signal })
    const stays = slot.acquire()
    await slot.settle()
    leaving.abort(new Error('left'))
    await expect(gone).rejects.toThrow('left')
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    expect((await stays).slot).toBe('s')
    expect(slot.row()).toMatchObject({ in_flight: 1, queued: 0 })
  })

  it('fails all who wait with the decisive line when the engine exits, and leaves nothing behind', async () => {
    const slot = openActor({ knobs: { leavesGrandchild: true } })
    const [request, person] = [slot.acquire(), slot.load()]
    await slot.settle()
    slot.engine().exit({ code: 3 })
    await slot.settle()
    await expect(request).rejects.toMatchObject({
      code: 'slot.spawn_failed',
      message: expect.stringContaining('code 3'),
    })
    await expect(person).rejects.toMatchObject({ details: { line: 'decisive' } })
    await slot.clock.advance(2_000)
    expect(slot.row()).toMatchObject({ state: 'error', failure: { code: 'slot.spawn_failed', line: 'decisive' } })
    expect(slot.engine().isAlive).toBe(false)
  })

  it('says what is wrong when nothing can be spawned, and may be loaded again', async () => {
    const slot = openActor({})
    slot.failNextStart('no such program')
    await expect(slot.load()).rejects.toMatchObject({ code: 'slot.spawn_failed' })
    expect(slot.row().state).toBe('error')
    const again = slot.load()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await expect(again).resolves.toMatchObject({ state: 'ready', failure: null })
  })

  it('stays warming without a verdict, loads once more at the limit, and fails the second time', async () => {
    const slot = openActor({})
    const person = slot.load()
    await slot.clock.advance(180_000)
    expect(slot.row()).toMatchObject({ state: 'warming', message: 'no answer yet; still warming' })
    await slot.clock.advance(720_000)
    expect(slot.engines()).toHaveLength(2)
    expect(slot.engines()[0]?.isAlive).toBe(false)
    await slot.clock.advance(900_000)
    await expect(person).rejects.toMatchObject({ code: 'slot.health_failed' })
    await slot.clock.advance(30_000)
    expect(slot.row()).toMatchObject({ state: 'error', failure: { code: 'slot.health_failed' } })
    expect(slot.engines().map((engine) => engine.isAlive)).toEqual([false, false])
    expect(slot.clock.pendingTimers).toBe(0)
  })

  it.each([
    ['its engine finds it taken', (slot: ActorHarness) => slot.engine().exit({ code: 98 })],
    ['a stranger answers there', (slot: ActorHarness) => slot.say({ kind: 'stranger', reason: 'no key' })],
  ])('tries another port when hal0 chose it and %s', async (_name, lose) => {
    const slot = openActor({})
    const [person, request] = [slot.load(), slot.acquire()]
    await slot.settle()
    lose(slot)
    await slot.clock.advance(10)
    expect(slot.engines().map((engine) => engine.isAlive)).toEqual([false, true])
    const told = slot.events.filter(({ type }) => type === 'slot.port_taken').map(({ message }) => message)
    expect(told).toEqual([expect.stringMatching(/^port \d+ was taken meanwhile; trying another$/)])
    slot.say({ kind: 'ready', parallel: 1 })
    await expect(person).resolves.toMatchObject({ state: 'ready', failure: null })
    expect((await request).slot).toBe('s')
  })

  it('gives up a port that is lost again and again', async () => {
    const slot = openActor({})
    const person = slot.load()
    for (let i = 0; i < 6; i++) {
      await slot.clock.advance(10)
      slot.engine().exit({ code: 98 })
    }
    await slot.settle()
    await expect(person).rejects.toMatchObject({ code: 'slot.spawn_failed' })
    expect(slot.engines()).toHaveLength(6)
  })

  it('refuses a stranger on a port of the user’s own and stops its own engine', async () => {
    const slot = openActor({ port: 8081 })
    const person = slot.load()
    await slot.settle()
    slot.say({ kind: 'stranger', reason: 'it answers without the key' })
    await expect(person).rejects.toMatchObject({ code: 'slot.spawn_failed', message: expect.stringContaining('port') })
    await slot.settle()
    expect(slot.engine().isAlive).toBe(false)
    expect(slot.row().state).toBe('error')
  })

  it('without a model it is idle, not dispatchable, and becomes ready when the list fills', async () => {
    const slot = openActor({})
    const waiting = slot.acquire()
    await slot.settle()
    slot.say({ kind: 'no_model' })
    await expect(waiting).rejects.toMatchObject({ code: 'slot.not_ready', message: expect.stringContaining('m') })
    expect(slot.row().state).toBe('idle')
    await expect(slot.acquire()).rejects.toMatchObject({ code: 'slot.not_ready' })
    await slot.clock.advance(1_000)
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.clock.advance(1_000)
    expect((await slot.acquire()).slot).toBe('s')
    expect(slot.engines()).toHaveLength(1)
  })
})

describe('leases', () => {
  it('queues in order beyond the engine’s places, and a place that comes free is given at once', async () => {
    const slot = await ready({ parallel: 1 })
    const first = await slot.acquire()
    const order: string[] = []
    const second = slot.acquire().then((lease) => (order.push('second'), lease))
    const third = slot.acquire().then((lease) => (order.push('third'), lease))
    await slot.settle()
    expect(slot.row()).toMatchObject({ state: 'serving', in_flight: 1, queued: 2 })
    first.release()
    const two = await second
    expect(order).toEqual(['second'])
    two.release()
    ;(await third).release()
    expect(slot.row()).toMatchObject({ state: 'ready', in_flight: 0, queued: 0 })
  })

  it('waits for a place longer than for a load', async () => {
    const slot = await ready({ parallel: 1 })
    const first = await slot.acquire()
    const second = slot.acquire({ waitMs: 1_000 })
    await slot.clock.advance(3_600_000)
    first.release()
    expect((await second).slot).toBe('s')
  })

  it('takes a released lease once', async () => {
    const slot = await ready({ parallel: 1 })
    const [one, two] = [await slot.acquire(), slot.acquire()]
    one.release()
    one.release()
    await two
    one.release()
    expect(slot.row()).toMatchObject({ in_flight: 1 })
  })

  it('refuses beyond the queue’s limit with Retry-After; who leaves makes room', async () => {
    const slot = await ready({ parallel: 1, queueLimit: 1 })
    await slot.acquire()
    const leaving = new AbortController()
    const queued = slot.acquire({ signal: leaving.signal })
    await expect(slot.acquire()).rejects.toMatchObject({ code: 'dispatch.queue_full', retryAfterS: 1 })
    leaving.abort(new Error('left'))
    await expect(queued).rejects.toThrow('left')
    void slot.acquire()
    expect(slot.row().queued).toBe(1)
  })

  it('revokes them when the engine dies; those that only waited for a place hear when it may be started again', async () => {
    const slot = await ready({ parallel: 1 })
    const lease = await slot.acquire()
    const queued = slot.acquire()
    await slot.clock.advance(300)
    slot.engine().exit({ signal: 'SIGSEGV' })
    await slot.settle()
    expect(lease.revoked.aborted).toBe(true)
    expect(lease.revoked.reason).toMatchObject({ code: 'dispatch.upstream_unavailable' })
    lease.release()
    await slot.clock.advance(10)
    await expect(queued).rejects.toMatchObject({ code: 'slot.crash_looping', retryAfterS: 5 })
    await slot.clock.advance(5_000)
    const later = slot.acquire()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    expect((await later).attemptId).not.toBe(lease.attemptId)
    await slot.clock.advance(300)
    expect(slot.states()).toEqual([
      'starting',
      'warming',
      'ready',
      'serving',
      'error',
      'starting',
      'warming',
      'ready',
      'serving',
    ])
  })
})

describe('serving and ready', () => {
  it('are told at once when they last, and once for a burst', async () => {
    const slot = await ready({ parallel: 1 })
    const timersBefore = slot.clock.pendingTimers
    for (let i = 0; i < 1_000; i++) (await slot.acquire()).release()
    expect(slot.states()).toEqual(['starting', 'warming', 'ready'])
    const lease = await slot.acquire()
    expect(slot.row().state).toBe('serving')
    await slot.clock.advance(250)
    expect(slot.states()).toEqual(['starting', 'warming', 'ready', 'serving'])
    lease.release()
    await slot.clock.advance(250)
    expect(slot.states()).toEqual(['starting', 'warming', 'ready', 'serving', 'ready'])
    expect(slot.clock.pendingTimers).toBe(timersBefore)
  })
})
