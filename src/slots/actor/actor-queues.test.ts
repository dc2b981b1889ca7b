import { describe, expect, it } from 'vitest'
import { type ActorHarness, openReadyActor as ready } from '../../../test/support/actor-harness.ts'
import type { Lease } from '../slots.ts'

/** Requests that are served one after the other; `order` is who was. */
function serveInTurn(slot: ActorHarness, order: string[]) {
  return (key: string | undefined, name = key ?? '-') =>
    slot
      .acquire(key === undefined ? {} : { key })
      .then((lease: Lease) => {
        order.push(name)
        lease.release()
      })
      .catch((cause: { code: string }) => void order.push(`${name} ${cause.code}`))
}

describe('a queue that keys share', () => {
  it('one key floods: the other’s first is next but one, and all are served', async () => {
    const slot = await ready({ parallel: 1 })
    const first = await slot.acquire({ key: 'a' })
    const order: string[] = []
    const send = serveInTurn(slot, order)
    const all = [...Array.from({ length: 50 }, () => send('a')), send('b'), send('b'), send(undefined)]
    first.release()
    await Promise.all(all)
    expect(order.slice(0, 7)).toEqual(['a', 'b', '-', 'a', 'b', 'a', 'a'])
    expect(order).toHaveLength(53)
    expect(slot.row()).toMatchObject({ in_flight: 0, queued: 0, state: 'ready' })
  })

  it('those who came before a claim are served in turn too, those after it not', async () => {
    const slot = await ready({ parallel: 1 })
    const first = await slot.acquire({ key: 'a' })
    const order: string[] = []
    const send = serveInTurn(slot, order)
    const before = [send('a'), send('a'), send('b')]
    const claim = slot.claim()
    void send('c')
    first.release()
    await Promise.all(before)
    expect(order).toEqual(['a', 'b', 'a'])
    await slot.settle()
    await expect(claim.gone).resolves.toBe('evicted')
  })

  it('within one turn of a model keys alternate, and the next model is loaded once', async () => {
    const slot = await ready({ parallel: 1 })
    const first = await slot.acquire({ key: 'a' })
    const order: string[] = []
    const ask = (key: string, modelId: string) =>
      slot.acquire({ key, modelId }).then((lease) => {
        order.push(`${key} ${modelId}`)
        lease.release()
      })
    const all = [ask('a', 'm'), ask('a', 'm'), ask('b', 'm'), ask('a', 'n'), ask('b', 'n'), ask('a', 'n')]
    first.release()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await Promise.all(all)
    expect(order).toEqual(['a m', 'b m', 'a m', 'b n', 'a n', 'a n'])
    expect(slot.engines()).toHaveLength(2)
  })
})

describe('a queue that is full', () => {
  it('makes room for a key that has fewer, at the cost of the newest of the one that has most', async () => {
    const slot = await ready({ parallel: 1, queueLimit: 3 })
    const first = await slot.acquire({ key: 'a' })
    const order: string[] = []
    const send = serveInTurn(slot, order)
    const all = [send('a', 'a1'), send('a', 'a2'), send('a', 'a3'), send('b', 'b1'), send('a', 'a4')]
    await slot.settle()
    expect(order).toEqual(['a3 dispatch.queue_full', 'a4 dispatch.queue_full'])
    expect(slot.row().queued).toBe(3)
    first.release()
    await Promise.all(all)
    expect(order.slice(2)).toEqual(['a1', 'b1', 'a2'])
  })

  it('tells the one who made room why', async () => {
    const slot = await ready({ parallel: 1, queueLimit: 2 })
    await slot.acquire({ key: 'a' })
    void slot.acquire({ key: 'a' })
    const newest = slot.acquire({ key: 'a' })
    void slot.acquire({ key: 'b' })
    await expect(newest).rejects.toMatchObject({
      code: 'dispatch.queue_full',
      message: expect.stringContaining('most of them are yours'),
      details: { slot: 's', queue_limit: 2 },
    })
  })

  it('says when to come again, by how long requests take', async () => {
    const slot = await ready({ parallel: 2, queueLimit: 4 })
    for (let i = 0; i < 3; i++) {
      const lease = await slot.acquire()
      await slot.clock.advance(10_000)
      lease.release()
    }
    const held = [await slot.acquire(), await slot.acquire()]
    for (let i = 0; i < 4; i++) void slot.acquire()
    await expect(slot.acquire()).rejects.toMatchObject({ code: 'dispatch.queue_full', retryAfterS: 20 })
    for (const lease of held) lease.release()
  })
})
