import { describe, expect, it } from 'vitest'
import { CONFLICT, LANE, RESERVATION } from '../../test/support/lane-answers.ts'
import { whoText } from './commands/user-show.ts'
import { keysOf, lanePayloadOf } from './lane-payload.ts'
import { bookingText, laneRemark, targetText } from './lane-words.ts'
import { conflictLines, reservationText } from './reservation-words.ts'
import { openZone } from './time-zone.ts'

const berlin = openZone('Europe/Berlin')

it.each([
  [{ kind: 'model', model: 'hello', profile: 'chat' } as const, 'hello (chat)'],
  [{ kind: 'nothing' } as const, 'nothing'],
  [null, 'exclusive'],
])('a target: %j', (target, text) => {
  expect(targetText(target)).toBe(text)
})

it('a booking says whose it is only where that may be known', () => {
  const booking = { id: 'r1', start: RESERVATION.start, end: RESERVATION.end, target: null }
  expect(bookingText({ ...booking, owner: 'anna' }, berlin)).toBe(
    '2026-12-24 18:00 to 20:00 Europe/Berlin for anna: exclusive, r1',
  )
  expect(bookingText({ ...booking, owner: null }, berlin)).toBe(
    '2026-12-24 18:00 to 20:00 Europe/Berlin: exclusive, r1',
  )
})

it.each([
  [{}, 'fallback: org/big (coding) cannot be loaded now; org/big (coding): out of memory'],
  [{ is_fallback: false, failures: [] }, ''],
  [
    { is_fallback: false, failures: [], config_problem: 'gpu0.toml: gpus: expected a list' },
    'gpu0.toml: gpus: expected a list',
  ],
  [{ is_fallback: false, failures: [], store_problem: 'disk full' }, 'bookings cannot be read: disk full'],
])('what is to know of a lane: %j', (changed, text) => {
  expect(laneRemark({ ...LANE, ...changed })).toBe(text)
})

it.each([
  ['approved', 'reservation r1 on gpu0: approved, 2026-12-24 18:00 to 20:00 Europe/Berlin, org/big (coding)'],
  ['ended_early', 'reservation r1 on gpu0: ended early, 2026-12-24 18:00 to 20:00 Europe/Berlin, org/big (coding)'],
] as const)('a booking that is %s', (status, text) => {
  expect(reservationText({ ...RESERVATION, status }, berlin)).toBe(text)
})

it('what is in the way of one window needs no name for that window', () => {
  expect(conflictLines([], berlin)).toEqual([])
  expect(conflictLines([{ ...CONFLICT, owner: null }], berlin)).toEqual([
    'in the way: r9, 2026-12-24 19:00 to 21:00 Europe/Berlin',
  ])
})

it.each([
  [{ kind: 'open', role: 'admin', user: null }, 'the admin of this machine: no user is defined'],
  [{ kind: 'local', role: 'admin', user: null }, "the admin of this machine, by the daemon's own key"],
] as const)('who asks: %j', (session, text) => {
  expect(whoText({ ...session, expires_at: null })).toBe(text)
})

describe('the keys of a lane as typed', () => {
  it.each([
    [{ model: '' }, { default: null }],
    [{ model: 'hello', profile: '' }, { default: { model: 'hello', profile: null } }],
    [{ gpus: '' }, { gpus: [] }],
    [{ gpus: '0, 2' }, { gpus: [0, 2] }],
    [
      { allowExclusive: false, releaseUnused: 0 },
      { allow_exclusive: false, no_show_minutes: 0 },
    ],
    [
      { maxHours: null, unset: ['runner'] },
      { limits: { max_hours: null }, runner: null },
    ],
    [{ set: ['limits.max_hours=1.5'] }, { limits: { max_hours: 1.5 } }],
  ])('%j', (options, payload) => {
    expect(JSON.parse(JSON.stringify(lanePayloadOf(options)))).toEqual(payload)
  })

  it('are named with their tables', () => {
    const patch = lanePayloadOf({ maxHours: null, gpus: '0', model: 'hello' })
    expect(keysOf(patch)).toEqual(['default.model', 'limits.max_hours', 'gpus'])
  })
})
