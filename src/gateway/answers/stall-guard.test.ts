import { expect, it } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { createStallGuard } from './stall-guard.ts'

function guarded(limitMs = 300) {
  const clock = new ManualClock()
  let stalls = 0
  const guard = createStallGuard(clock, limitMs, () => {
    stalls++
  })
  return {
    guard,
    stalls: () => stalls,
    advance: (byMs: number) => clock.advance(byMs),
    timers: () => clock.pendingTimers,
  }
}

it('has no limit before the first byte', async () => {
  const t = guarded()
  await t.advance(10_000)
  expect(t.stalls()).toBe(0)
})

it('counts from the last byte, to the millisecond', async () => {
  const t = guarded()
  t.guard.seen()
  await t.advance(200)
  t.guard.seen()
  await t.advance(299)
  expect(t.stalls()).toBe(0)
  await t.advance(1)
  expect(t.stalls()).toBe(1)
})

it('does not count while the sender is held back', async () => {
  const t = guarded()
  t.guard.seen()
  t.guard.hold()
  await t.advance(10_000)
  t.guard.go()
  await t.advance(299)
  expect(t.stalls()).toBe(0)
  await t.advance(1)
  expect(t.stalls()).toBe(1)
})

it('keeps one timer however many bytes come, and none after the end', async () => {
  const t = guarded()
  for (let i = 0; i < 100; i++) t.guard.seen()
  expect(t.timers()).toBe(1)
  t.guard.stop()
  expect(t.timers()).toBe(0)
})

it('has no limit when the limit is 0', async () => {
  const t = guarded(0)
  t.guard.seen()
  t.guard.go()
  await t.advance(10_000)
  expect(t.stalls()).toBe(0)
})
