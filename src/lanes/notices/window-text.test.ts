import { describe, expect, it } from 'vitest'
import { windowText } from './window-text.ts'

describe('windowText', () => {
  it.each([
    ['in UTC', '2026-12-01T18:00Z', '2026-12-01T20:00Z', undefined, 'Tue 1 Dec 2026, 18:00 to 20:00 (UTC)'],
    [
      'in a zone',
      '2026-12-01T18:00Z',
      '2026-12-01T20:00Z',
      'Europe/Berlin',
      'Tue 1 Dec 2026, 19:00 to 21:00 (Europe/Berlin)',
    ],
    [
      'over midnight of that zone',
      '2026-12-01T14:30Z',
      '2026-12-01T15:30Z',
      'Asia/Tokyo',
      'Tue 1 Dec 2026, 23:30 to Wed 2 Dec 2026, 00:30 (Asia/Tokyo)',
    ],
    [
      'until midnight',
      '2026-12-01T22:00Z',
      '2026-12-02T00:00Z',
      'UTC',
      'Tue 1 Dec 2026, 22:00 to Wed 2 Dec 2026, 00:00 (UTC)',
    ],
    [
      'over a change of the clock',
      '2026-10-25T00:30Z',
      '2026-10-25T01:30Z',
      'Europe/Berlin',
      'Sun 25 Oct 2026, 02:30 GMT+2 to 02:30 GMT+1 (Europe/Berlin)',
    ],
    [
      'in a zone nobody knows',
      '2026-12-01T18:00Z',
      '2026-12-01T20:00Z',
      'Mars/Olympus',
      'Tue 1 Dec 2026, 18:00 to 20:00 (UTC)',
    ],
  ])('%s', (_, start, end, zone, text) => {
    for (let look = 0; look < 2; look++) expect(windowText(Date.parse(start), Date.parse(end), zone)).toBe(text)
  })
})
