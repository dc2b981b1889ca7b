import { describe, expect, it } from 'vitest'
import { sleep } from '../../kernel/clock.ts'
import { SimulatedClock } from './simulated-clock.ts'

const START_MS = Date.UTC(2026, 11, 1)

describe('SimulatedClock', () => {
  it('fires by time, then by the order of setting; what one timer sets in motion happens before the next', async () => {
    const clock = new SimulatedClock(START_MS)
    const told: string[] = []
    const tell = (what: string) => told.push(`${what} ${clock.nowMs() - START_MS}`)
    clock.setTimer(20, () => tell('late'))
    clock.setTimer(10, () => void sleep(clock, 0).then(() => tell('chained')))
    clock.setTimer(10, () => tell('second'))
    clock.setTimer(5, () => tell('first'))
    const cancel = clock.setTimer(7, () => tell('cancelled'))
    cancel()
    await clock.runUntil(START_MS + 19)
    expect(told).toEqual(['first 5', 'second 10', 'chained 10'])
    expect(clock.nowMs()).toBe(START_MS + 19)
    await clock.runUntil(START_MS + 20)
    expect(told.at(-1)).toBe('late 20')
  })

  it('a jump moves the wall clock only', async () => {
    const clock = new SimulatedClock(START_MS)
    let firedMs: number | undefined
    clock.setTimer(100, () => {
      firedMs = clock.monotonicMs()
    })
    clock.jump(1_000)
    expect(clock.nowMs()).toBe(START_MS + 1_000)
    // A moment that has passed is now: nothing is due yet.
    await clock.runUntil(START_MS + 500)
    expect(firedMs).toBeUndefined()
    await clock.runUntil(START_MS + 1_100)
    expect(firedMs).toBe(100)
  })
})
