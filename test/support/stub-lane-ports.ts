import type { SignedIn } from '../../src/access/sessions.ts'
import type { ManagementPorts } from '../../src/api/api-context.ts'
import type { AuditRow } from '../../src/contract/audit.ts'
import type { LaneExplanation, LaneManualAnswer, LaneRow, LaneTimeline } from '../../src/contract/lane.ts'
import type { NotificationRow } from '../../src/contract/notification.ts'
import type { BookingCheck, ReservationRow } from '../../src/contract/reservation.ts'
import type { SlotRow } from '../../src/contract/slot-row.ts'
import type { KeyRow, SessionInfo, UserRow } from '../../src/contract/user.ts'

const AT = '2026-01-01T00:00:00.000Z'
const HELLO = { kind: 'model', model: 'hello', profile: 'chat' } as const

export const LANE: LaneRow = {
  name: 'gpu0',
  device: 'gpu-cuda',
  gpus: [0],
  phase: 'ready',
  target: HELLO,
  reason: 'default',
  review_at: null,
  current: HELLO,
  is_fallback: false,
  active: null,
  next: { id: 'r1', start: AT, end: '2026-01-01T02:00:00.000Z', target: null, owner: null },
  manual: null,
  default: HELLO,
  failures: [
    {
      target: HELLO,
      failures: 1,
      code: 'slot.spawn_failed',
      cause: null,
      message: '/models/x: no',
      failed_at: AT,
      retry_at: null,
    },
  ],
  approval: 'none',
  allow_exclusive: true,
  in_flight: 0,
  config_problem: '/etc/hal0/lanes/gpu0.toml: gpu: no such key',
  store_problem: null,
  warnings: ['r1 (2026-01-01T00:00:00.000Z to 2026-01-01T02:00:00.000Z) stays'],
}

export const LANE_EXPLANATION: LaneExplanation = {
  lane: 'gpu0',
  at: AT,
  target: HELLO,
  reason: 'default',
  review_at: null,
  review: null,
  instead: null,
  branches: [{ n: 5, text: 'the default', outcome: 'chosen' }],
  to_change: [],
  plan: [],
  estimates: [],
}

export const LANE_TIMELINE: LaneTimeline = {
  lane: 'gpu0',
  from: AT,
  to: AT,
  reservations: [],
  past: [],
  failures: [],
  plan: [],
}

export const LANE_MANUAL: LaneManualAnswer = {
  manual: { target: HELLO, made_at: AT, made_by: 'local', until: null },
  effect: 'now',
  at: AT,
  ends_at: null,
  message: 'It takes effect now.',
  lane: LANE,
}

export const RESERVATION: ReservationRow = {
  id: 'r1',
  lane: 'gpu0',
  status: 'approved',
  start: AT,
  end: '2026-01-01T02:00:00.000Z',
  booked_end: '2026-01-01T02:00:00.000Z',
  target: HELLO,
  title: 'Evaluation',
  owner: { id: 'u1', name: 'ada' },
  members: [],
  series_id: null,
  time_zone: 'UTC',
  created_at: AT,
  changed_at: AT,
  revision: 0,
  note: null,
  first_used_at: null,
}

export const CHECK: BookingCheck = {
  ok: true,
  windows: [],
  conflicts: [],
  next_free: null,
  limits: [],
  warnings: [],
  target: HELLO,
}

export const USER: UserRow = {
  id: 'u1',
  name: 'ada',
  role: 'admin',
  email: null,
  time_zone: null,
  has_password: true,
  disabled_at: null,
  created_at: AT,
}

export const KEY: KeyRow = {
  id: 'k1',
  prefix: 'hal0_abcdefg',
  name: 'ci',
  user: { id: 'u1', name: 'ada' },
  created_at: AT,
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
}

export const SESSION: SessionInfo = {
  ...{ kind: 'session', role: 'admin', user: USER, expires_at: AT },
  ...{ state: 'users', lock: null, needs_set_up: false },
}

export const NOTIFICATION: NotificationRow = {
  id: 7,
  event: 'started',
  reservation_id: 'r1',
  lane: 'gpu0',
  title: 'It has started',
  body: 'Until two.',
  created_at: AT,
  read_at: null,
}

export const AUDIT_ROW: AuditRow = {
  id: 9,
  at: AT,
  type: 'access.key_created',
  actor: { id: 'u1', name: 'ada' },
  message: 'ada made the key hal0_abcdefg… of ada',
  data: { prefix: 'hal0_abcdefg' },
}

/** The token of a calendar feed that is ada's; `CALENDAR_TOKEN_GONE` is that of somebody who may not come in any more. */
export const CALENDAR_TOKEN = 'feed-token-of-ada'
export const CALENDAR_TOKEN_GONE = 'feed-token-of-bob'

const COOKIE: SignedIn = { cookie: 'hal0_session=secret; HttpOnly; SameSite=Strict; Path=/', info: SESSION }
const ADA = { id: 'u1', name: 'ada', role: 'admin', email: undefined, timeZone: undefined, isDisabled: false } as const

