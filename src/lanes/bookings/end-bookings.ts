import { type Caller, isAdmin, nameOf } from '../../access/caller.ts'
import { statusText } from '../../contract/reservation.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { counted, sentence } from '../../kernel/sentence.ts'
import { MINUTE_MS } from '../../kernel/units.ts'
import { type Desk, needReservation, requireOwner } from './booking-desk.ts'
import type { Bookings } from './bookings.ts'
import { occasionOf, type Reservation, revised } from './reservation.ts'
import { reservationRow } from './reservation-row.ts'
import type { ReservationTable } from './reservation-table.ts'

/** What ends bookings, or lets them be. */
export function createEnder(desk: Desk): Pick<Bookings, 'cancel' | 'end' | 'approve' | 'reject'> {
  const { deps, store, teller, settler } = desk

  function catchUp(id: string): void {
    settler.catchUp(store.read((table) => needReservation(table, id)).lane)
  }

  const rowOf = (reservation: Reservation, by: Caller) => reservationRow(reservation, by, deps.people)

  /** Decides on one pending reservation, or on all pending ones of its series; tells what became of them. */
  function judge(id: string, series: boolean, by: Caller, verdict: Verdict) {
    if (!isAdmin(by)) {
      throw Hal0Error.of('auth.forbidden', `only admins may approve or reject a reservation; ${nameOf(by)} is none`)
    }
    catchUp(id)
    const { row, judged } = store.write((table) => {
      const found = needReservation(table, id)
      const all = series ? withSeries(table, found) : [found]
      const pending = all.filter(({ status }) => status === 'pending')
      if (pending.length === 0) {
        throw Hal0Error.of(
          'reservation.state',
          `reservation ${id} is ${statusText(found.status)}: only a pending one is approved or rejected`,
        )
      }
      const nowMs = deps.clock.nowMs()
      const after = pending.map((before) => revised(before, { status: verdict.status, note: verdict.note }, nowMs))
      for (const reservation of after) table.update(reservation, 'pending')
      return { value: { row: after.find((one) => one.id === id) ?? found, judged: after }, changed: after }
    })
    for (const reservation of judged) teller.event(verdict.status, reservation, by)
    const reason = verdict.reason === '' ? '' : ` Reason: ${sentence(verdict.reason)}`
    const [first = row] = judged
    const detail = `It was ${verdict.status} by ${nameOf(by)}.${reason}`
    teller.notice(verdict.status, judged, { occasion: occasionOf(first), by, detail })
    return rowOf(row, by)
  }

  return {
    async cancel(id, { series }, by) {
      catchUp(id)
      const { row, withdrawn, stopped, wasPending } = store.write((table) => {
        const found = needReservation(table, id)
        requireOwner(found, by)
        const note = `cancelled by ${nameOf(by)}`
        const isActive = found.status === 'active'
        const open = (series ? withSeries(table, found) : [found]).filter(
          ({ status }) => status === 'pending' || status === 'approved',
        )
        const nowMs = deps.clock.nowMs()
        const after = open.map((before) => cancelled(before, note, nowMs))
        const over = isActive ? [endedEarly(found, `ended by ${nameOf(by)}`, nowMs)] : []
        for (const [n, before] of open.entries()) table.update(after[n] ?? before, before.status)
        for (const reservation of over) table.update(reservation, 'active')
        const changed = [...over, ...after]
        const shown = changed.find((one) => one.id === id) ?? found
        const asked = open.some(({ status }) => status === 'pending')
        return { value: { row: shown, withdrawn: after, stopped: over, wasPending: asked }, changed }
      })
      for (const reservation of stopped) teller.event('ended', reservation, by)
      for (const reservation of withdrawn) teller.event('cancelled', reservation, by)
      teller.notice('ended', stopped, { occasion: '', by, detail: stopped.map((one) => endedText(one, by)).join(' ') })
      const detail = `It was cancelled by ${nameOf(by)}.`
      teller.notice('cancelled', withdrawn, { occasion: '', by, wasPending, detail })
      return rowOf(row, by)
    },
    async end(id, by) {
      catchUp(id)
      const after = store.write((table) => {
        const found = needReservation(table, id)
        requireOwner(found, by)
        if (found.status !== 'active') {
          throw Hal0Error.of(
            'reservation.state',
            `reservation ${id} is ${statusText(found.status)}: only an active one can be ended`,
          )
        }
        const over = endedEarly(found, `ended by ${nameOf(by)}`, deps.clock.nowMs())
        table.update(over, 'active')
        return { value: over, changed: [over] }
      })
      teller.event('ended', after, by)
      teller.notice('ended', [after], { occasion: '', by, detail: endedText(after, by) })
      return rowOf(after, by)
    },
    async approve(id, { series }, by) {
      return judge(id, series, by, { status: 'approved', note: undefined, reason: '' })
    },
    async reject(id, { series, reason }, by) {
      const note = reason.trim() === '' ? `rejected by ${nameOf(by)}` : reason
      return judge(id, series, by, { status: 'rejected', note, reason: reason.trim() })
    },
  }
}

/** Without the time of the end, which the notice tells in the reader's zone. */
function endedText({ endMs, bookedEndMs }: Reservation, by: Caller): string {
  const minutes = Math.round((bookedEndMs - endMs) / MINUTE_MS)
  const early = minutes < 1 ? '' : `, ${counted(minutes, 'minute')} before the end that was booked`
  return `It was ended by ${nameOf(by)}${early}.`
}

/** As it is once somebody took it back before it began. */
export function cancelled(before: Reservation, note: string, nowMs: number): Reservation {
  return revised(before, { status: 'cancelled', note }, nowMs)
}

/** As it is once it was active and is over now. */
export function endedEarly(before: Reservation, note: string, nowMs: number): Reservation {
  // The clock may have been put back to before its start.
  return revised(before, { status: 'ended_early', endMs: Math.max(before.startMs, nowMs), note }, nowMs)
}

type Verdict =
  | { readonly status: 'approved'; readonly note: undefined; readonly reason: '' }
  /** `reason`: in somebody's words; '' = none was given. */
  | { readonly status: 'rejected'; readonly note: string; readonly reason: string }

/** Itself, and those of its series that are still to come; in order. */
function withSeries(table: ReservationTable, found: Reservation): readonly Reservation[] {
  const others = found.seriesId === undefined ? [] : table.openOfSeries(found.seriesId)
  return others.some(({ id }) => id === found.id) ? others : [found, ...others]
}
