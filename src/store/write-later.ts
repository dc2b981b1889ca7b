import type { CancelTimer, Clock } from '../kernel/clock.ts'
import { MINUTE_MS, SECOND_MS } from '../kernel/units.ts'

/** What waits is written together this long after the first of it. */
export const FLUSH_AFTER_MS = SECOND_MS
/** A disk that could not be written is tried again so much later; a file that was only busy is, after `FLUSH_AFTER_MS`. */
export const RETRY_AFTER_MS = MINUTE_MS

/** What becomes of a table's writes: told by the table, judged by the store. */
export interface WriteJudge {
  /** A write failed: may it be tried again at the next flush, only after a pause, or not in this life? */
  readonly onFailed: (thrown: unknown) => 'soon' | 'later' | 'never'
  readonly onWritten: () => void
}

export interface WriteLaterOptions extends WriteJudge {
  readonly clock: Clock
  /** Writes all that waits, or throws and leaves it waiting; false = there was nothing. */
  readonly write: () => boolean
}

/** Writes soon and together, off the path of whoever has something to write; tries again as the judge says. Never throws. */
export interface WriteLater {
  /** At most so much later; sooner where that was said before. */
  arm(delayMs: number): void
  flush(): void
  /** Writes for the last time. */
  close(): void
  /** Never again in this life: a write or a read found that out. */
  giveUp(): void
  /** Is it given up or closed? */
  readonly isOver: boolean
}

export function createWriteLater({ clock, write, onFailed, onWritten }: WriteLaterOptions): WriteLater {
  /** Armed for `dueMs`, monotonic. */
  let timer: { readonly dueMs: number; readonly cancel: CancelTimer } | undefined
  let notBeforeMs = Number.NEGATIVE_INFINITY
  let isOver = false

  function flush(): void {
    timer?.cancel()
    timer = undefined
    if (isOver) return
    try {
      if (write()) onWritten()
    } catch (thrown) {
      const again = onFailed(thrown)
      if (again === 'never') isOver = true
      else if (again === 'later') notBeforeMs = clock.monotonicMs() + RETRY_AFTER_MS
      arm(FLUSH_AFTER_MS)
    }
  }

  function arm(delayMs: number): void {
    if (isOver) return
    const nowMs = clock.monotonicMs()
    const dueMs = Math.max(nowMs + delayMs, notBeforeMs)
    if (timer !== undefined && timer.dueMs <= dueMs) return
    timer?.cancel()
    timer = { dueMs, cancel: clock.setTimer(dueMs - nowMs, flush) }
  }

  function giveUp(): void {
    isOver = true
    timer?.cancel()
    timer = undefined
  }

  return {
    arm,
    flush,
    giveUp,
    close() {
      flush()
      giveUp()
    },
    get isOver() {
      return isOver
    },
  }
}
