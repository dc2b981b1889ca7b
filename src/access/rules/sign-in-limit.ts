/** `[security]`, in ms. */
export interface SignInLimit {
  /** So many failed attempts within the window; then it waits. */
  readonly attempts: number
  readonly windowMs: number
}

export type SignInDecision = { readonly kind: 'go' } | { readonly kind: 'wait'; readonly untilMs: number }

/**
 * May this address, or this name, try once more? `failedAtMs`: when attempts began that failed or are not decided yet, oldest first (epoch ms); one
 * at t counts while now < t + window. Source: SPEC 14 "rate-limited".
 */
export function decideSignIn(failedAtMs: readonly number[], nowMs: number, limit: SignInLimit): SignInDecision {
  const counted = countedAttempts(failedAtMs, nowMs, limit)
  // The one whose going leaves room for one more.
  const blocking = counted.at(-limit.attempts)
  if (counted.length < limit.attempts || blocking === undefined) return { kind: 'go' }
  return { kind: 'wait', untilMs: blocking + limit.windowMs }
}

/** Those that still count. What lies in the future, because the clock was set back, does not: it could block for hours. */
export function countedAttempts(failedAtMs: readonly number[], nowMs: number, limit: SignInLimit): readonly number[] {
  return failedAtMs.filter((atMs) => atMs <= nowMs && nowMs < atMs + limit.windowMs)
}
