import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Repeat } from '../../contract/reservation.ts'
import { isoTime, MINUTE_MS } from '../../kernel/units.ts'
import { expandRepeat } from './expand-repeat.ts'

const BERLIN = 'Europe/Berlin'
const windowOf = (start: string, end: string) => ({ startMs: Date.parse(start), endMs: Date.parse(end) })

function expanded(start: string, end: string, repeat: Repeat, zone = BERLIN, minutes?: number) {
  const result = expandRepeat(windowOf(start, end), repeat, zone, minutes)
  if (!result.ok) return result.error.message
  const { windows, notes } = result.value
  return { windows: windows.map(({ startMs, endMs }) => [short(startMs), short(endMs)]), notes }
}

/** 2026-10-25T01:30:00.000Z → 10-25T01:30. */
const short = (ms: number) => isoTime(ms).slice(5, 16)

describe('the clock is put back: Europe/Berlin, 2026-10-25, 03:00 → 02:00', () => {
  it('weekly: the hour of the wall stays', () => {
    const weekly = expanded('2026-10-18T18:00:00+02:00', '2026-10-18T20:00:00+02:00', { every: 'week', count: 3 })
    expect(weekly).toEqual({
      windows: [
        ['10-18T16:00', '10-18T18:00'],
        ['10-25T17:00', '10-25T19:00'],
        ['11-01T17:00', '11-01T19:00'],
      ],
      notes: [],
    })
  })

  it('over the night: an hour longer, and it is said', () => {
    const nightly = expanded('2026-10-23T20:00:00Z', '2026-10-24T06:00:00Z', { every: 'day', count: 3 })
    expect(nightly).toEqual({
      windows: [
        ['10-23T20:00', '10-24T06:00'],
        ['10-24T20:00', '10-25T07:00'],
        ['10-25T21:00', '10-26T07:00'],
      ],
      notes: ['that of 2026-10-24 22:00 is 60 minutes longer than the others: the clock of Europe/Berlin changes'],
    })
  })

  it('whole days touch each other, given as minutes or as an end', () => {
    const days = [
      ['10-23T22:00', '10-24T22:00'],
      ['10-24T22:00', '10-25T23:00'],
      ['10-25T23:00', '10-26T23:00'],
    ]
    const repeat: Repeat = { every: 'day', count: 3 }
    expect(expanded('2026-10-23T22:00:00Z', '2026-10-24T22:00:00Z', repeat)).toMatchObject({ windows: days })
    expect(expanded('2026-10-23T22:00:00Z', '2026-10-24T22:00:00Z', repeat, BERLIN, 1_440)).toMatchObject({
      windows: days,
    })
  })

  it('an hour that comes twice: the first of both', () => {
    const windows = [
      ['10-24T00:30', '10-24T00:45'],
      ['10-25T00:30', '10-25T00:45'],
      ['10-26T01:30', '10-26T01:45'],
    ]
    expect(expanded('2026-10-24T00:30:00Z', '2026-10-24T00:45:00Z', { every: 'day', count: 3 })).toEqual({
      windows,
      notes: [],
    })
  })
})

describe('the clock is put forward: Europe/Berlin, 2026-03-29, 02:00 → 03:00', () => {
  it('weekly: the hour of the wall stays', () => {
    expect(expanded('2026-03-22T17:00:00Z', '2026-03-22T19:00:00Z', { every: 'week', count: 2 })).toMatchObject({
      windows: [
        ['03-22T17:00', '03-22T19:00'],
        ['03-29T16:00', '03-29T18:00'],
      ],
    })
  })

  it('over the night: an hour shorter, and it is said', () => {
    expect(expanded('2026-03-27T21:00:00Z', '2026-03-28T07:00:00Z', { every: 'day', count: 2 })).toEqual({
      windows: [
        ['03-27T21:00', '03-28T07:00'],
        ['03-28T21:00', '03-29T06:00'],
      ],
      notes: ['that of 2026-03-28 22:00 is 60 minutes shorter than the others: the clock of Europe/Berlin changes'],
    })
  })

  it.each([
    ['as it begins', '01:00', '03:00'],
    ['in the middle', '01:30', '03:30'],
  ])('an end in the hour that does not exist, %s: as long as the others, and it is said', (_, end, told) => {
    expect(expanded('2026-03-27T21:00:00Z', `2026-03-28T${end}:00Z`, { every: 'day', count: 2 })).toEqual({
      windows: [
        ['03-27T21:00', `03-28T${end}`],
        ['03-28T21:00', `03-29T${end}`],
      ],
      notes: [`that of 2026-03-28 22:00 ends at 2026-03-29 ${told}: the clock of Europe/Berlin changes`],
    })
  })

  it.each([
    ['the whole window moves forward', '01:30', '01:45', ['03-29T01:30', '03-29T01:45']],
    ['its end exists: it moves with the start', '01:30', '02:15', ['03-29T01:30', '03-29T02:15']],
  ])('an hour that does not exist: %s', (_, start, end, window) => {
    const result = expanded(`2026-03-28T${start}:00Z`, `2026-03-28T${end}:00Z`, { every: 'day', count: 2 })
    expect(result).toMatchObject({ windows: [expect.anything(), window] })
    expect(result).toMatchObject({
      notes: [expect.stringContaining('that of 2026-03-29 02:30 starts at 2026-03-29 03:30')],
    })
  })
})

