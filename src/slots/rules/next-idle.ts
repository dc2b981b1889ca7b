/** What a slot is doing, as far as idling goes. All times monotonic ms. */
export interface IdleFacts {
  /** `ready` or `idle`, up with its model, without a lease or a waiter. False = somebody uses it, or there is nothing to idle. */
  readonly isQuiet: boolean
  readonly isIdle: boolean
  /** End of the last lease, or when it became ready, whichever is later. */
  readonly quietSinceMs: number
  readonly idleTimeoutMs: number
  /** 0 = never. */
  readonly unloadAfterMs: number
  readonly isPinned: boolean
}

export interface IdleDecision {
  readonly action: 'none' | 'go_idle' | 'unload'
  readonly reason: string
  /** When the answer may be another one; undefined = only when the facts change. */
  readonly reviewAtMs: number | undefined
}

/** Is it time for a quiet slot to be idle, or to give its memory back? Source: SPEC 7 "Idle". */
export function nextIdle(facts: IdleFacts, nowMs: number): IdleDecision {
  if (!facts.isQuiet) return { action: 'none', reason: 'in use or not up', reviewAtMs: undefined }
  const { quietSinceMs, unloadAfterMs, isPinned } = facts
  const unloadAtMs = unloadAfterMs > 0 && !isPinned ? quietSinceMs + unloadAfterMs : undefined
  if (unloadAtMs !== undefined && nowMs >= unloadAtMs) {
    return { action: 'unload', reason: `no request for ${unloadAfterMs / 1000} s`, reviewAtMs: undefined }
  }
  const idleAtMs = quietSinceMs + facts.idleTimeoutMs
  if (!facts.isIdle && nowMs >= idleAtMs) {
    return { action: 'go_idle', reason: `no request for ${facts.idleTimeoutMs / 1000} s`, reviewAtMs: unloadAtMs }
  }
  if (facts.isIdle) return { action: 'none', reason: 'idle already', reviewAtMs: unloadAtMs }
  return { action: 'none', reason: 'not quiet for long enough', reviewAtMs: Math.min(idleAtMs, unloadAtMs ?? idleAtMs) }
}
