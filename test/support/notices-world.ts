import type { Person } from '../../src/access/people.ts'
import type { DaemonSettings } from '../../src/config/settings/daemon-settings.ts'
import type { NewEvent } from '../../src/contract/events.ts'
import type { Log } from '../../src/kernel/log.ts'
import { HOUR_MS } from '../../src/kernel/units.ts'
import { createNotices } from '../../src/lanes/notices/create-notices.ts'
import type { Notice, Notices } from '../../src/lanes/notices/notices.ts'
import type { Booking } from '../../src/lanes/rules/booking.ts'
import type { Store } from '../../src/store/open-store.ts'
import { settle } from './manual-clock.ts'
import { type StoreHome, storeHome } from './store-harness.ts'

/** People, a home with a database, and Notices on it: one life of the daemon after the other. */
export interface NoticesWorld {
  readonly place: StoreHome
  readonly people: Map<string, Person>
  settings: DaemonSettings['notify']
  readonly events: NewEvent[]
  /** Every line of the log, as JSON. */
  readonly logged: string[]
  /** A new life on the same file; the one before is not closed. `noStore`: without a database. */
  start(options?: { readonly noStore?: boolean }): { readonly notices: Notices; readonly store: Store }
  /** The outbox, in order. */
  deliveries(): {
    channel: string
    attempts: number
    next_at_ms: number | null
    done_at_ms: number | null
    last_error: string | null
  }[]
  remove(): Promise<void>
}

export function noticesWorld(): NoticesWorld {
  const place = storeHome()
  const events: NewEvent[] = []
  const logged: string[] = []
  const lives: { readonly notices: Notices; readonly store: Store }[] = []
  const line = (facts: object, message: string) => void logged.push(JSON.stringify([facts, message]))
  const log: Log = { debug: line, info: line, warn: line, error: line, child: () => log }
  const people = new Map<string, Person>(
    [person('alice'), person('bob'), person('root', { role: 'admin' }), person('local', { role: 'admin' })].map(
      (one) => [one.id, one],
    ),
  )
  const world: NoticesWorld = {
    place,
    people,
    settings: {},
    events,
    logged,
    start({ noStore = false } = {}) {
      const store = place.open()
      const notices = createNotices({
        db: noStore ? undefined : store.db,
        clock: place.clock,
        log,
        publish: (event) => events.push(event),
        people: {
          byId: (id) => people.get(id),
          admins: () => [...people.values()].filter(({ id, role }) => role === 'admin' && id !== 'local'),
        },
        settings: () => world.settings,
        baseUrl: () => 'http://gpu.example:8080',
      })
      lives.push({ notices, store })
      return { notices, store }
    },
    deliveries: () =>
      lives
        .at(-1)
        ?.store.db?.prepare(
          'SELECT channel, attempts, next_at_ms, done_at_ms, last_error FROM deliveries ORDER BY notification_id, channel DESC',
        )
        .all() as ReturnType<NoticesWorld['deliveries']>,
    async remove() {
      const closed = Promise.all(lives.map(({ notices }) => notices.close()))
      await place.clock.advance(HOUR_MS)
      await closed
      place.remove()
    },
  }
  return world
}

export function person(name: string, more: Partial<Person> = {}): Person {
  return { id: name, name, role: 'member', email: undefined, timeZone: undefined, isDisabled: false, ...more }
}

/** Alice's, with Bob, 18:00 to 20:00 UTC. */
export function bookingOf(more: Partial<Booking> = {}): Booking {
  return {
    id: 'r1',
    lane: 'gpu0',
    ownerId: 'alice',
    memberIds: ['bob'],
    startMs: Date.UTC(2026, 11, 1, 18),
    endMs: Date.UTC(2026, 11, 1, 20),
    status: 'approved',
    use: { kind: 'model', model: 'qwen', profile: 'chat' },
    firstUsedMs: undefined,
    ...more,
  }
}

export function noticeOf(more: Partial<Notice> = {}): Notice {
  return { event: 'approved', booking: bookingOf(), occasion: '', detail: '', ...more }
}

/** Turns the event loop until it is so; real sockets need turns, not time. Fails the test by its time limit. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await settle()
}
