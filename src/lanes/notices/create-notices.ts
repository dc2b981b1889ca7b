import type { Database } from 'better-sqlite3'
import type { People } from '../../access/people.ts'
import type { DaemonSettings } from '../../config/settings/daemon-settings.ts'
import type { NewEvent } from '../../contract/events.ts'
import type { CancelTimer, Clock } from '../../kernel/clock.ts'
import { Hal0Error, messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { HOUR_MS, SECOND_MS } from '../../kernel/units.ts'
import { createNoticeAddresses } from './address-notice.ts'
import { CHANNELS, openDeliveryTable } from './delivery-table.ts'
import { createDeliveryWorker, STORE_RETRY_MS } from './delivery-worker.ts'
import { createRoutes } from './notice-routes.ts'
import { type NewNotice, openNoticeTable } from './notice-table.ts'
import type { Notice, Notices } from './notices.ts'
import { createWaitingNotices } from './waiting-notices.ts'

/** How many notices of one person are kept, and for how long. */
export const NOTICES_PER_USER = 2_000
export const NOTICES_KEPT_MS = 90 * 24 * HOUR_MS
/** Old ones are looked for that often. */
const EXPIRE_EVERY_MS = HOUR_MS

export interface NoticesDeps {
  /** Undefined = the store cannot be used in this life: notices are told in the app only, from memory. */
  readonly db: Database | undefined
  readonly clock: Clock
  readonly log: Log
  readonly publish: (event: NewEvent) => void
  readonly people: Pick<People, 'byId' | 'admins'>
  /** `[notify]`, asked each time. */
  readonly settings: () => DaemonSettings['notify']
  /** Where people reach this hal0. */
  readonly baseUrl: () => string
  /** Tells several apart in mails. */
  readonly daemonName?: string
}

/**
 * Tells people in the app, by webhook and by mail. In the app exactly once. On the wire at most once across a crash: an attempt that was begun
 * and whose end is not known is not repeated (its delivery says `unknown`). An attempt that failed while hal0 ran, by a time-out too, is
 * repeated under the same id (`webhook-id`, `Message-ID`), by which a receiver can tell what it has. A notice that is told within a
 * transaction on `db` is part of it. Source: SPEC 13 "Notifications".
 */
export function createNotices(deps: NoticesDeps): Notices {
  const { db, clock, log, settings } = deps
  const address = createNoticeAddresses(deps)
  const waiting = createWaitingNotices()
  const tables = openTables(db, log)
  const routeOf = createRoutes(deps)
  const workers =
    tables === undefined
      ? []
      : CHANNELS.map((channel) => createDeliveryWorker({ ...deps, table: tables.deliveries, channel, routeOf }))
  const wakeAll = () => {
    for (const worker of workers) worker.wake()
  }
  let lastId = 0
  let cancelRetry: CancelTimer = () => {}
  let isClosed = false
  let isOff = false
  let expiredAtMs = Number.NEGATIVE_INFINITY

  function tell(notice: Notice): void {
    try {
      const fresh = address(notice, () => ++lastId).filter((one) => !waiting.has(one) && !isTold(one))
      if (fresh.length > 0) keep(fresh)
    } catch (thrown) {
      log.error({ event: notice.event, reservation: notice.booking.id, reason: messageOf(thrown) }, 'a notice is lost')
    }
  }

  /** Spares a write for what is told again and again. */
  function isTold(notice: NewNotice): boolean {
    try {
      return tables?.notices.has(notice) === true
    } catch {
      return false
    }
  }

  function keep(fresh: readonly NewNotice[]): void {
    if (tables === undefined || db === undefined) return wait(fresh)
    if (!db.inTransaction) {
      wait(fresh)
      return flush()
    }
    try {
      write(fresh)
    } catch (thrown) {
      // Where SQLite has ended the whole transaction, what these tell of has not happened.
      if (!db.inTransaction) return
      wait(fresh)
      beginOutage(thrown)
    }
  }

  function wait(fresh: readonly NewNotice[]): void {
    const lost = waiting.add(fresh)
    if (lost > 0 && tables !== undefined) log.warn({ lost }, 'notices were given up: too many wait for the store')
  }

  function write(notices: readonly NewNotice[]): void {
    if (tables === undefined) return
    lastId = Math.max(lastId, tables.notices.add(notices, { perUser: NOTICES_PER_USER }))
    wakeAll()
  }

  function flush(): void {
    cancelRetry()
    const notices = waiting.all()
    if (tables === undefined || notices.length === 0) return
    try {
      write(notices)
      waiting.clear()
      if (isOff) log.info({}, 'notices are written again')
      isOff = false
      expire()
    } catch (thrown) {
      beginOutage(thrown)
    }
  }

  function beginOutage(thrown: unknown): void {
    if (!isOff) log.warn({ reason: messageOf(thrown) }, 'notices cannot be written; they wait and are told later')
    isOff = true
    cancelRetry()
    if (!isClosed) cancelRetry = clock.setTimer(STORE_RETRY_MS, flush)
  }

  function expire(): void {
    if (Math.abs(clock.monotonicMs() - expiredAtMs) < EXPIRE_EVERY_MS) return
    tables?.notices.expire(clock.nowMs() - NOTICES_KEPT_MS)
    expiredAtMs = clock.monotonicMs()
  }

  /** Errors: `lane.store_unavailable`. */
  function asked<T>(answer: () => T): T {
    try {
      return answer()
    } catch (thrown) {
      throw Hal0Error.of('lane.store_unavailable', 'the notifications cannot be read or written at present', {
        retryAfterS: STORE_RETRY_MS / SECOND_MS,
        cause: thrown,
      })
    }
  }

  try {
    lastId = tables?.notices.lastId() ?? 0
    expire()
  } catch (thrown) {
    log.debug({ reason: messageOf(thrown) }, 'the notices cannot be read at present')
  }
  wakeAll()

  return {
    tell,
    wasTold(event, reservationId) {
      if (waiting.all().some((notice) => notice.event === event && notice.reservationId === reservationId)) return true
      try {
        return tables?.notices.hasAny({ event, reservationId }) === true
      } catch {
        return false
      }
    },
    list: (userId, options) =>
      asked(() =>
        [...waiting.list(userId, options.unreadOnly), ...(tables?.notices.list(userId, options) ?? [])]
          .toSorted((a, b) => b.id - a.id)
          .slice(0, options.limit),
      ),
    unread: (userId) => asked(() => waiting.list(userId, true).length + (tables?.notices.unread(userId) ?? 0)),
    markRead: (userId, upToId) =>
      asked(() => {
        waiting.markRead(userId, upToId, clock.nowMs())
        tables?.notices.markRead(userId, upToId, clock.nowMs())
      }),
    get problem() {
      // Of one that is not set up any more nobody needs to hear.
      const open = settings()
      const problems = workers.flatMap(({ channel, problem }) => (open[channel] === undefined ? [] : (problem ?? [])))
      return problems.length === 0 ? undefined : problems.join('; ')
    },
    async close() {
      isClosed = true
      cancelRetry()
      flush()
      await Promise.all(workers.map((worker) => worker.close()))
    },
  }
}

/** Undefined where there is no store, or somebody has changed its schema by hand. */
function openTables(db: Database | undefined, log: Log) {
  if (db === undefined) return undefined
  try {
    return { notices: openNoticeTable(db), deliveries: openDeliveryTable(db) }
  } catch (thrown) {
    log.warn({ reason: messageOf(thrown) }, 'notices are kept in memory only: their tables are not as hal0 made them')
    return undefined
  }
}
