import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../kernel/units.ts'

/** Pause after the first failed attempt, the second, …; the last one counts for all that follow. */
export const RETRY_DELAYS_MS: readonly number[] = [
  10 * SECOND_MS,
  30 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
]
/** Nobody wants to hear of a booking later than this. */
export const GIVE_UP_AFTER_MS = 24 * HOUR_MS

/** What an attempt came to. `failed`: another one may succeed; `refused`: no other will. `reason` is for people, free of secrets. */
export type SendOutcome = { readonly kind: 'sent' } | { readonly kind: 'failed' | 'refused'; readonly reason: string }

/** What becomes of a delivery after an attempt. */
export type NextDelivery =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly atMs: number; readonly reason: string }
  | { readonly kind: 'give_up'; readonly reason: string }

export interface NextDeliveryQuestion {
  readonly outcome: SendOutcome
  /** Begun so far, this one too: ≥ 1. */
  readonly attempts: number
  /** When people were to be told, epoch ms. */
  readonly createdMs: number
  readonly nowMs: number
}

/** Is it tried again, and when? At 24 h old for the last time. Source: SPEC 13 "Notifications". */
export function nextDelivery({ outcome, attempts, createdMs, nowMs }: NextDeliveryQuestion): NextDelivery {
  if (outcome.kind === 'sent') return { kind: 'done' }
  const { reason } = outcome
  const delayMs = RETRY_DELAYS_MS[Math.min(attempts, RETRY_DELAYS_MS.length) - 1] ?? HOUR_MS
  const atMs = nowMs + delayMs
  if (outcome.kind === 'refused' || atMs > createdMs + GIVE_UP_AFTER_MS) return { kind: 'give_up', reason }
  return { kind: 'retry', atMs, reason }
}

/** What a webhook's answer means: 2xx is taken, other 4xx than 408 and 429 will not change, anything else may. Redirects are not followed. */
export function decideWebhookOutcome(status: number): SendOutcome {
  if (status >= 200 && status < 300) return { kind: 'sent' }
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429
  return { kind: isFinal ? 'refused' : 'failed', reason: `the webhook answered ${status}` }
}
