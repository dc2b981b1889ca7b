import { describe, expect, it } from 'vitest'
import { laneLimitsSchema } from '../../contract/lane-config.ts'
import { HOUR_MS, MINUTE_MS } from '../../kernel/units.ts'
import { checkLimits, type LimitQuestion, weeksAround } from './booking-limits.ts'

const DAY_MS = 24 * HOUR_MS
/** A Thursday. */
const NOW = Date.UTC(2026, 0, 1)
const windowOf = (startMs: number, lengthMs: number) => ({ startMs, endMs: startMs + lengthMs })

function broken(more: Partial<LimitQuestion> & { readonly file?: Record<string, number> }): string[] {
  const question: LimitQuestion = {
    nowMs: NOW,
    limits: laneLimitsSchema.parse(more.file ?? {}),
    allowExclusive: false,
    isExclusive: false,
    windows: [windowOf(NOW, HOUR_MS)],
    added: 1,
    open: 0,
    zone: 'UTC',
    others: [],
    ...more,
  }
  return checkLimits(question).map(({ limit }) => limit)
}

describe('boundaries', () => {
  it.each<[string, Parameters<typeof broken>[0], string[]]>([
    ['min_minutes', { windows: [windowOf(NOW, 15 * MINUTE_MS)] }, []],
    ['min_minutes, 1 ms less', { windows: [windowOf(NOW, 15 * MINUTE_MS - 1)] }, ['min_minutes']],
    ['max_hours', { windows: [windowOf(NOW, DAY_MS)] }, []],
    ['max_hours, 1 ms more', { windows: [windowOf(NOW, DAY_MS + 1)] }, ['max_hours']],
    ['max_days_ahead', { windows: [windowOf(NOW + 30 * DAY_MS, HOUR_MS)] }, []],
    ['max_days_ahead, 1 ms more', { windows: [windowOf(NOW + 30 * DAY_MS + 1, HOUR_MS)] }, ['max_days_ahead']],
    ['max_open_per_user', { open: 4 }, []],
    ['max_open_per_user, one more', { open: 5 }, ['max_open_per_user']],
    ['a change opens none', { open: 9, added: 0 }, []],
    ['a series counts whole', { open: 0, added: 6 }, ['max_open_per_user']],
    ['exclusive', { isExclusive: true }, ['allow_exclusive']],
    ['exclusive where it is allowed', { isExclusive: true, allowExclusive: true }, []],
    [
      'all that are broken',
      { isExclusive: true, open: 5, windows: [windowOf(NOW, 1)] },
      ['allow_exclusive', 'min_minutes', 'max_open_per_user'],
    ],
    [
      'far too long: no weeks are counted',
      { file: { max_hours_per_week: 1 }, windows: [windowOf(NOW, 1e13)] },
      ['max_hours'],
    ],
  ])('%s', (_, question, expected) => expect(broken(question)).toEqual(expected))
})

describe('what is told', () => {
  it.each([
    ['what is too short', 9.9743 * MINUTE_MS, {}, '15 minutes at least; this is 9.9 minutes'],
    ['what is hardly too short', 15 * MINUTE_MS - 1, {}, '15 minutes at least; this is 14.9 minutes'],
    ['one minute', MINUTE_MS, {}, '15 minutes at least; this is 1 minute'],
    ['what is too long', DAY_MS + 1, {}, '24 hours at most; this is 24.1 hours'],
    ['a sum of fractions', 1.1 * HOUR_MS, { max_hours: 1 }, '1 hour at most; this is 1.1 hours'],
  ])('of %s is rounded, never to what is allowed', (_, lengthMs, file, message) => {
    const [told] = checkLimits({
      ...{ nowMs: NOW, limits: laneLimitsSchema.parse(file), allowExclusive: false, isExclusive: false },
      ...{ windows: [windowOf(NOW, lengthMs)], added: 1, open: 0, zone: 'UTC', others: [] },
    })
    expect(told?.message).toBe(message)
  })
})

describe('max_hours_per_week', () => {
  const file = { max_hours_per_week: 10 }
  const sunday = Date.UTC(2026, 0, 4)
  const monday = sunday + DAY_MS

  it.each<[string, Parameters<typeof broken>[0], boolean]>([
    ['as many as allowed', { windows: [windowOf(NOW, 10 * HOUR_MS)] }, false],
    ['1 ms more', { windows: [windowOf(NOW, 10 * HOUR_MS + 1)] }, true],
    ['with what is there', { windows: [windowOf(NOW, HOUR_MS)], others: [windowOf(sunday, 9 * HOUR_MS)] }, false],
    [
      'with what is there, 1 ms more',
      { windows: [windowOf(NOW, HOUR_MS + 1)], others: [windowOf(sunday, 9 * HOUR_MS)] },
      true,
    ],
    ['of another week', { windows: [windowOf(NOW, 9 * HOUR_MS)], others: [windowOf(monday, 9 * HOUR_MS)] }, false],
    ['over the end of a week each has its part', { windows: [windowOf(monday - 10 * HOUR_MS, 20 * HOUR_MS)] }, false],
    ['and no more', { windows: [windowOf(monday - 10 * HOUR_MS, 20 * HOUR_MS + 1)] }, true],
    ['weeks of a zone', { zone: 'Europe/Berlin', windows: [windowOf(monday - 11 * HOUR_MS, 20 * HOUR_MS)] }, false],
    ['which begin there', { zone: 'Europe/Berlin', windows: [windowOf(monday - 10 * HOUR_MS, 20 * HOUR_MS)] }, true],
    [
      'each of a series',
      { windows: [windowOf(monday, 9 * HOUR_MS), windowOf(monday + 7 * DAY_MS, 11 * HOUR_MS)] },
      true,
    ],
  ])('%s', (_, question, isBroken) => {
    expect(broken({ file, ...question })).toEqual(isBroken ? ['max_hours_per_week'] : [])
  })

  it('a week over the change of the clock has an hour more', () => {
    const around = weeksAround([windowOf(Date.UTC(2026, 9, 21), 1)], 'Europe/Berlin')
    expect(around).toEqual(windowOf(Date.UTC(2026, 9, 18, 22), 7 * DAY_MS + HOUR_MS))
  })
})
