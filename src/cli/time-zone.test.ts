import { describe, expect, it } from 'vitest'
import { createOutput } from './output.ts'
import { openZone } from './time-zone.ts'
import { readMinutes, timesIn } from './times.ts'

const output = createOutput({ json: true, stdout: process.stdout, stderr: process.stderr })

it.each([
  ['Europe/Berlni', 'Did you mean Europe/Berlin?'],
  ['Nowhere', 'Write one such as Europe/Berlin or UTC.'],
  ['+01:00', 'Write one such as Europe/Berlin or UTC.'],
  ['', 'Write one such as Europe/Berlin or UTC.'],
])('there is no zone %s', (name, remedy) => {
  expect(() => openZone(name)).toThrow(expect.objectContaining({ code: 'usage', remedy }))
})

it.each([
  ['UTC', '2026-07-01T00:00:00Z', 0],
  ['Europe/Berlin', '2026-03-29T00:59:59.999Z', 1],
  ['Europe/Berlin', '2026-03-29T01:00:00.000Z', 2],
  ['Asia/Kolkata', '2026-01-01T00:00:00.001Z', 5.5],
  ['America/New_York', '1969-12-31T23:59:59.999Z', -5],
])('%s at %s: %d h', (zone, iso, hours) => {
  expect(openZone(zone).offsetMs(new Date(iso).getTime())).toBe(hours * 3_600_000)
})

describe('times of a command line', () => {
  const times = timesIn(openZone('Europe/Berlin'), output)

  it('a mistake names the option, what was typed, and how times are written', () => {
    expect(() => times.read('--start', '2026-13-01')).toThrow(
      expect.objectContaining({
        message: '--start "2026-13-01": there is no month 13.',
        remedy: expect.stringContaining('tomorrow 9:00'),
      }),
    )
    expect(() => times.read('--start', 'soon')).toThrow('--start: "soon" is no time.')
    expect(() => readMinutes('--for', '2 hours')).toThrow('--for: "2 hours" is no length of time.')
    expect(readMinutes('--for', '90s')).toBe(1.5)
  })

  it.each([
    ['2026-03-29T10:00:00Z', '2026-03-28T23:00:00.000Z'],
    ['2026-10-25T10:00:00Z', '2026-10-24T22:00:00.000Z'],
    ['2026-12-23T23:00:00Z', '2026-12-23T23:00:00.000Z'],
    ['2026-12-23T22:59:59Z', '2026-12-22T23:00:00.000Z'],
  ])('the day of %s began at %s', (iso, expected) => {
    expect(new Date(times.startOfDay(new Date(iso).getTime())).toISOString()).toBe(expected)
  })
})
