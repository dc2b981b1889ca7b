import type { CancelTimer, Clock } from '../../kernel/clock.ts'

/** Calls once when nothing was seen for too long. */
export interface StallGuard {
  /** Something came; the first call starts the clock. */
  seen(): void
  /** Nothing can come now (we hold the sender back); the clock stops. */
  hold(): void
  /** It may come again; the clock starts anew. */
  go(): void
  stop(): void
}

/**
 * One timer that is re-armed only when it fires, so that a chunk costs no timer. Silence is counted from the last `seen` or `go`,
 * never before the first `seen`. `limitMs` 0 = no limit.
 */
export function createStallGuard(clock: Clock, limitMs: number, onStall: () => void): StallGuard {
  let lastMs = 0
  let started = false
  let held = false
  let cancel: CancelTimer | undefined

  const check = (): void => {
    cancel = undefined
    if (held) return
    const leftMs = lastMs + limitMs - clock.monotonicMs()
    if (leftMs <= 0) onStall()
    else cancel = clock.setTimer(leftMs, check)
  }
  const arm = (): void => {
    lastMs = clock.monotonicMs()
    cancel ??= clock.setTimer(limitMs, check)
  }
  return {
    seen() {
      if (limitMs === 0) return
      if (started) lastMs = clock.monotonicMs()
      else {
        started = true
        arm()
      }
    },
    hold() {
      held = true
    },
    go() {
      held = false
      if (started) arm()
    },
    stop() {
      held = true
      cancel?.()
      cancel = undefined
    },
  }
}
