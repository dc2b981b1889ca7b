import { describe, expect, it } from 'vitest'
import { ManualClock, settle } from '../../test/support/manual-clock.ts'
import { requestRecord } from '../../test/support/request-record.ts'
import type { RequestRecord, TokenUsage } from '../contract/request-record.ts'
import type { RequestReader } from '../contract/usage.ts'
import { silentLog } from '../kernel/log.ts'
import { createLedger, LOOK_AFTER_MS, LOOK_AT, PER_TURN } from './ledger.ts'

const USAGE: TokenUsage = { promptTokens: 1, completionTokens: 2, cachedTokens: null }

function make(...more: RequestReader[]) {
  const clock = new ManualClock()
  const batches: (readonly RequestRecord[])[] = []
  const usages: (TokenUsage | null)[] = []
  const complaints: string[] = []
  const reader: RequestReader = (records, told) => {
    batches.push(records)
    usages.push(...told)
  }
  const log = { ...silentLog, error: (_facts: object, message: string) => void complaints.push(message) }
  const ledger = createLedger(clock, [...more, reader], log)
  let n = 0
  const add = (count: number) => {
    for (let left = count; left > 0; left--) ledger.add(requestRecord({ requestId: `r${n++}` }))
  }
  const ids = () => batches.flat().map(({ requestId }) => requestId)
  return { clock, ledger, add, batches, usages, complaints, ids, sizes: () => batches.map(({ length }) => length) }
}

const names = (count: number) => Array.from({ length: count }, (_, n) => `r${n}`)

describe('requests that are over', () => {
  it('are looked at together, some time after the first, and never while they are added', async () => {
    const { clock, add, sizes, ids } = make()
    add(1)
    await clock.advance(LOOK_AFTER_MS - 1)
    add(2)
    expect(sizes()).toEqual([])
    await clock.advance(1)
    expect([sizes(), ids(), clock.pendingTimers]).toEqual([[3], names(3), 0])
    await clock.advance(LOOK_AFTER_MS)
    add(1)
    await clock.advance(LOOK_AFTER_MS)
    expect(sizes()).toEqual([3, 1])
  })

  it('are looked at sooner when there are many, in turns between which the loop is free', async () => {
    const { clock, add, batches, sizes, ids } = make()
    add(LOOK_AT)
    expect(batches).toEqual([])
    await settle()
    expect(sizes()).toEqual([PER_TURN])
    for (let turn = 0; turn < 10; turn++) await settle()
    expect([sizes(), ids(), clock.pendingTimers]).toEqual([
      Array.from({ length: LOOK_AT / PER_TURN }, () => PER_TURN),
      names(LOOK_AT),
      0,
    ])
  })

  it('keep their order when more come between two turns', async () => {
    const { clock, add, ids } = make()
    add(LOOK_AT + 1)
    for (let turn = 0; turn < 3; turn++) {
      await settle()
      add(PER_TURN)
    }
    await clock.advance(LOOK_AFTER_MS)
    for (let turn = 0; turn < 20; turn++) await settle()
    await clock.advance(LOOK_AFTER_MS)
    expect([ids(), clock.pendingTimers]).toEqual([names(LOOK_AT + 1 + 3 * PER_TURN), 0])
  })

  it('are all read at close; one that comes later is read at once', () => {
    const { clock, ledger, add, ids } = make()
    add(LOOK_AT + 5)
    ledger.close()
    expect([ids(), clock.pendingTimers]).toEqual([names(LOOK_AT + 5), 0])
    add(1)
    expect([ids(), clock.pendingTimers]).toEqual([names(LOOK_AT + 6), 0])
    ledger.close()
    expect(ids()).toHaveLength(LOOK_AT + 6)
  })

  it('are read once when they are flushed', async () => {
    const { clock, ledger, add, ids } = make()
    add(LOOK_AT)
    ledger.flush()
    ledger.flush()
    await clock.advance(LOOK_AFTER_MS)
    expect([ids(), clock.pendingTimers]).toEqual([names(LOOK_AT), 0])
  })
})

describe('readers', () => {
  it('one that throws does not stop the others', async () => {
    const { clock, add, sizes, complaints } = make(() => {
      throw new Error('broken')
    })
    add(2)
    await clock.advance(LOOK_AFTER_MS)
    expect([sizes(), complaints]).toEqual([[2], ['requests that are over could not be read']])
  })

  it('get the usage, which is read once for all; one that cannot be read is unknown', async () => {
    const { clock, ledger, usages, complaints } = make(() => {})
    let reads = 0
    const usage = () => {
      reads++
      return USAGE
    }
    ledger.add(requestRecord({ usage }))
    ledger.add(
      requestRecord({
        usage: () => {
          throw new Error('half a chunk')
        },
      }),
    )
    expect(reads).toBe(0)
    await clock.advance(LOOK_AFTER_MS)
    expect([usages, reads, complaints]).toEqual([[USAGE, null], 1, ['the usage of a request could not be read']])
  })
})
