import type { Hal0Event, NewEvent } from '../contract/events.ts'

/** Open folds at a time; with more different errors in one window the oldest fold ends early. */
const MAX_FOLDS = 1_000

export interface Fold {
  readonly firstId: number
  readonly openedAtMs: number
  count: number
}

/** Which row an error belongs to: the one of the first identical error (type, source, message) within the window. */
export interface ErrorFolds {
  find(event: NewEvent, nowMs: number): Fold | undefined
  open(event: Hal0Event, nowMs: number): void
}

/** `windowMs` counts from the first occurrence, half-open: at `openedAtMs + windowMs` a new row begins. */
export function createErrorFolds(windowMs: number): ErrorFolds {
  /** In order of opening, so that what is over stands at the front. */
  const folds = new Map<string, Fold>()

  function isOver(fold: Fold, nowMs: number): boolean {
    // A clock that was set back ends the window too.
    return nowMs < fold.openedAtMs || nowMs >= fold.openedAtMs + windowMs
  }

  return {
    find(event, nowMs) {
      const fold = folds.get(keyOf(event))
      return fold === undefined || isOver(fold, nowMs) ? undefined : fold
    },
    open(event, nowMs) {
      for (const [key, fold] of folds) {
        if (folds.size < MAX_FOLDS && !isOver(fold, nowMs)) break
        folds.delete(key)
      }
      const key = keyOf(event)
      folds.delete(key)
      folds.set(key, { firstId: event.id, openedAtMs: nowMs, count: 1 })
    },
  }
}

function keyOf(event: NewEvent): string {
  return JSON.stringify([event.type, event.source, event.message])
}
