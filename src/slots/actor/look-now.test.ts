import { describe, expect, it } from 'vitest'
import { openActor, openReadyActor as ready } from '../../../test/support/actor-harness.ts'
import type { Lease } from '../slots.ts'

const taken = (lease: Lease | undefined): Lease => {
  if (lease === undefined) throw new Error('no look')
  return lease
}

describe('a look at the engine', () => {
  it('has no place and is no use: row and view stay as they are', async () => {
    const slot = await ready({ parallel: 1 })
    const held = taken(slot.leaseNow())
    const waiting = slot.acquire()
    const before = slot.row()
    const look = taken(slot.lookNow())
    expect([look.slot, look.attemptId, look.endpoint]).toEqual([held.slot, held.attemptId, held.endpoint])
    look.moved()
    look.release('answered')
    look.release()
    expect(slot.row()).toEqual(before)
    held.release()
    expect((await waiting).slot).toBe('s')
    expect(slot.row().in_flight).toBe(1)
  })

  it('keeps no slot from idling, and wakes none', async () => {
    const slot = await ready({ parallel: 1 })
    await slot.clock.advance(299_999)
    const look = taken(slot.lookNow())
    await slot.clock.advance(1)
    expect([slot.view.state, slot.view.idle_reason]).toEqual(['idle', 'quiet'])
    look.release()
    taken(slot.lookNow()).release()
    expect([slot.view.state, slot.view.lastUsedMs]).toEqual(['idle', 0])
  })

  it('holds up no stop, and hears of it once', async () => {
    const slot = await ready({ parallel: 1 })
    const [look, over] = [taken(slot.lookNow()), taken(slot.lookNow())]
    over.release()
    const heard: string[] = []
    over.onRevoked(() => void heard.push('over'))
    look.onRevoked(({ code }) => {
      heard.push(code)
      // Nothing is up any more: whoever looks again is told so.
      expect(slot.lookNow()).toBeUndefined()
    })
    void slot.unload(30_000)
    await slot.settle()
    expect([heard, slot.row().state]).toEqual([['slot.unloading'], 'offline'])
  })

  it('goes on while leases drain', async () => {
    const slot = await ready({ parallel: 1 })
    const held = taken(slot.leaseNow())
    const look = taken(slot.lookNow())
    void slot.unload(30_000)
    expect([look.revokedFor, slot.lookNow()?.slot]).toEqual([undefined, 's'])
    held.release()
    await slot.settle()
    expect(look.revokedFor?.code).toBe('slot.unloading')
  })

  it('ends with an engine that dies', async () => {
    const slot = await ready({ parallel: 1 })
    const look = taken(slot.lookNow())
    slot.engine().exit({ code: 3 })
    await slot.settle()
    expect(look.revokedFor).toMatchObject({
      code: 'slot.unloading',
      message: expect.stringContaining('crash') as string,
    })
  })

  it('is not to be had where nothing is up', async () => {
    const slot = openActor({})
    expect(slot.lookNow()).toBeUndefined()
    void slot.load()
    await slot.settle()
    expect(slot.lookNow()).toBeUndefined()
  })
})
