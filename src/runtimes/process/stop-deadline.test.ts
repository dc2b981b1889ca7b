import { expect, it } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { StopDeadline } from './stop-deadline.ts'

it('passes exactly at its time', async () => {
  const clock = new ManualClock()
  const deadline = new StopDeadline(clock, 100)
  await clock.advance(99)
  expect(deadline.hasPassed).toBe(false)
  await clock.advance(1)
  expect(deadline.hasPassed).toBe(true)
})

it('pauses no longer than to the deadline, and behind it as long as was asked', async () => {
  const clock = new ManualClock()
  const deadline = new StopDeadline(clock, 10)
  void deadline.pause(50)
  expect(clock.nextTimerInMs).toBe(10)
  await clock.advance(10)
  void deadline.pause(50)
  expect(clock.nextTimerInMs).toBe(50)
})

it('is shortened at once, never lengthened', async () => {
  const clock = new ManualClock()
  const deadline = new StopDeadline(clock, 1_000)
  const pause = deadline.pause(1_000)
  deadline.shorten(5)
  await pause
  expect(clock.pendingTimers).toBe(0)
  deadline.shorten(500)
  await clock.advance(5)
  expect(deadline.hasPassed).toBe(true)
})
