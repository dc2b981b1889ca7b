import { describe, expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../kernel/units.ts'
import { decideWebhookOutcome, GIVE_UP_AFTER_MS, nextDelivery } from './next-delivery.ts'

const reason = 'the webhook answered 500'
const failed = { kind: 'failed', reason } as const
const NOW_MS = Date.UTC(2026, 0, 2)

describe('nextDelivery', () => {
  it.each([
    [1, 10 * SECOND_MS],
    [2, 30 * SECOND_MS],
    [3, MINUTE_MS],
    [4, 5 * MINUTE_MS],
    [5, 15 * MINUTE_MS],
    [6, HOUR_MS],
    [7, HOUR_MS],
    [25, HOUR_MS],
  ])('after %i failed attempts waits %i ms', (attempts, delayMs) => {
    const next = nextDelivery({ outcome: failed, attempts, createdMs: NOW_MS, nowMs: NOW_MS })
    expect(next).toEqual({ kind: 'retry', atMs: NOW_MS + delayMs, reason })
  })

  it.each([
    ['the last try is at 24 h', 0, 'retry'],
    ['not a millisecond later', 1, 'give_up'],
  ])('%s', (_, lateMs, kind) => {
    const createdMs = NOW_MS + HOUR_MS - GIVE_UP_AFTER_MS - lateMs
    expect(nextDelivery({ outcome: failed, attempts: 9, createdMs, nowMs: NOW_MS })).toMatchObject({ kind, reason })
  })

  it('is over when it was taken, and when it was refused', () => {
    const rest = { attempts: 1, createdMs: NOW_MS, nowMs: NOW_MS }
    expect(nextDelivery({ outcome: { kind: 'sent' }, ...rest })).toEqual({ kind: 'done' })
    expect(nextDelivery({ outcome: { kind: 'refused', reason }, ...rest })).toEqual({ kind: 'give_up', reason })
  })
})

describe('decideWebhookOutcome', () => {
  it.each([
    [199, 'failed'],
    [200, 'sent'],
    [299, 'sent'],
    [300, 'failed'],
    [307, 'failed'],
    [399, 'failed'],
    [400, 'refused'],
    [404, 'refused'],
    [407, 'refused'],
    [408, 'failed'],
    [409, 'refused'],
    [410, 'refused'],
    [429, 'failed'],
    [499, 'refused'],
    [500, 'failed'],
    [503, 'failed'],
  ])('%i: %s', (status, kind) => {
    expect(decideWebhookOutcome(status).kind).toBe(kind)
  })
})
