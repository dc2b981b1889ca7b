/**
 * Time as an effect, injected so that tests run on a manual clock (see test/support/manual-clock.ts).
 * Rules never take a Clock: they take `nowMs`.
 */
export interface Clock {
  /** Wall clock, epoch ms. May jump (suspend, NTP). */
  nowMs(): number
  /** Never runs backwards; only differences mean anything. */
  monotonicMs(): number
  /** Calls `fire` once after `delayMs`; the returned function cancels it and is harmless afterwards. */
  setTimer(delayMs: number, fire: () => void): CancelTimer
}

export type CancelTimer = () => void

/** setTimeout's own limit; a longer delay would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs, fire) {
    const timer = setTimeout(fire, Math.min(Math.max(0, delayMs), MAX_TIMER_MS))
    return () => clearTimeout(timer)
  },
}

/** Resolves after `delayMs`, or at once when `signal` aborts; never rejects. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.setTimer(delayMs, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}
