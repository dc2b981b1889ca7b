import type { Clock } from '../../kernel/clock.ts'

/** A connection that brings no byte for so long is cut and made anew. */
export const STALL_MS = 60_000

export interface StallWatch {
  /** Something came. */
  touch(): void
  stop(): void
}

/** Calls `onStall` once when `touch` was not called for `STALL_MS`. One timer at a time, however often it is touched. */
export function watchStall(clock: Clock, onStall: () => void): StallWatch {
  let lastMs = clock.monotonicMs()
  const look = (): void => {
    const leftMs = lastMs + STALL_MS - clock.monotonicMs()
    if (leftMs <= 0) return onStall()
    cancel = clock.setTimer(leftMs, look)
  }
  let cancel = clock.setTimer(STALL_MS, look)
  return {
    touch: () => {
      lastMs = clock.monotonicMs()
    },
    stop: () => cancel(),
  }
}
