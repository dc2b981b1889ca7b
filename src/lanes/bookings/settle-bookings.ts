import type { Clock } from '../../kernel/clock.ts'
import { Hal0Error, messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { counted } from '../../kernel/sentence.ts'
import { isoTime, MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'
import { soon } from '../../store/durably.ts'
import { type DueChange, dueChanges, dueReminders, nextDueMs } from '../rules/due-change.ts'
import { RETRY_AFTER_S } from './booking-outage.ts'
import type { BookingStore } from './booking-store.ts'
import type { BookingTeller, BookingWord } from './booking-teller.ts'
import type { NoShow } from './calendar.ts'
import { endedEarly } from './end-bookings.ts'
import { type Reservation, revised } from './reservation.ts'

/** Writes what the clock has brought. */
export interface Settler {
  /** See `Calendar.settle`. */
  settle(lane: string, nowMs: number, noShow: NoShow): number | undefined
  /** Before anybody writes, statuses are what the clock says. Errors: `lane.store_unavailable`. */
  catchUp(lane: string): void
}

const NEVER_RELEASED: NoShow = { afterMs: 0, readySinceMs: undefined }
/** What is told twice is told once by the notices too; this only saves them the work. */
const MAX_REMEMBERED = 10_000

const WORDS: Record<DueChange<Reservation>['kind'], BookingWord> = {
  expire: 'expired',
  start: 'started',
  complete: 'completed',
  release: 'released',
}

export interface SettlerDeps {
  readonly store: BookingStore
  readonly teller: BookingTeller
  readonly clock: Clock
  readonly log: Log
}

export function createSettler({ store, teller, clock, log }: SettlerDeps): Settler {
  const told = new Set<string>()
  /** Lane → why what became of its bookings is not written: said once, and tried at each look. */
  const unwritten = new Map<string, string>()

  function tellOnce(
    event: Parameters<BookingTeller['notice']>[0],
    booking: Reservation,
    occasion: string,
    detail = '',
  ) {
    const key = `${booking.id} ${event} ${occasion}`
    if (told.has(key)) return
    if (told.size >= MAX_REMEMBERED) told.clear()
    told.add(key)
    teller.notice(event, [booking], { occasion, detail })
  }

  /**
   * What the clock alone has decided is told before it is written: killed in between, hal0 finds it due again, and notices are told once anyway.
   * A release is hal0's own decision, and true only once it is written.
   */
  function tellDue(due: readonly DueChange<Reservation>[], nowMs: number): void {
    for (const { kind, booking: before } of due) {
      if (kind === 'release') continue
      // With the status that it has from now on.
      const booking = changedBy(kind, before, nowMs, NEVER_RELEASED)
      if (kind === 'expire') tellOnce('rejected', booking, '', 'It was not approved in time.')
      else if (kind === 'start' && nowMs < booking.endMs) tellOnce('started', booking, '')
      else if (kind === 'complete') tellOnce('ended', booking, '')
    }
  }

  function apply(lane: string, due: readonly DueChange<Reservation>[], nowMs: number, noShow: NoShow): void {
    const done = store.write((table) => {
      const latest = new Map<string, Reservation>()
      const written: { readonly word: BookingWord; readonly after: Reservation }[] = []
      for (const { kind, booking } of due) {
        const before = latest.get(booking.id) ?? table.get(booking.id)
        // Somebody else has written there: the mirror is read anew, and it is looked at again.
        if (before === undefined || !isStillDue(kind, before, nowMs)) continue
        const after = changedBy(kind, before, nowMs, noShow)
        table.update(after, before.status)
        latest.set(after.id, after)
        written.push({ word: WORDS[kind], after })
      }
      return { value: written, changed: [...latest.values()] }
    }, soon)
    for (const { word, after } of done) {
      teller.event(word, after, undefined)
      if (word === 'released') tellOnce('ended', after, '', `It was released: ${after.note ?? ''}.`)
    }
    if (done.length < due.length) store.reloadLane(lane)
  }

  function catchUp(lane: string): void {
    const nowMs = clock.nowMs()
    const due = dueChanges(store.mirror.blocking(lane), nowMs, NEVER_RELEASED)
    if (due.length === 0) return
    tellDue(due, nowMs)
    apply(lane, due, nowMs, NEVER_RELEASED)
  }

  return {
    catchUp,
    settle(lane, nowMs, noShow) {
      let retryMs = Number.POSITIVE_INFINITY
      try {
        store.tend()
        const due = dueChanges(store.mirror.blocking(lane), nowMs, noShow)
        tellDue(due, nowMs)
        if (store.problem !== undefined) retryMs = nowMs + RETRY_AFTER_S * SECOND_MS
        else if (due.length > 0) apply(lane, due, nowMs, noShow)
        for (const { event, booking, momentMs } of dueReminders(store.mirror.blocking(lane), nowMs)) {
          tellOnce(event, booking, isoTime(momentMs))
        }
        unwritten.delete(lane)
      } catch (cause) {
        const afterS = cause instanceof Hal0Error ? (cause.retryAfterS ?? RETRY_AFTER_S) : RETRY_AFTER_S
        retryMs = nowMs + afterS * SECOND_MS
        const reason = messageOf(cause)
        const level = unwritten.get(lane) === reason ? 'debug' : 'warn'
        unwritten.set(lane, reason)
        log[level]({ lane, reason }, 'what became of the bookings of this lane is not written yet')
      }
      const nextMs = nextDueMs(store.mirror.blocking(lane), nowMs, noShow) ?? Number.POSITIVE_INFINITY
      const dueMs = Math.min(nextMs, retryMs)
      return Number.isFinite(dueMs) ? dueMs : undefined
    },
  }
}

function isStillDue(kind: DueChange<Reservation>['kind'], before: Reservation, nowMs: number): boolean {
  switch (kind) {
    case 'expire':
      return before.status === 'pending' && before.startMs <= nowMs
    case 'start':
      return before.status === 'approved' && before.startMs <= nowMs
    case 'complete':
      return before.status === 'active' && before.endMs <= nowMs
    case 'release':
      return before.status === 'active' && before.firstUsedMs === undefined
  }
}

function changedBy(
  kind: DueChange<Reservation>['kind'],
  before: Reservation,
  nowMs: number,
  { afterMs }: NoShow,
): Reservation {
  switch (kind) {
    case 'expire':
      return revised(before, { status: 'rejected', note: 'not approved in time' }, nowMs)
    case 'start':
      return revised(before, { status: 'active' }, nowMs)
    case 'complete':
      return revised(before, { status: 'completed' }, nowMs)
    case 'release': {
      const note = `no request within ${counted(Math.round(afterMs / MINUTE_MS), 'minute')}`
      return endedEarly(before, note, nowMs)
    }
  }
}
