import { describe, expect, it } from 'vitest'
import { createStubSlots } from '../../test/support/stub-slots.ts'
import { acquireArbitrated, type Doorkeeper, leaseArbitratedNow } from './arbitrated-lease.ts'

const endpoint = {
  origin: 'http://127.0.0.1:9',
  engineKey: undefined,
  alias: 'a',
  onClientAbort: 'abort',
  routes: [],
  enableThinking: undefined,
} as const
const { signal } = new AbortController()

function setUp(loadWaitMs?: number) {
  const slots = createStubSlots({ a: { endpoint } })
  const heard: string[] = []
  const arbiter: Doorkeeper = {
    async enter(slot) {
      heard.push(`enter ${slot}`)
      return { ...(loadWaitMs === undefined ? {} : { loadWaitMs }), leave: () => void heard.push('leave') }
    },
    enterNow: () => undefined,
  }
  return { slots, heard, arbiter }
}

describe('acquireArbitrated', () => {
  it.each([
    ['nothing of the wait is spent', undefined, 60_000, true, 60_000],
    ['what is left stands in place of the whole wait, also when it is longer', 90_000, 60_000, true, 90_000],
    ['what is left stands in place of the whole wait', 5_000, 60_000, true, 5_000],
    ['a client waits less', 90_000, 2_000, false, 2_000],
    ['a client would wait less than the whole, and less is left', 1_000, 2_000, false, 1_000],
    ['nothing is left', 0, 60_000, true, 0],
  ])('%s', async (_name, loadWaitMs, waitMs, isWholeWait, expected) => {
    const { slots, arbiter } = setUp(loadWaitMs)
    await acquireArbitrated(slots, arbiter, 'a', { signal, waitMs, isWholeWait })
    expect(slots.waits).toEqual([expected])
  })

  it('gives the pass with the lease', async () => {
    const { slots, heard, arbiter } = setUp()
    const { lease, pass } = await acquireArbitrated(slots, arbiter, 'a', { signal, waitMs: 1, isWholeWait: false })
    expect([lease.slot, lease.endpoint, heard]).toEqual(['a', endpoint, ['enter a']])
    pass?.leave()
    expect(heard).toEqual(['enter a', 'leave'])
  })

  it('the pass ends without a lease', async () => {
    const { slots, heard, arbiter } = setUp()
    const acquired = acquireArbitrated(slots, arbiter, 'gone', { signal, waitMs: 1, isWholeWait: false })
    await expect(acquired).rejects.toMatchObject({ code: 'slot.not_found' })
    expect(heard).toEqual(['enter gone', 'leave'])
  })

  it('who is not let in asks for no lease', async () => {
    const { slots } = setUp()
    const closed: Doorkeeper = { enter: () => Promise.reject(new Error('no')), enterNow: () => undefined }
    const acquired = acquireArbitrated(slots, closed, 'a', { signal, waitMs: 1, isWholeWait: false })
    await expect(acquired).rejects.toThrow('no')
    expect(slots.log).toEqual([])
  })

  it('without an arbiter it is a plain lease', async () => {
    const { slots } = setUp()
    await acquireArbitrated(slots, undefined, 'a', { signal, waitMs: 7, isWholeWait: true })
    expect(slots.waits).toEqual([7])
  })
})

describe('leaseArbitratedNow', () => {
  const open = (heard: string[]): Doorkeeper => ({
    enter: () => Promise.reject(new Error('not asked')),
    enterNow: (slot) => {
      heard.push(`enter ${slot}`)
      return { leave: () => void heard.push('leave') }
    },
  })

  it('gives both where neither needs a wait', () => {
    const { slots, heard } = setUp()
    const held = leaseArbitratedNow(slots, open(heard), 'a', undefined)
    expect([held?.lease.slot, heard]).toEqual(['a', ['enter a']])
  })

  it('gives the pass back where the slot needs one', () => {
    const { heard } = setUp()
    expect(leaseArbitratedNow({ leaseNow: () => undefined }, open(heard), 'a', undefined)).toBeUndefined()
    expect(heard).toEqual(['enter a', 'leave'])
  })

  it('takes no lease where the memory needs a wait', () => {
    const { slots, arbiter } = setUp()
    expect(leaseArbitratedNow(slots, arbiter, 'a', undefined)).toBeUndefined()
    expect(slots.log).toEqual([])
  })
})
