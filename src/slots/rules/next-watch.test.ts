import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Look, MAX_SILENT_LOOKS, nextWatch, WATCH_BEGIN } from './next-watch.ts'

const NOW_MS = 1_000_000

describe('one look at a live engine', () => {
  it.each<[string, number, Look, number | undefined, 'fine' | 'suspect' | 'dead', number]>([
    ['it answers', 0, 'alive', undefined, 'fine', 0],
    ['it answers again', 4, 'alive', undefined, 'fine', 0],
    ['it refuses', 0, 'refused', undefined, 'dead', 0],
    ['it refuses although bytes moved a moment ago', 0, 'refused', NOW_MS, 'dead', 0],
    ['hal0 could not look', 4, 'unseen', undefined, 'fine', 4],
    ['hal0 could not look, bytes moved now', 2, 'unseen', NOW_MS, 'fine', 2],
    ['silent for the first time', 0, 'silent', undefined, 'suspect', 1],
    ['silent for the fourth time', 3, 'silent', undefined, 'suspect', 4],
    ['silent for the fifth time', 4, 'silent', undefined, 'dead', 5],
    ['silent, bytes moved now', 4, 'silent', NOW_MS, 'fine', 0],
    ['silent, bytes moved 29.999 s ago', 4, 'silent', NOW_MS - 29_999, 'fine', 0],
    ['silent, bytes moved 30 s ago', 3, 'silent', NOW_MS - 30_000, 'suspect', 4],
    ['silent, bytes moved 30.001 s ago', 4, 'silent', NOW_MS - 30_001, 'dead', 5],
  ])('%s', (_name, silent, look, lastMovedMs, verdict, after) => {
    const next = nextWatch({ silent }, look, { nowMs: NOW_MS, lastMovedMs })
    expect(next).toMatchObject({ verdict, state: { silent: after } })
    expect(next.reason === '').toBe(verdict === 'fine')
  })

  it('says what it saw', () => {
    const reasonOf = (silent: number, look: Look) =>
      nextWatch({ silent }, look, { nowMs: NOW_MS, lastMovedMs: undefined }).reason
    expect(reasonOf(0, 'silent')).toBe('gave no sign of health, 1 time')
    expect(reasonOf(4, 'silent')).toBe('gave no sign of health, 5 times in a row')
    expect(reasonOf(0, 'refused')).toBe('refuses connections')
  })
})

describe('a history of looks', () => {
  const looks = fc.array(
    fc.record({ look: fc.constantFrom<Look>('alive', 'silent'), movedAgoMs: fc.option(fc.nat(60_000)) }),
    { maxLength: 40 },
  )

  it('kills only after five silent looks in a row while nothing moved', () => {
    fc.assert(
      fc.property(looks, (history) => {
        let state = WATCH_BEGIN
        let inRow = 0
        for (const { look, movedAgoMs } of history) {
          const lastMovedMs = movedAgoMs === null ? undefined : NOW_MS - movedAgoMs
          const next = nextWatch(state, look, { nowMs: NOW_MS, lastMovedMs })
          inRow = look === 'silent' && (movedAgoMs === null || movedAgoMs >= 30_000) ? inRow + 1 : 0
          expect(next.verdict === 'dead').toBe(inRow >= MAX_SILENT_LOOKS)
          if (next.verdict === 'dead') return
          state = next.state
        }
      }),
    )
  })
})