describe('which days', () => {
  const monday = ['2026-01-05T10:00:00Z', '2026-01-05T11:00:00Z'] as const
  const days = (repeat: Repeat) => {
    const result = expanded(...monday, repeat, 'UTC')
    return typeof result === 'string' ? result : result.windows.map(([start]) => start?.slice(0, 5)).join(' ')
  }

  it.each<[string, Repeat, string]>([
    ['daily, so many', { every: 'day', count: 3 }, '01-05 01-06 01-07'],
    ['until, that day too', { every: 'day', until: '2026-01-07' }, '01-05 01-06 01-07'],
    ['until the first', { every: 'day', until: '2026-01-05' }, '01-05'],
    ['weekly', { every: 'week', until: '2026-01-19' }, '01-05 01-12 01-19'],
    ['on these days', { every: 'week', count: 4, days: ['wed', 'mon', 'wed'] }, '01-05 01-07 01-12 01-14'],
    ['the first is always one', { every: 'week', count: 3, days: ['tue'] }, '01-05 01-06 01-13'],
  ])('%s', (_, repeat, expected) => expect(days(repeat)).toBe(expected))

  it.each<[string, Repeat, string]>([
    ['until before the first', { every: 'day', until: '2026-01-04' }, 'repeat.until: 2026-01-04 is before'],
    ['days of a daily one', { every: 'day', count: 2, days: ['mon'] }, 'repeat.days'],
    ['more than a year of days', { every: 'day', until: '2027-01-06' }, 'more than 366'],
    ['for ever', { every: 'week', until: '9999-12-31' }, 'more than 366'],
  ])('refused: %s', (_, repeat, text) => expect(days(repeat)).toContain(text))

  it('a year of days is as many as there may be', () => {
    expect(days({ every: 'day', until: '2027-01-05' }).split(' ')).toHaveLength(366)
  })

  it('they must not overlap each other', () => {
    const long = expanded('2026-01-05T10:00:00Z', '2026-01-06T10:00:00.001Z', { every: 'day', count: 2 }, 'UTC')
    expect(long).toContain('they overlap each other')
  })
})

it('always: in order, none overlapping, the first as asked, each with the wall time of the first unless the clock jumps there', () => {
  const zones = fc.constantFrom('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'UTC')
  const startMs = fc.integer({ min: Date.UTC(2026, 0, 1) / MINUTE_MS, max: Date.UTC(2027, 0, 1) / MINUTE_MS })
  const repeats = fc.record({
    every: fc.constantFrom('day' as const, 'week' as const),
    count: fc.integer({ min: 2, max: 60 }),
  })
  fc.assert(
    fc.property(zones, startMs, fc.integer({ min: 1, max: 1_600 }), repeats, (zone, start, minutes, repeat) => {
      const first = { startMs: start * MINUTE_MS, endMs: (start + minutes) * MINUTE_MS }
      const result = expandRepeat(first, repeat, zone)
      if (!result.ok) {
        // Only what is about a day long, or longer, can overlap the next one.
        expect(minutes).toBeGreaterThan(23 * 60)
        return
      }
      const { windows, notes } = result.value
      expect([windows[0], windows.length]).toEqual([first, repeat.count])
      const wall = (ms: number) => new Intl.DateTimeFormat('en', { timeZone: zone, timeStyle: 'short' }).format(ms)
      let [odd, lastMs] = [0, Number.NEGATIVE_INFINITY]
      for (const { startMs: from, endMs: to } of windows) {
        expect(from).toBeGreaterThanOrEqual(lastMs)
        expect(to).toBeGreaterThan(from)
        lastMs = to
        if (wall(from) !== wall(first.startMs) || wall(to) !== wall(first.endMs)) odd++
      }
      expect(odd).toBeLessThanOrEqual(notes.length)
    }),
    { numRuns: 150 },
  )
})
