import { expect, it } from 'vitest'
import { openZone } from '../time-zone.ts'
import { localTimes } from './local-times.ts'

const berlin = openZone('Europe/Berlin')

it.each([
  ['no time at all', 'no time at all'],
  ['until 2026-12-24T19:00:00.000Z.', 'until 2026-12-24 20:00 Europe/Berlin.'],
  ['until 2026-12-24T19:00:05Z: x', 'until 2026-12-24 20:00:05 Europe/Berlin: x'],
  ['r9 (2026-12-24T18:00:00.000Z to 2026-12-24T20:00:00.000Z)', 'r9 (2026-12-24 19:00 to 21:00 Europe/Berlin)'],
  [
    'from 2026-12-24T22:30:00.000Z to 2026-12-25T01:00:00.000Z',
    'from 2026-12-24 23:30 to 2026-12-25 02:00 Europe/Berlin',
  ],
  ['2026-06-01T00:00:00Z, 2026-12-01T00:00:00Z', '2026-06-01 02:00 Europe/Berlin, 2026-12-01 01:00 Europe/Berlin'],
])('%s', (text, expected) => {
  expect(localTimes(text, berlin)).toBe(expected)
})
