import type { Clock } from '../kernel/clock.ts'

/** `sinceMs`: monotonic ms before which nothing of the answer was looked at; it is known at once, the answer comes when it comes. */
export interface Look<T> {
  readonly sinceMs: number
  readonly answer: Promise<T>
}

export interface FreshOptions<T> {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly look: () => Look<T>
  /** Nobody is given what was looked at longer than so before he asked. */
  readonly maxAgeMs: number
  /** False: an answer is shared only while it is on its way. */
  readonly reusesEnded: boolean
  /** For how long after this answer, which took `tookMs`, not to look again, whatever its age. 0 = no rest. */
  readonly restMs?: (answer: T, tookMs: number) => number
}

interface Shared<T> extends Look<T> {
  isRunning: boolean
  restUntilMs: number
}

/**
 * One question to the world whose answer is shared. At most one look runs and one waits for its turn, however many ask and however slow the
 * world is: who asks while one runs that is too old for him gets the next, which begins when that one has ended.
 */
export function createFreshAnswers<T>(options: FreshOptions<T>): () => Look<T> {
  const { clock, look, maxAgeMs, reusesEnded, restMs = () => 0 } = options
  let current: Shared<T> | undefined
  let next: Look<T> | undefined

  function begin(): Look<T> {
    const beganMs = clock.monotonicMs()
    const begun: Shared<T> = { ...look(), isRunning: true, restUntilMs: beganMs }
    current = begun
    begun.answer.then(
      (answer) => {
        const endedMs = clock.monotonicMs()
        begun.isRunning = false
        begun.restUntilMs = endedMs + restMs(answer, endedMs - beganMs)
      },
      // Those who asked are told; the next one looks again.
      () => {
        if (current === begun) current = undefined
      },
    )
    return begun
  }

  return () => {
    const nowMs = clock.monotonicMs()
    if (next !== undefined) return next
    if (current === undefined) return begin()
    const isFresh = nowMs - current.sinceMs <= maxAgeMs
    if (!current.isRunning) return (isFresh && reusesEnded) || nowMs < current.restUntilMs ? current : begin()
    if (isFresh) return current
    const beginNext = () => {
      next = undefined
      return begin().answer
    }
    next = { sinceMs: nowMs, answer: current.answer.then(beginNext, beginNext) }
    return next
  }
}
