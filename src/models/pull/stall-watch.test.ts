import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { STALL_MS, watchStall } from './stall-watch.ts'

describe('watchStall', () => {
  const begin = () => {
    const clock = new ManualClock()
    let stalls = 0
    const watch = watchStall(clock, () => stalls++)
    return { clock, watch, stalls: () => stalls }
  }

  it('tells once, when nothing came for a minute', async () => {
    const { clock, stalls } = begin()
    await clock.advance(STALL_MS - 1)
    expect(stalls()).toBe(0)
    await clock.advance(1)
    expect(stalls()).toBe(1)
    await clock.advance(10 * STALL_MS)
    expect(stalls()).toBe(1)
    expect(clock.pendingTimers).toBe(0)
  })

  it('bears a link that brings a byte just in time, for hours', async () => {
    const { clock, watch, stalls } = begin()
    for (let n = 0; n < 100; n++) {
      await clock.advance(STALL_MS - 1)
      watch.touch()
    }
    expect(stalls()).toBe(0)
    await clock.advance(STALL_MS)
    expect(stalls()).toBe(1)
  })

  it('is silent once stopped', async () => {
    const { clock, watch, stalls } = begin()
    await clock.advance(STALL_MS / 2)
    watch.stop()
    expect(clock.pendingTimers).toBe(0)
    await clock.advance(STALL_MS)
    expect(stalls()).toBe(0)
  })
})
