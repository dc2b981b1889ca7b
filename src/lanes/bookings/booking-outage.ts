import type { NewEvent } from '../../contract/events.ts'
import type { Clock } from '../../kernel/clock.ts'
import { errnoOf, Hal0Error, messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'
import { isWriteTrouble } from '../../store/rules/write-trouble.ts'

/** A store that failed is tried again so much later, unless somebody writes before. */
export const RETRY_AFTER_S = 30
/** Another process has the file for a moment. */
const BUSY_RETRY_S = 1
/** A backup is over by then; whoever holds the file longer is a reason to speak of it. */
const MAX_BUSY_MS = MINUTE_MS

/** What they cannot be, and what follows from it. */
const UNREAD = ['read or written', 'running bookings keep their lanes, everything else of a lane is refused'] as const
const UNWRITTEN = ['written', 'lanes go on by those that are known, and none can be made or changed'] as const

/** Can the bookings be read and written? Told once when they cannot, and once when they can again. */
export interface BookingOutage {
  /** Undefined = they can. */
  readonly problem: string | undefined
  /** As `problem`, but undefined also while they are known and only cannot be written. */
  readonly unread: string | undefined
  /**
   * The error for whoever asked. What is no trouble of the store is thrown on as it is. `isKnown`: bookings were read before. Then a file that is
   * only busy is no problem yet, and a disk that takes no writes hides nothing.
   */
  failed(thrown: unknown, isKnown: boolean): Hal0Error
  worked(): void
  /** Is it time to try again, though nobody asked? */
  mayTry(): boolean
  /** It cannot be used in this life. */
  offForLife(reason: string): void
}

export interface BookingOutageDeps {
  readonly clock: Clock
  readonly log: Log
  readonly publish: (event: NewEvent) => void
  /** Called after `problem` has come or gone. */
  readonly onChange: () => void
}

export function createBookingOutage({ clock, log, publish, onChange }: BookingOutageDeps): BookingOutage {
  let problem: { readonly reason: string; readonly isUnread: boolean } | undefined
  let triedAtMs = Number.NEGATIVE_INFINITY
  let busySinceMs: number | undefined

  function tell(severity: NewEvent['severity'], type: string, message: string): void {
    log[severity === 'info' ? 'info' : 'warn']({ reason: problem?.reason }, message)
    publish({ type, severity, source: 'lanes', message, data: {} })
  }

  function begin(reason: string, isUnread: boolean, end: string): void {
    const isTold = problem?.isUnread === isUnread
    problem = { reason, isUnread }
    if (isTold) return
    const [what, effect] = isUnread ? UNREAD : UNWRITTEN
    tell('warning', 'lanes.store_off', `reservations cannot be ${what} (${reason}): ${effect}, ${end}`)
    onChange()
  }

  return {
    get problem() {
      return problem?.reason
    },
    get unread() {
      return problem?.isUnread === true ? problem.reason : undefined
    },
    failed(thrown, isKnown) {
      if (thrown instanceof Hal0Error || !isStoreTrouble(thrown)) throw thrown
      triedAtMs = clock.monotonicMs()
      const isBusy = errnoOf(thrown)?.startsWith('SQLITE_BUSY') === true
      busySinceMs = isBusy ? (busySinceMs ?? triedAtMs) : undefined
      const isShort = busySinceMs !== undefined && triedAtMs - busySinceMs < MAX_BUSY_MS
      if (isShort && isKnown && problem === undefined) {
        return unavailable('another process has hal0.db for a moment', BUSY_RETRY_S, thrown)
      }
      const isUnread = !isKnown || !isWriteTrouble(errnoOf(thrown) ?? '')
      begin(messageOf(thrown), isUnread, `until hal0 can; it tries every ${RETRY_AFTER_S} s`)
      return unavailable(messageOf(thrown), RETRY_AFTER_S, thrown)
    },
    worked() {
      busySinceMs = undefined
      if (problem === undefined) return
      problem = undefined
      tell('info', 'lanes.store_on', 'reservations can be read and written again')
      onChange()
    },
    mayTry: () => clock.monotonicMs() - triedAtMs >= RETRY_AFTER_S * SECOND_MS,
    offForLife: (reason) => begin(reason, true, 'until the next start of the daemon'),
  }
}

/** For whoever wants to read or write bookings now. */
export function unavailable(reason: string, retryAfterS = RETRY_AFTER_S, cause?: unknown): Hal0Error {
  const message = `reservations cannot be read or written: ${reason}; try again in ${retryAfterS} s`
  return Hal0Error.of('lane.store_unavailable', message, { retryAfterS, cause })
}

/** A broken rule of the schema is a fault of ours; all else that SQLite says is the file's or the disk's. */
function isStoreTrouble(thrown: unknown): boolean {
  const errno = errnoOf(thrown) ?? ''
  return errno.startsWith('SQLITE_') && !errno.startsWith('SQLITE_CONSTRAINT')
}
