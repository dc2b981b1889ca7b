import { expect, it } from 'vitest'
import { queueRetryAfterS } from './queue-retry.ts'

it.each([
  ['nothing is known yet', { queued: 1024, parallel: 4, meanLeaseMs: undefined, loadMs: 0 }, 1],
  ['short requests', { queued: 8, parallel: 4, meanLeaseMs: 100, loadMs: 0 }, 1],
  ['those that wait, so many at once', { queued: 8, parallel: 4, meanLeaseMs: 5_000, loadMs: 0 }, 10],
  ['one at a time', { queued: 8, parallel: 1, meanLeaseMs: 5_000, loadMs: 0 }, 40],
  ['a part of a second counts whole', { queued: 1, parallel: 1, meanLeaseMs: 3_001, loadMs: 0 }, 4],
  ['a minute at the most', { queued: 1024, parallel: 1, meanLeaseMs: 30_000, loadMs: 0 }, 60],
  ['it still loads', { queued: 8, parallel: null, meanLeaseMs: 5_000, loadMs: 12_000 }, 12],
  ['the load is overdue', { queued: 8, parallel: null, meanLeaseMs: undefined, loadMs: -7_000 }, 1],
])('%s', (_name, queue, expected) => {
  expect(queueRetryAfterS(queue)).toBe(expected)
})
