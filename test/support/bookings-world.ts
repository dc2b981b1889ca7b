import type { Database } from 'better-sqlite3'
import type { Caller } from '../../src/access/caller.ts'
import type { People, Person } from '../../src/access/people.ts'
import type { NewEvent } from '../../src/contract/events.ts'
import { laneConfigSchema } from '../../src/contract/lane-config.ts'
import { type ReservationRequest, reservationRequestSchema } from '../../src/contract/reservation.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { isoTime, MINUTE_MS } from '../../src/kernel/units.ts'
import type { BookingsDeps } from '../../src/lanes/bookings/bookings-deps.ts'
import { type BookingBook, createBookings } from '../../src/lanes/bookings/create-bookings.ts'
import type { Notice } from '../../src/lanes/notices/notices.ts'
import type { ManualClock } from './manual-clock.ts'
import { storeHome } from './store-harness.ts'

function person(name: string, role: Person['role'], timeZone?: string, isDisabled = false): Person {
  return { id: name === 'local' ? name : `u-${name}`, name, role, email: undefined, timeZone, isDisabled }
}

const PEOPLE = [
  person('local', 'admin'),
  person('root', 'admin'),
  person('anna', 'member', 'Europe/Berlin'),
  person('ben', 'member'),
  person('gone', 'member', undefined, true),
]

export const people: People = {
  byId: (id) => PEOPLE.find((one) => one.id === id),
  byName: (name) => PEOPLE.find((one) => one.name === name.toLowerCase()),
  all: () => PEOPLE.filter(({ id }) => id !== 'local'),
  admins: () => PEOPLE.filter(({ role, isDisabled }) => role === 'admin' && !isDisabled),
}

const caller = (name: string, role: Person['role'] = 'member'): Caller => {
  return { kind: 'user', userId: `u-${name}`, name, role, keyId: undefined }
}
export const anna = caller('anna')
export const ben = caller('ben')
export const root = caller('root', 'admin')
export const local: Caller = { kind: 'local_admin' }

/** Bookings over a real hal0.db in a folder of their own, with people, a clock and lanes that say what the test wants. */
export interface BookingsWorld {
  readonly book: BookingBook
  readonly clock: ManualClock
  readonly db: Database
  /** hal0.db. */
  readonly path: string
  readonly events: NewEvent[]
  readonly notices: Notice[]
  /** What lanes' files say: of lanes that are not named here, the schema's defaults. */
  readonly files: Map<string, Record<string, unknown>>
  /** Bookings whose lane is loading for them. */
  readonly starting: Set<string>
  /** A request for gpu0, `start` minutes from now and `minutes` long. */
  ask(start: number, minutes: number, more?: Record<string, unknown>): ReservationRequest
  /** Ids of what a create made. */
  make(request: ReservationRequest, by?: Caller): Promise<string[]>
  /** Another one over the same file. */
  again(more?: Partial<BookingsDeps>): BookingBook
  remove(): void
}

export const MODEL = { model: 'org/a', profile: 'chat' } as const

export function bookingsWorld(more: Partial<BookingsDeps> = {}): BookingsWorld {
  const place = storeHome()
  const { db } = place.open()
  if (db === undefined) throw new Error('the store did not open')
  const { clock } = place
  const events: NewEvent[] = []
  const notices: Notice[] = []
  const files = new Map<string, Record<string, unknown>>([
    ['gpu0', {}],
    ['gpu1', {}],
  ])
  const starting = new Set<string>()
  const deps: BookingsDeps = {
    db,
    clock,
    log: silentLog,
    people,
    publish: (event) => events.push(event),
    notices: { tell: (notice) => notices.push(notice) },
    lane(name) {
      const file = files.get(name)
      if (file === undefined) return undefined
      return { config: laneConfigSchema.parse(file), defaultTarget: { kind: 'model', ...MODEL } }
    },
    lanes: () => [...files.keys()],
    isStarting: (id) => starting.has(id),
    async resolveTarget(_lane, model, profile = 'chat') {
      if (model.endsWith('missing')) throw Hal0Error.of('model.not_found', `there is no model ${model}`)
      return { model, profile }
    },
    estimateMs: (_lane, target) => (target.kind === 'nothing' ? 10_000 : 60_000),
    exceedsVram: async (_lane, model) => model.endsWith('huge'),
    ...more,
  }
  const book = createBookings(deps)
  return {
    book,
    clock,
    db,
    path: place.path,
    events,
    notices,
    files,
    starting,
    ask: (start, minutes, other = {}) =>
      reservationRequestSchema.parse({
        lane: 'gpu0',
        start: isoTime(clock.nowMs() + start * MINUTE_MS),
        minutes,
        ...other,
      }),
    async make(request, by = anna) {
      const { reservations } = await book.bookings.create(request, by)
      return reservations.map(({ id }) => id)
    },
    again: (other = {}) => createBookings({ ...deps, ...other }),
    remove() {
      book.close()
      place.remove()
    },
  }
}

/** The first of a list that has one. */
export function only<T>(list: readonly T[]): T {
  const [first] = list
  if (first === undefined) throw new Error('there is none')
  return first
}

/** How many pairs of blocking bookings of a lane overlap in the table. */
export function overlapping(db: Database): unknown {
  const isBlocking = (name: string) => `${name}.status IN ('pending', 'approved', 'active')`
  return db
    .prepare(
      `SELECT count(*) FROM reservations a JOIN reservations b ON a.lane = b.lane AND a.id < b.id AND a.start_ms < b.end_ms
       AND b.start_ms < a.end_ms WHERE ${isBlocking('a')} AND ${isBlocking('b')}`,
    )
    .pluck()
    .get()
}
