import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type IdleFacts, nextIdle } from './next-idle.ts'

const quiet: IdleFacts = {
  isQuiet: true,
  isIdle: false,
  quietSinceMs: 1_000,
  idleTimeoutMs: 300_000,
  unloadAfterMs: 600_000,
  isPinned: false,
}

describe('nextIdle', () => {
  it.each([
    ['in use', { isQuiet: false }, 9e9, 'none', undefined],
    ['quiet, not for long', {}, 1_000, 'none', 301_000],
    ['1 ms early', {}, 300_999, 'none', 301_000],
    ['idle', {}, 301_000, 'go_idle', 601_000],
    ['idle, kept', { unloadAfterMs: 0 }, 301_000, 'go_idle', undefined],
    ['idle already, 1 ms early', { isIdle: true }, 600_999, 'none', 601_000],
    ['unloaded', { isIdle: true }, 601_000, 'unload', undefined],
    ['pinned is never unloaded', { isIdle: true, isPinned: true }, 9e9, 'none', undefined],
    ['pinned goes idle', { isPinned: true }, 301_000, 'go_idle', undefined],
    ['unloaded before it would be idle', { unloadAfterMs: 1_000 }, 2_000, 'unload', undefined],
    ['the sooner of both is looked at', { unloadAfterMs: 1_000 }, 1_500, 'none', 2_000],
  ] as const)('%s', (_name, change, nowMs, action, reviewAtMs) => {
    expect(nextIdle({ ...quiet, ...change }, nowMs)).toMatchObject({ action, reviewAtMs })
  })

  it('reviewAtMs is honest: nothing changes before it, something happens at it', () => {
    const facts = fc.record({
      isQuiet: fc.constant(true),
      isIdle: fc.boolean(),
      quietSinceMs: fc.nat(10_000),
      idleTimeoutMs: fc.nat(10_000),
      unloadAfterMs: fc.nat(10_000),
      isPinned: fc.boolean(),
    })
    fc.assert(
      fc.property(facts, fc.nat(30_000), fc.nat(10_000), (of, nowMs, soonMs) => {
        const first = nextIdle(of, nowMs)
        if (first.action !== 'none') return
        const { reviewAtMs } = first
        if (reviewAtMs === undefined) {
          expect(nextIdle(of, nowMs + 1e9).action).toBe('none')
          return
        }
        expect(reviewAtMs).toBeGreaterThan(nowMs)
        expect(nextIdle(of, Math.min(nowMs + soonMs, reviewAtMs - 1)).action).toBe('none')
        expect(nextIdle(of, reviewAtMs).action).not.toBe('none')
      }),
    )
  })
})
