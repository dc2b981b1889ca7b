import type { Database } from 'better-sqlite3'
import type { Clock } from '../../kernel/clock.ts'
import { messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { durably, soon } from '../../store/durably.ts'
import { requireInPlace } from '../../store/in-place.ts'
import { type BookingOutageDeps, createBookingOutage, unavailable } from './booking-outage.ts'
import { createMirror, type Mirror } from './mirror.ts'
import type { Reservation } from './reservation.ts'
import { openReservationTable, type ReservationTable } from './reservation-table.ts'

/** What a transaction leaves: an answer, and the reservations as they are now. */
export interface Written<T> {
  readonly value: T
  readonly changed: readonly Reservation[]
}

/** The bookings on the disk, and their mirror in memory, which always says what was written last. */
export interface BookingStore {
  readonly mirror: Omit<Mirror, 'put' | 'replaceLane' | 'replaceAll'>
  readonly problem: string | undefined
  /** See `Calendar.unread`. */
  readonly unread: string | undefined
  /** Errors: `lane.store_unavailable`, those of `work`. */
  read<T>(work: (table: ReservationTable) => T): T
  /**
   * One transaction, on the disk when this returns (`soon`: what the clock says again after a power cut need not be waited for); then the mirror
   * follows, and the listeners are told. Nothing of this process comes between. Errors: `lane.store_unavailable`, those of `work`; then nothing of it is written.
   */
  write<T>(work: (table: ReservationTable) => Written<T>, transaction?: typeof durably): T
  /** Sees whether the file is still there, writes what is owed (first uses), and tries a store that failed, if it is time. Never throws. */
  tend(): void
  /** As the store has it: somebody else has written there. Never throws. */
  reloadLane(lane: string): void
  /** Everything anew. Errors: `lane.store_unavailable`. */
  reloadAll(): void
  /** Seen now, written soon. */
  used(id: string, nowMs: number): void
  onChange(listener: (lane: string) => void): () => void
  close(): void
}

export interface BookingStoreDeps {
  readonly db: Database | undefined
  readonly dbProblem?: string | undefined
  readonly clock: Clock
  readonly log: Log
  readonly publish: BookingOutageDeps['publish']
  /** All that have to know when the store goes off or on. */
  readonly lanes: () => readonly string[]
}

export function createBookingStore(deps: BookingStoreDeps): BookingStore {
  const { db, log } = deps
  const mirror = createMirror()
  const listeners = new Set<(lane: string) => void>()
  /** First uses that are not written yet. */
  const owed = new Map<string, number>()
  let table: ReservationTable | undefined
  let isLoaded = false

  function tell(lanes: Iterable<string>): void {
    for (const lane of new Set(lanes)) {
      for (const listener of [...listeners]) {
        try {
          listener(lane)
        } catch (cause) {
          log.error({ lane, reason: messageOf(cause) }, 'a listener to bookings failed')
        }
      }
    }
  }

  const outage = createBookingOutage({ ...deps, onChange: () => tell([...mirror.lanes(), ...deps.lanes()]) })

  /** The table, with a mirror that can be trusted. */
  function open(): ReservationTable {
    if (db === undefined || !db.open) throw unavailable(outage.problem ?? 'hal0.db is closed')
    table ??= openReservationTable(db)
    if (!isLoaded) load(table)
    return table
  }

  function load(from: ReservationTable): void {
    mirror.replaceAll(from.allBlocking(), from.lastStarts())
    isLoaded = true
    for (const [id, usedMs] of owed) noteUse(id, usedMs)
  }

  function noteUse(id: string, usedMs: number): boolean {
    const reservation = mirror.get(id)
    if (reservation === undefined || reservation.firstUsedMs !== undefined) return false
    mirror.put([{ ...reservation, firstUsedMs: usedMs }])
    return true
  }

  function attempt<T>(work: (table: ReservationTable) => T): T {
    try {
      return work(open())
    } catch (thrown) {
      throw outage.failed(thrown, isLoaded)
    }
  }

  function write<T>(work: (table: ReservationTable) => Written<T>, transaction: typeof durably = durably): T {
    const written = attempt((from) => {
      if (db === undefined) throw unavailable('there is no hal0.db')
      // While it failed somebody else may have written.
      if (outage.problem !== undefined) load(from)
      const uses = [...owed]
      const done = transaction(db, () => {
        for (const [id, usedMs] of uses) from.setFirstUsed(id, usedMs)
        return work(from)
      })
      for (const [id] of uses) owed.delete(id)
      return done
    })
    mirror.put(written.changed)
    outage.worked()
    tell(written.changed.map(({ lane }) => lane))
    return written.value
  }

  function tend(): void {
    if (db === undefined || !db.open) return
    const isOff = outage.problem !== undefined
    if (isOff && !outage.mayTry()) return
    try {
      if (!isOff) attempt(() => requireInPlace(db))
      if (!isOff && owed.size === 0) return
      write(() => {
        // Writes a page, so that a full disk shows.
        if (isOff) db.pragma(`user_version = ${Number(db.pragma('user_version', { simple: true }))}`)
        return { value: undefined, changed: [] }
      }, soon)
    } catch (cause) {
      log.debug({ reason: messageOf(cause) }, 'the reservations could not be written')
    }
  }

  if (db === undefined) outage.offForLife(deps.dbProblem ?? 'hal0.db cannot be used')
  else {
    try {
      attempt(() => {})
    } catch (cause) {
      if (outage.problem === undefined) outage.offForLife(messageOf(cause))
    }
  }

  return {
    mirror,
    get problem() {
      return outage.problem
    },
    get unread() {
      return outage.unread
    },
    read: attempt,
    write,
    tend,
    reloadLane(lane) {
      try {
        attempt((from) => mirror.replaceLane(lane, from.blockingOf(lane)))
        tell([lane])
      } catch (cause) {
        log.debug({ lane, reason: messageOf(cause) }, 'the reservations could not be read')
      }
    },
    reloadAll() {
      attempt(load)
      tell(mirror.lanes())
    },
    used(id, nowMs) {
      if (noteUse(id, nowMs)) owed.set(id, nowMs)
    },
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close() {
      tend()
      listeners.clear()
    },
  }
}
