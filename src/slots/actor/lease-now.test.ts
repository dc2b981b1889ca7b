import { describe, expect, it } from 'vitest'
import { openActor, openReadyActor as ready } from '../../../test/support/actor-harness.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import type { Lease } from '../slots.ts'

const taken = (lease: Lease | undefined): Lease => {
  if (lease === undefined) throw new Error('no lease at once')
  return lease
}

describe('a lease at once', () => {
  it('counts as any other: row, state, use, and its release', async () => {
    const slot = await ready({ parallel: 1 })
    const lease = taken(slot.leaseNow())
    expect(lease.endpoint).toEqual((await ready({ parallel: 1 }).then((other) => other.acquire())).endpoint)
    expect(slot.row()).toMatchObject({ state: 'serving', in_flight: 1, last_used_at: null })
    lease.release('answered')
    lease.release()
    expect(slot.row()).toMatchObject({
      state: 'ready',
      in_flight: 0,
      last_used_at: new Date(slot.clock.nowMs()).toISOString(),
    })
  })

  it('wakes an idle slot, which is idle again on time', async () => {
    const slot = await ready({ parallel: 1 })
    await slot.clock.advance(300_000)
    expect([slot.view.state, slot.view.idle_reason]).toEqual(['idle', 'quiet'])
    taken(slot.leaseNow()).release()
    expect([slot.view.state, slot.view.idle_reason]).toEqual(['ready', null])
    await slot.clock.advance(299_999)
    expect(slot.view.state).toBe('ready')
    await slot.clock.advance(1)
    expect(slot.view.state).toBe('idle')
  })

  it('is for the model that is loaded, or for any', async () => {
    const slot = await ready({ parallel: 3 })
    expect([slot.leaseNow('m')?.slot, slot.leaseNow()?.slot, slot.leaseNow('n')]).toEqual(['s', 's', undefined])
    expect(slot.row()).toMatchObject({ in_flight: 2, queued: 0 })
  })

  it('is not given beyond the engine’s places, nor past those who wait', async () => {
    const slot = await ready({ parallel: 1 })
    const first = taken(slot.leaseNow())
    expect(slot.leaseNow()).toBeUndefined()
    const second = slot.acquire()
    const foreign = slot.acquire({ modelId: 'n' })
    first.release()
    const held = await second
    expect(slot.leaseNow()).toBeUndefined()
    held.release()
    // The place is free, and another model's turn is next.
    expect(slot.leaseNow()).toBeUndefined()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    expect((await foreign).slot).toBe('s')
  })

  it('is not given where nothing is up, and begins no load', async () => {
    const slot = openActor({})
    expect(slot.leaseNow()).toBeUndefined()
    await slot.settle()
    expect([slot.row().state, slot.engines()]).toEqual(['offline', []])
    void slot.load()
    await slot.settle()
    expect(slot.leaseNow()).toBeUndefined()
    slot.say({ kind: 'no_model' })
    await slot.settle()
    expect([slot.view.idle_reason, slot.leaseNow()]).toEqual(['no_model', undefined])
  })

  it('is not given while it drains, is claimed, or closes', async () => {
    const draining = await ready({ parallel: 2 })
    taken(draining.leaseNow())
    void draining.unload(30_000)
    expect(draining.leaseNow()).toBeUndefined()

    const claimed = await ready({ parallel: 2 })
    const lease = taken(claimed.leaseNow())
    const claim = claimed.claim()
    expect(claimed.leaseNow()).toBeUndefined()
    claim.giveUp()
    expect(claimed.leaseNow()?.slot).toBe('s')
    lease.release()

    const closing = await ready({ parallel: 2 })
    taken(closing.leaseNow())
    void closing.close({ drainMs: 1_000, keepEngine: false })
    expect(closing.leaseNow()).toBeUndefined()
  })

  it('is not given from inside a message: the slot is about to be otherwise', async () => {
    const seen: (Lease | undefined)[] = []
    const slot = await ready({
      parallel: 2,
      onEvent: ({ type, data }) => {
        if (type === 'slot.state' && data['to'] === 'unloading') seen.push(slot.leaseNow())
      },
    })
    void slot.unload(0)
    expect(seen).toEqual([undefined])
  })
})

describe('a lease that is taken back', () => {
  it('tells its holder once, at once if it is late, and the signal when somebody asks for one', async () => {
    const slot = await ready({ parallel: 3 })
    const [told, late, signalled] = [slot.leaseNow(), slot.leaseNow(), slot.leaseNow()].map(taken)
    const heard: (Hal0Error | undefined)[] = []
    told?.onRevoked(() => void heard.push(undefined))
    told?.onRevoked((reason) => void heard.push(reason))
    const signal = signalled?.revoked
    expect([told?.revokedFor, signal?.aborted]).toEqual([undefined, false])
    void slot.unload(0)
    expect(heard).toEqual([told?.revokedFor])
    expect(told?.revokedFor).toBeInstanceOf(Hal0Error)
    late?.onRevoked((reason) => void heard.push(reason))
    expect(heard).toEqual([told?.revokedFor, late?.revokedFor])
    expect([signal?.aborted, signal?.reason, late?.revoked.aborted]).toEqual([true, signalled?.revokedFor, true])
  })

  it('does not tell whoever took the listener away', async () => {
    const slot = await ready({ parallel: 1 })
    const lease = taken(slot.leaseNow())
    lease.onRevoked(() => {
      throw new Error('nobody listens')
    })
    lease.onRevoked(undefined)
    void slot.unload(0)
    expect(lease.revokedFor?.code).toBe('slot.unloading')
  })

  it('may be released while its holder is told', async () => {
    const slot = await ready({ parallel: 2 })
    for (const lease of [slot.leaseNow(), slot.leaseNow()].map(taken)) lease.onRevoked(() => lease.release())
    void slot.unload(0)
    await slot.settle()
    expect(slot.row()).toMatchObject({ in_flight: 0, state: 'offline' })
  })
})
