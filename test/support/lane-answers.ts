import type { LaneExplanation, LaneManualAnswer, LaneRow, LaneTimeline } from '../../src/contract/lane.ts'
import type { NotificationRow } from '../../src/contract/notification.ts'
import type { BookingCheck, ReservationRow } from '../../src/contract/reservation.ts'
import type { KeyMade, UserRow } from '../../src/contract/user.ts'

// Answers of a daemon with one lane, two bookings and two people, as tests of its clients need them. All times: 24 December 2026.
const HELLO = { kind: 'model', model: 'hello', profile: 'chat' } as const
const BIG = { kind: 'model', model: 'org/big', profile: 'coding' } as const

export const LANE: LaneRow = {
  name: 'gpu0',
  device: 'gpu-cuda',
  gpus: [0, 1],
  phase: 'ready',
  target: BIG,
  reason: 'reserved',
  review_at: '2026-12-24T19:00:00.000Z',
  current: HELLO,
  is_fallback: true,
  active: {
    id: 'r1',
    start: '2026-12-24T17:00:00.000Z',
    end: '2026-12-24T19:00:00.000Z',
    target: BIG,
    owner: 'anna',
  },
  next: { id: 'r2', start: '2026-12-24T22:00:00.000Z', end: '2026-12-25T01:00:00.000Z', target: null, owner: null },
  manual: { target: { kind: 'nothing' }, made_at: '2026-12-24T16:00:00.000Z', made_by: 'anna', until: null },
  default: HELLO,
  failures: [
    {
      target: BIG,
      failures: 2,
      code: 'slot.load_failed',
      cause: null,
      message: 'out of memory',
      failed_at: '2026-12-24T17:01:00.000Z',
      retry_at: '2026-12-24T17:02:00.000Z',
    },
  ],
  approval: 'none',
  allow_exclusive: true,
  in_flight: 1,
  config_problem: null,
  store_problem: null,
  warnings: [],
}

export const MANUAL: LaneManualAnswer = {
  manual: LANE.manual,
  effect: 'later',
  at: '2026-12-24T19:00:00.000Z',
  ends_at: null,
  message: 'takes effect at 2026-12-24T19:00:00.000Z, when the booking ends',
  lane: LANE,
}

export const LANE_EXPLANATION: LaneExplanation = {
  lane: 'gpu0',
  at: '2026-12-24T17:30:00.000Z',
  target: BIG,
  reason: 'reserved',
  review_at: '2026-12-24T19:00:00.000Z',
  review: 'Reservation r1 ends.',
  instead: null,
  branches: [{ n: 1, text: 'reservation r1 of anna is running', outcome: 'chosen' }],
  to_change: ['End reservation r1.'],
  plan: [
    {
      from: '2026-12-24T17:30:00.000Z',
      until: '2026-12-24T19:00:00.000Z',
      target: BIG,
      reason: 'reserved',
      reservation_id: 'r1',
    },
    { from: '2026-12-24T19:00:00.000Z', until: null, target: HELLO, reason: 'default', reservation_id: null },
  ],
  estimates: [
    { target: BIG, seconds: 95, source: 'history' },
    { target: HELLO, seconds: 0, source: 'unknown' },
  ],
}

export const TIMELINE: LaneTimeline = {
  lane: 'gpu0',
  from: '2026-12-24T12:00:00.000Z',
  to: '2026-12-25T12:00:00.000Z',
  reservations: [
    {
      id: 'r1',
      start: '2026-12-24T17:00:00.000Z',
      end: '2026-12-24T19:00:00.000Z',
      target: BIG,
      owner: 'anna',
      status: 'active',
      title: 'Demo',
    },
  ],
  past: [{ at: '2026-12-24T16:57:00.000Z', phase: 'loading', target: BIG, reason: 'preload', in_place_of: null }],
  failures: [],
  plan: [{ from: '2026-12-24T19:00:00.000Z', until: null, target: HELLO, reason: 'default', reservation_id: null }],
}

export const RESERVATION: ReservationRow = {
  id: 'r1',
  lane: 'gpu0',
  status: 'approved',
  start: '2026-12-24T17:00:00.000Z',
  end: '2026-12-24T19:00:00.000Z',
  booked_end: '2026-12-24T19:00:00.000Z',
  target: BIG,
  title: 'Demo',
  owner: { id: 'u1', name: 'anna' },
  members: [{ id: 'u2', name: 'ben' }],
  series_id: null,
  time_zone: 'Europe/Berlin',
  created_at: '2026-12-20T10:00:00.000Z',
  changed_at: '2026-12-20T10:00:00.000Z',
  revision: 0,
  note: null,
  first_used_at: null,
}

export const CONFLICT = {
  id: 'r9',
  start: '2026-12-24T18:00:00.000Z',
  end: '2026-12-24T20:00:00.000Z',
  owner: 'ben',
  wanted_start: '2026-12-24T17:00:00.000Z',
}

export const CHECK: BookingCheck = {
  ok: false,
  windows: [{ start: '2026-12-24T17:00:00.000Z', end: '2026-12-24T19:00:00.000Z' }],
  conflicts: [CONFLICT],
  next_free: null,
  limits: [{ limit: 'max_hours', message: 'at most 1 hour' }],
  warnings: [{ kind: 'never_loaded', message: 'org/big was never loaded here' }],
  target: BIG,
}

export const USER: UserRow = {
  id: 'u1',
  name: 'anna',
  role: 'admin',
  email: null,
  time_zone: 'Europe/Berlin',
  has_password: false,
  disabled_at: null,
  created_at: '2026-12-01T10:00:00.000Z',
}

export const KEY_MADE: KeyMade = {
  key: {
    id: 'k1',
    prefix: 'hal0_abcdefg',
    name: 'first',
    user: { id: 'u1', name: 'anna' },
    created_at: '2026-12-01T10:00:00.000Z',
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
  },
  secret: 'hal0_abcdefghijklmnop',
}

export const NOTICE: NotificationRow = {
  id: 7,
  event: 'starting_soon',
  reservation_id: 'r1',
  lane: 'gpu0',
  title: 'Your booking starts soon',
  body: 'org/big is being loaded.',
  created_at: '2026-12-24T16:50:00.000Z',
  read_at: null,
}
