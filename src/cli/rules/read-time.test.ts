import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openZone } from '../time-zone.ts'
import { readTime } from './read-time.ts'
import { instantsOf, wallOf } from './zone.ts'

const berlin = openZone('Europe/Berlin')
const NOW = '2026-12-23T14:30:00Z' // 15:30 in Berlin
const ms = (iso: string) => new Date(iso).getTime()

function read(text: string, options: { readonly now?: string; readonly from?: string; readonly zone?: string } = {}) {
  const nowMs = ms(options.now ?? NOW)
  const zone = options.zone === undefined ? berlin : openZone(options.zone)
  const result = readTime(text, { nowMs, zone, fromMs: options.from === undefined ? nowMs : ms(options.from) })
  return result.ok ? new Date(result.value.ms).toISOString().replace('.000Z', 'Z') : result.error
}

describe('a time as people type it', () => {
  it.each([
    ['now', NOW],
    ['+30m', '2026-12-23T15:00:00Z'],
    ['+1h30m', '2026-12-23T16:00:00Z'],
    ['-1d', '2026-12-22T14:30:00Z'],
    ['2026-12-24T18:00:00Z', '2026-12-24T18:00:00Z'],
    ['2026-12-24T18:00Z', '2026-12-24T18:00:00Z'],
    ['2026-12-24t18:00z', '2026-12-24T18:00:00Z'],
    ['2026-12-24T18:00:00.25Z', '2026-12-24T18:00:00.250Z'],
    ['2026-12-24T18:00+05:30', '2026-12-24T12:30:00Z'],
    ['2026-12-24T18:00-0800', '2026-12-25T02:00:00Z'],
    ['2026-12-24T18:00', '2026-12-24T17:00:00Z'],
    ['2026-12-24 18:00:30', '2026-12-24T17:00:30Z'],
    ['2026-07-01T18:00', '2026-07-01T16:00:00Z'],
    ['2026-12-24', '2026-12-23T23:00:00Z'],
    ['2028-02-29T12:00', '2028-02-29T11:00:00Z'],
    ['18:00', '2026-12-23T17:00:00Z'],
    ['9:00', '2026-12-24T08:00:00Z'],
    ['today 9:00', '2026-12-23T08:00:00Z'],
    ['Tomorrow 9:00', '2026-12-24T08:00:00Z'],
    ['tomorrow', '2026-12-23T23:00:00Z'],
    ['yesterday 23:59', '2026-12-22T22:59:00Z'],
    // It is a Wednesday.
    ['wed 15:30', '2026-12-23T14:30:00Z'],
    ['Wednesday 15:29', '2026-12-30T14:29:00Z'],
    ['thu 19:00', '2026-12-24T18:00:00Z'],
    ['mon 19:00', '2026-12-28T18:00:00Z'],
    ['monday  9:00', '2026-12-28T08:00:00Z'],
    ['TUE', '2026-12-28T23:00:00Z'],
    ['wed', '2026-12-29T23:00:00Z'],
    ['  18:00 ', '2026-12-23T17:00:00Z'],
  ])('%s', (text, expected) => {
    expect(read(text)).toBe(expected)
  })

  it.each([
    ['2026-12-23T17:00:00.000Z', '2026-12-23T17:00:00Z'],
    ['2026-12-23T17:00:00.001Z', '2026-12-24T17:00:00Z'],
    ['2026-12-23T16:59:59.999Z', '2026-12-23T17:00:00Z'],
  ])('a bare 18:00 from %s on', (from, expected) => {
    expect(read('18:00', { from })).toBe(expected)
  })

  it.each([
    ['2026-12-28T18:00:00.000Z', '2026-12-28T18:00:00Z'],
    ['2026-12-28T18:00:00.001Z', '2027-01-04T18:00:00Z'],
    ['2026-12-28T17:59:59.999Z', '2026-12-28T18:00:00Z'],
  ])('mon 19:00 from %s on', (from, expected) => {
    expect(read('mon 19:00', { from })).toBe(expected)
  })

  it.each([
    ['mon 24:00', 'there is no hour 24'],
    ['mond 9:00', '"mond 9:00" is no time'],
    ['mon9:00', '"mon9:00" is no time'],
    ['', '"" is no time'],
    ['soon', '"soon" is no time'],
    ['18', '"18" is no time'],
    ['18:0', '"18:0" is no time'],
    ['24:00', 'there is no hour 24'],
    ['18:60', 'there is no minute 60'],
    ['18:00:61', 'there is no second 61'],
    ['2026-13-01T10:00', 'there is no month 13'],
    ['2026-00-01', 'there is no month 00'],
    ['2026-02-29T10:00', 'there is no day 2026-02-29'],
    ['2026-04-31', 'there is no day 2026-04-31'],
    ['2026-04-00', 'there is no day 2026-04-00'],
    ['2026-12-24T18:00+25:00', 'there is no offset +25:00'],
    ['tomorrow 25:00', 'there is no hour 25'],
    ['+', '"+" is no time'],
    ['+30', '"30" after the + is no length of time'],
    ['+0m', '"0m" after the + is no length of time'],
    ['2026-12-24T18:00 Europe/Berlin', '"2026-12-24T18:00 Europe/Berlin" is no time'],
  ])('refuses %s, and says which part is wrong', (text, message) => {
    expect(read(text)).toBe(message)
  })
})

