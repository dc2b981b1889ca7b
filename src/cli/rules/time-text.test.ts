import { expect, it } from 'vitest'
import { openZone } from '../time-zone.ts'
import { momentText, windowText } from './time-text.ts'

it.each([
  ['2026-12-24T17:00:00.000Z', 'Europe/Berlin', '2026-12-24 18:00 Europe/Berlin'],
  ['2026-12-24T17:00:05.700Z', 'UTC', '2026-12-24 17:00:05 UTC'],
  ['2026-12-24T18:30:00Z', 'Asia/Kathmandu', '2026-12-25 00:15 Asia/Kathmandu'],
  // The hour that there is twice says which one it is.
  ['2026-10-25T00:30:00Z', 'Europe/Berlin', '2026-10-25 02:30 (+02:00) Europe/Berlin'],
  ['2026-10-25T01:30:00Z', 'Europe/Berlin', '2026-10-25 02:30 (+01:00) Europe/Berlin'],
  ['2026-11-01T06:30:00Z', 'America/New_York', '2026-11-01 01:30 (-05:00) America/New_York'],
])('%s in %s', (iso, zone, text) => {
  expect(momentText(iso, openZone(zone))).toBe(text)
})

it.each([
  ['2026-12-24T17:00:00Z', '2026-12-24T19:00:00Z', '2026-12-24 18:00 to 20:00 Europe/Berlin'],
  ['2026-12-24T22:00:00Z', '2026-12-25T01:00:00Z', '2026-12-24 23:00 to 2026-12-25 02:00 Europe/Berlin'],
  ['2026-12-24T17:00:00Z', null, 'from 2026-12-24 18:00 Europe/Berlin'],
  ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z', '2026-10-25 02:30 (+02:00) to 02:30 (+01:00) Europe/Berlin'],
])('%s to %s', (start, end, text) => {
  expect(windowText(start, end, openZone('Europe/Berlin'))).toBe(text)
})
