import { describe, expect, it } from 'vitest'
import { HOUR_MS } from '../../kernel/units.ts'
import { BACKOFF_FIRST_MS } from '../rules/next-breaker.ts'
import { BreakerBook } from './breaker-book.ts'

const FAILED_AT_MS = 10 * HOUR_MS

describe('BreakerBook: a clock that was set back', () => {
  it.each(['decide', 'view'] as const)('first seen by %s: the cool-down ends once, by the new clock', (looker) => {
    const book = new BreakerBook([], () => {})
    book.failed('m', 'launch', FAILED_AT_MS)
    const setBackMs = FAILED_AT_MS - HOUR_MS
    if (looker === 'decide') expect(book.decide('m', setBackMs)).toMatchObject({ waitMs: BACKOFF_FIRST_MS })
    else expect(book.view('m', setBackMs, false)).toMatchObject({ retry_after_s: BACKOFF_FIRST_MS / 1_000 })
    expect(book.decide('m', setBackMs + 1_000)).toMatchObject({ kind: 'refuse', waitMs: BACKOFF_FIRST_MS - 1_000 })
    expect(book.decide('m', setBackMs + BACKOFF_FIRST_MS)).toMatchObject({ kind: 'start', failures: 1 })
  })

  it('a failure after that counts on', () => {
    const book = new BreakerBook([], () => {})
    book.failed('m', 'launch', FAILED_AT_MS)
    book.failed('m', 'launch', FAILED_AT_MS - HOUR_MS)
    expect(book.decide('m', FAILED_AT_MS - HOUR_MS)).toMatchObject({ failures: 2, waitMs: 2 * BACKOFF_FIRST_MS })
  })
})
