import { describe, expect, it } from 'vitest'
import { isoTime } from '../../kernel/units.ts'
import { readTime, readWindow, readZone } from './booking-window.ts'

const BERLIN = 'Europe/Berlin'

describe('a time', () => {
  it.each([
    ['2026-10-25T01:30', '2026-10-24T23:30:00.000Z', undefined],
    ['2026-10-25T02:30', '2026-10-25T00:30:00.000Z', 'comes twice'],
    ['2026-10-25T03:00', '2026-10-25T02:00:00.000Z', undefined],
    ['2026-03-29T02:30', '2026-03-29T01:30:00.000Z', 'does not exist in Europe/Berlin'],
    ['2026-10-25T02:30:00+01:00', '2026-10-25T01:30:00.000Z', undefined],
    ['2026-10-25T02:30:00.250Z', '2026-10-25T02:30:00.250Z', undefined],
    ['2026-07-01T00:00:59.5', '2026-06-30T22:00:59.500Z', undefined],
  ])('%s in Berlin', (text, expected, note) => {
    const result = readTime(text, BERLIN, 'start')
    if (!result.ok) throw result.error
    expect(isoTime(result.value.ms)).toBe(expected)
    if (note === undefined) expect(result.value.note).toBeUndefined()
    else expect(result.value.note).toContain(note)
  })

  it.each(['2026-13-01T00:00', '2026-02-30T00:00', '2026-01-01T24:01', '9999-12-31T12:00', 'now'])(
    '%s is none',
    (text) => {
      expect(readTime(text, BERLIN, 'end')).toMatchObject({
        ok: false,
        error: { code: 'validation.invalid', param: 'end' },
      })
    },
  )
})

it.each([
  ['europe/berlin', BERLIN],
  ['UTC', 'UTC'],
  ['Mars/Base', undefined],
  ['+02:00', undefined],
  ['', undefined],
])('zone %s', (name, expected) => {
  const result = readZone(name)
  if (result.ok) expect(result.value).toBe(expected)
  else expect([expected, result.error.message]).toEqual([undefined, expect.stringContaining(JSON.stringify(name))])
})

it('a start that has just passed is now: with minutes all of them count, an end stays', () => {
  const nowMs = Date.UTC(2026, 0, 1, 12, 0, 20)
  const start = '2026-01-01T12:00:00Z'
  const minutes = readWindow({ start, minutes: 15 }, 'UTC', nowMs)
  expect(minutes).toMatchObject({ value: { window: { startMs: nowMs, endMs: nowMs + 900_000 } } })
  const end = readWindow({ start, end: '2026-01-01T12:15:00Z' }, 'UTC', nowMs)
  expect(end).toMatchObject({
    value: { asked: { startMs: nowMs - 20_000 }, window: { startMs: nowMs, endMs: nowMs + 880_000 } },
  })
  const over = readWindow({ start, end: '2026-01-01T12:00:20Z' }, 'UTC', nowMs)
  expect(over).toMatchObject({ ok: false, error: { message: expect.stringContaining('is not after now') } })
})
