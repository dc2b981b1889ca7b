import fc from 'fast-check'
import ICAL from 'ical.js'
import { describe, expect, it } from 'vitest'
import { RESERVATION_STATUSES, type ReservationRow } from '../contract/reservation.ts'
import { renderCalendar } from './calendar-feed.ts'

function rowOf(more: Partial<ReservationRow> = {}): ReservationRow {
  return {
    id: 'r1',
    lane: 'gpu0',
    status: 'approved',
    start: '2026-12-01T18:00:00.000Z',
    end: '2026-12-01T20:00:00.000Z',
    booked_end: '2026-12-01T20:00:00.000Z',
    target: { kind: 'model', model: 'qwen', profile: 'chat' },
    title: 'Evaluation',
    owner: { id: 'u1', name: 'alice' },
    members: [{ id: 'u2', name: 'bob' }],
    series_id: null,
    time_zone: 'Europe/Berlin',
    created_at: '2026-11-20T08:00:00.000Z',
    changed_at: '2026-11-20T08:00:00.000Z',
    revision: 0,
    note: null,
    first_used_at: null,
    ...more,
  }
}

const render = (...rows: ReservationRow[]) => renderCalendar({ lane: 'gpu0', rows, host: 'gpu.example:8080' })

function parse(text: string) {
  const calendar = new ICAL.Component(ICAL.parse(text) as unknown[])
  const events = calendar.getAllSubcomponents('vevent')
  return { calendar, events, value: (name: string, n = 0) => String(events[n]?.getFirstPropertyValue(name)) }
}

describe('renderCalendar', () => {
  it('gives one event per booking, in UTC', () => {
    const { calendar, events, value } = parse(render(rowOf(), rowOf({ id: 'r2', target: null, title: '' })))
    expect(events).toHaveLength(2)
    expect(calendar.getFirstPropertyValue('version')).toBe('2.0')
    expect(calendar.getFirstPropertyValue('prodid')).toBe('-//hal0//lanes//EN')
    expect(calendar.getFirstPropertyValue('x-wr-calname')).toBe('hal0 gpu0 (gpu.example:8080)')
    expect(['uid', 'dtstart', 'dtend', 'dtstamp', 'created', 'sequence', 'status'].map((name) => value(name))).toEqual([
      'r1@hal0',
      '2026-12-01T18:00:00Z',
      '2026-12-01T20:00:00Z',
      '2026-11-20T08:00:00Z',
      '2026-11-20T08:00:00Z',
      '0',
      'CONFIRMED',
    ])
    expect(value('summary')).toBe('Evaluation: qwen (profile chat), alice')
    expect(value('description')).toBe('Booking of gpu0, approved.\nWith bob.\nhal0 reservation show r1')
    expect([value('uid', 1), value('summary', 1)]).toEqual(['r2@hal0', 'exclusive, alice'])
  })

  it('leaves out what the reader may not see', () => {
    const { value } = parse(render(rowOf({ title: '', members: [], owner: { id: '', name: '' } })))
    expect(value('summary')).toBe('qwen (profile chat)')
    expect(value('description')).toBe('Booking of gpu0, approved.\nhal0 reservation show r1')
  })

  it.each([
    ['pending', 'TENTATIVE'],
    ['approved', 'CONFIRMED'],
    ['active', 'CONFIRMED'],
    ['completed', 'CONFIRMED'],
    ['ended_early', 'CONFIRMED'],
    ['rejected', undefined],
    ['cancelled', undefined],
  ] as const)('%s: %s', (status, expected) => {
    const { events } = parse(render(rowOf({ status })))
    expect(events.map((event) => event.getFirstPropertyValue('status'))).toEqual(
      expected === undefined ? [] : [expected],
    )
  })

  it('says which state of a booking is the newer one', () => {
    const { value } = parse(render(rowOf({ revision: 3, changed_at: '2026-11-25T09:30:00.000Z' })))
    expect(['sequence', 'last-modified', 'dtstamp', 'created'].map((name) => value(name))).toEqual([
      '3',
      '2026-11-25T09:30:00Z',
      '2026-11-25T09:30:00Z',
      '2026-11-20T08:00:00Z',
    ])
  })

  it('says when one was ended early, and has none that took no time', () => {
    const status = 'ended_early'
    const end = '2026-12-01T19:00:00.000Z'
    expect(parse(render(rowOf({ status, end }))).value('dtend')).toBe('2026-12-01T19:00:00Z')
    expect(parse(render(rowOf({ status, end: rowOf().start }))).events).toEqual([])
  })

  it.each([
    ['line breaks', 'a\nb\r\nc', 'a\nb\nc'],
    ['what has a meaning in the format', 'a, b; c\\n "d": e', 'a, b; c\\n "d": e'],
    ['lines of the format', 'x\nEND:VEVENT\nBEGIN:VEVENT', 'x\nEND:VEVENT\nBEGIN:VEVENT'],
    ['characters of four bytes', '\u{1f600}'.repeat(60), '\u{1f600}'.repeat(60)],
    ['control characters', 'a\u0000b\u001bc\u0085d', 'abcd'],
    ['half a character', 'a\ud83d', 'a\ufffd'],
  ])('takes a title of %s', (_, title, read) => {
    const text = render(rowOf({ title }))
    const { events, value } = parse(text)
    expect([events.length, value('summary')]).toEqual([1, `${read}: qwen (profile chat), alice`])
  })

  it('keeps to lines of 75 bytes that end in CRLF and are whole UTF-8, whatever it holds', () => {
    const odd = fc.string({
      unit: fc.oneof(
        fc.constantFrom('\n', '\r', ',', ';', '\\', ':', '\u{1f600}', 'é'),
        fc.string({ unit: 'binary', maxLength: 3 }),
      ),
    })
    fc.assert(
      fc.property(odd, odd, fc.constantFrom(...RESERVATION_STATUSES), (title, name, status) => {
        const text = render(rowOf({ title, status, owner: { id: 'u', name } }), rowOf({ id: 'r2' }))
        expect(text.endsWith('END:VCALENDAR\r\n')).toBe(true)
        for (const line of text.slice(0, -2).split('\r\n')) {
          expect(line).not.toMatch(/[\r\n]/)
          expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75)
          expect(Buffer.from(line).toString()).toBe(line)
        }
        expect(parse(text).value('uid', parse(text).events.length - 1)).toBe('r2@hal0')
      }),
    )
  })

  it('is a calendar without bookings too, and a host does not break it', () => {
    const text = renderCalendar({ lane: 'gpu0', rows: [], host: 'a,b;c\r\nX-EVIL:1' })
    // A property that this reader does not know: it leaves the text as it was sent.
    expect(parse(text).calendar.getFirstPropertyValue('x-wr-calname')).toBe('hal0 gpu0 (a\\,b\\;c X-EVIL:1)')
    expect(text).not.toMatch(/^X-EVIL/m)
  })
})