/** Writes down the call with its arguments, and answers. */
export type Ask = <T>(call: string, answer: T, ...args: unknown[]) => T
/** What the API had written down besides: `lanes local did …`, `refused GET /api/events`. */
interface Audited {
  readonly audited: string[]
}
type LanePorts = Audited &
  Pick<ManagementPorts, 'lanes' | 'laneFiles' | 'bookings' | 'accounts' | 'sessions' | 'notices'>

/** The ports of lanes, reservations and people: fixed rows, as those of `stubPorts`. */
export function stubLanePorts(ask: Ask, row: (name: string) => SlotRow): LanePorts {
  const audited: string[] = []
  /** A port's promise rejects; it does not throw. */
  const later =
    <Args extends unknown[], T>(call: string, answer: (...args: Args) => T) =>
    async (...args: Args): Promise<T> =>
      ask(call, answer(...args), ...args)
  const reservation = (call: string) => later(call, (id: string, ..._more: unknown[]) => ({ ...RESERVATION, id }))

  return {
    audited,
    lanes: {
      rows: (by) => ask('lanes.rows', [LANE], by),
      row: (name, by) => ask('lanes.row', { ...LANE, name }, name, by),
      explain: (name, atMs) => ask('lanes.explain', { ...LANE_EXPLANATION, lane: name }, name, atMs),
      timeline: (name, window, by) => ask('lanes.timeline', { ...LANE_TIMELINE, lane: name }, name, window, by),
      setManual: later('lanes.setManual', (_name: string, _request: unknown, _by: unknown) => LANE_MANUAL),
      clearManual: later('lanes.clearManual', (name: string, _by: unknown) => ({ ...LANE, name })),
      reload: later('lanes.reload', (name: string, _by: unknown) => row(name)),
    },
    laneFiles: {
      create: later('laneFiles.create', (name: string, config: Readonly<Record<string, unknown>>) => ({
        name,
        config: { ...config },
      })),
      config: later('laneFiles.config', (name: string) => ({ name, config: { device: 'cpu' } })),
      update: later('laneFiles.update', (name: string, _patch: unknown) => ({ name, config: { device: 'cpu' } })),
      remove: later('laneFiles.remove', (_name: string) => undefined),
    },
    bookings: {
      list: (query, by) => ask('bookings.list', [RESERVATION], query, by),
      show: (id, by) => ask('bookings.show', { ...RESERVATION, id }, id, by),
      check: later('bookings.check', (_request: unknown, _by: unknown) => CHECK),
      create: later('bookings.create', (_request: unknown, _by: unknown) => ({
        reservations: [RESERVATION],
        warnings: [],
      })),
      change: reservation('bookings.change'),
      extend: reservation('bookings.extend'),
      cancel: reservation('bookings.cancel'),
      end: reservation('bookings.end'),
      approve: reservation('bookings.approve'),
      reject: reservation('bookings.reject'),
    },
    accounts: {
      audit: {
        list: (query) => ask('audit.list', { audit: [AUDIT_ROW], next: null }, query),
        // What the API does besides is not what most tests ask about.
        did: ({ area, message }) => void audited.push(`${area} ${message}`),
        refused: (what) => void audited.push(`refused ${what}`),
      },
      byId: (id) => (id === ADA.id ? ADA : undefined),
      byName: (name) => (name === ADA.name ? ADA : undefined),
      all: () => [ADA],
      admins: () => [ADA],
      users: () => ask('accounts.users', [USER]),
      createUser: later('accounts.createUser', (request: { readonly name: string }, _by: unknown) => ({
        user: { ...USER, name: request.name },
        key: null,
      })),
      changeUser: later('accounts.changeUser', (_user: string, _change: unknown, _by: unknown) => USER),
      removeUser: later('accounts.removeUser', (_user: string, _by: unknown) => undefined),
      keys: (by, user) => ask('accounts.keys', [KEY], by, user),
      createKey: later('accounts.createKey', (_request: unknown, _by: unknown) => ({ key: KEY, secret: 'hal0_whole' })),
      revokeKey: later('accounts.revokeKey', (_key: string, _by: unknown) => ({ ...KEY, revoked_at: AT })),
      createCalendarToken: later('accounts.createCalendarToken', (_by: unknown) => CALENDAR_TOKEN),
      byCalendarToken: (token) => {
        if (token === CALENDAR_TOKEN_GONE) return { ...ADA, isDisabled: true }
        return token === CALENDAR_TOKEN ? ADA : undefined
      },
    },
    sessions: {
      signIn: async ({ name }, from) => ask('sessions.signIn', COOKIE, name, from.method),
      setUp: async ({ name }, from) => ask('sessions.setUp', COOKIE, name, from.method),
      signOut: async (from) => ask('sessions.signOut', 'hal0_session=; Max-Age=0; Path=/', from.method),
      info: (caller) => ask('sessions.info', SESSION, caller),
    },
    notices: {
      list: (userId, options) => ask('notices.list', [NOTIFICATION], userId, options),
      unread: () => 1,
      markRead: (userId, upToId) => ask('notices.markRead', undefined, userId, upToId),
    },
  }
}