describe('when the clocks are changed', () => {
  it.each([
    // Berlin: 2026-03-29 02:00 → 03:00, 2026-10-25 03:00 → 02:00.
    ['2026-03-29T01:59', '2026-03-29T00:59:00Z'],
    ['2026-03-29T02:00', 'there is no 2026-03-29 02:00 in Europe/Berlin: the clocks are put forward past it'],
    ['2026-03-29T02:59', 'there is no 2026-03-29 02:59 in Europe/Berlin: the clocks are put forward past it'],
    ['2026-03-29T03:00', '2026-03-29T01:00:00Z'],
    ['2026-10-25T01:59', '2026-10-24T23:59:00Z'],
    ['2026-10-25T02:00', '2026-10-25T00:00:00Z'],
    ['2026-10-25T02:59', '2026-10-25T00:59:00Z'],
    ['2026-10-25T03:00', '2026-10-25T02:00:00Z'],
    ['2026-10-25T02:30+01:00', '2026-10-25T01:30:00Z'],
  ])('%s', (text, expected) => {
    expect(read(text)).toBe(expected)
  })

  it.each([
    ['2026-10-25T02:30', true],
    ['2026-10-25T02:30+02:00', false],
    ['2026-10-25T03:00', false],
  ])('%s is shown twice: %s', (text, isTwice) => {
    const nowMs = ms(NOW)
    expect(readTime(text, { nowMs, zone: berlin, fromMs: nowMs })).toMatchObject({ ok: true, value: { isTwice } })
  })

  it('a weekday on which the clocks are changed', () => {
    expect(read('sun 2:30', { now: '2026-10-20T10:00:00Z' })).toBe('2026-10-25T00:30:00Z')
    expect(read('sun 2:30', { now: '2026-10-25T01:45:00Z' })).toBe('2026-11-01T01:30:00Z')
    expect(read('sun 2:30', { now: '2026-03-25T10:00:00Z' })).toMatch(/^there is no 2026-03-29 02:30/)
  })

  it('takes the second 2:30 once the first is over, and tomorrow in hours of the clock', () => {
    expect(read('2:30', { now: '2026-10-25T00:45:00Z' })).toBe('2026-10-25T01:30:00Z')
    expect(read('2:30', { now: '2026-10-25T01:45:00Z' })).toBe('2026-10-26T01:30:00Z')
    expect(read('tomorrow 12:00', { now: '2026-10-24T10:00:00Z' })).toBe('2026-10-25T11:00:00Z')
    expect(read('2:30', { now: '2026-03-28T23:30:00Z' })).toMatch(/^there is no 2026-03-29 02:30/)
  })

  it('what a clock shows leads back to the moment, in zones of every kind', () => {
    const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Pacific/Apia', 'UTC']
    const zone = fc.constantFrom(...zones.map((name) => openZone(name)))
    const moment = fc.integer({ min: ms('2020-01-01T00:00:00Z'), max: ms('2035-01-01T00:00:00Z') })
    fc.assert(
      fc.property(zone, moment, (one, epochMs) => {
        expect(instantsOf(wallOf(epochMs, one), one)).toContain(epochMs)
      }),
    )
  })
})
