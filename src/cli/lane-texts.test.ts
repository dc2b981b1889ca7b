import { describe, expect, it } from 'vitest'
import { CONFLICT, LANE, RESERVATION } from '../../test/support/lane-answers.ts'
import { nextDayText } from './booking-request.ts'
import { keyText } from './commands/usage.ts'
import { whoText } from './commands/user-show.ts'
import { keysOf, laneOptionFor, lanePayloadOf } from './lane-payload.ts'
import { bookingText, effectText, laneRemark, targetText } from './lane-words.ts'
import { approvalText, conflictLines, reservationText } from './reservation-words.ts'
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
  [{ is_fallback: false, failures: [], warnings: ['r1 stays'] }, 'r1 stays'],
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

it.each([
  ['now', '2026-12-24T17:00:00.000Z', null, 'it counts now'],
  [
    'now',
    '2026-12-24T17:00:00.000Z',
    '2026-12-24T19:00:00.000Z',
    'it counts now, until 2026-12-24 20:00 Europe/Berlin',
  ],
  ['later', '2026-12-24T19:00:00.000Z', null, 'it counts from 2026-12-24 20:00 Europe/Berlin'],
  ['never', null, null, 'it will not count: the next booking begins before it could'],
] as const)('a choice by hand: %s, %s to %s', (effect, at, ends_at, text) => {
  expect(effectText({ effect, at, ends_at }, berlin)).toBe(text)
})

it.each([
  ['user', 'u1', 'anna', 'anna'],
  ['user', 'u2', null, 'u2'],
  ['key', 'k1', 'laptop (hal0_abc)', 'laptop (hal0_abc)'],
  ['reservation', 'r1', 'Demo', 'Demo (r1)'],
  ['reservation', 'r2', 'gpu0 2026-12-24T17:00:00.000Z', 'gpu0 2026-12-24 18:00 Europe/Berlin (r2)'],
  ['user', null, null, '-'],
  ['hour', '2026-01-31T18:00:00.000Z', null, '2026-01-31 18:00 UTC'],
] as const)('a line of usage by %s: %s, %s', (by, key, name, text) => {
  expect(keyText(by, key, name, berlin)).toBe(text)
})

it('what is in the way of one window needs no name for that window', () => {
  expect(conflictLines([], berlin)).toEqual([])
  expect(conflictLines([{ ...CONFLICT, owner: null }], berlin)).toEqual([
    'in the way: r9, 2026-12-24 19:00 to 21:00 Europe/Berlin',
  ])
})

it.each([
  ['approved', 'pending', /^warning: r1 was approved, and by this change waits for an admin's approval again$/],
  ['approved', 'approved', undefined],
  ['pending', 'pending', undefined],
  ['active', 'active', undefined],
] as const)('a change of a booking that was %s and is %s', (was, is, text) => {
  const said = approvalText({ ...RESERVATION, status: was }, { ...RESERVATION, status: is })
  if (text === undefined) expect(said).toBeUndefined()
  else expect(said).toMatch(text)
})

it.each([
  ['11:00', '2026-12-24T22:00:00.000Z', undefined],
  ['00:00', '2026-12-24T23:00:00.000Z', '--end 00:00: it ends on 2026-12-25, the next day'],
  [' 11:00 ', '2026-12-25T10:00:00.000Z', '--end 11:00: it ends on 2026-12-25, the next day'],
  ['tomorrow 11:00', '2026-12-25T10:00:00.000Z', undefined],
  ['2026-12-25T11:00', '2026-12-25T10:00:00.000Z', undefined],
  [undefined, '2026-12-25T10:00:00.000Z', undefined],
])('an end of %s at %s', (typed, end, text) => {
  expect(nextDayText(typed, { start: RESERVATION.start, end }, berlin)).toBe(text)
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

// Who has read of a key in the docs types it as an option.
it.each([
  ['--no-show', '--release-unused'],
  ['--no-show-minutes', '--release-unused'],
  ['--max-open-per-user', '--max-open'],
  ['--min-preload-s', '--min-preload'],
  ['--frobnicate', undefined],
])('%s of a lane: %s', (typed, option) => {
  expect(laneOptionFor(typed)).toBe(option)
})
