import { type Caller, nameOf } from '../../access/caller.ts'
import type { Desk } from './booking-desk.ts'
import { cancelled, endedEarly } from './end-bookings.ts'
import { type Reservation, revised } from './reservation.ts'
import { personName } from './reservation-row.ts'

/** Why somebody may not come in any more. */
export type GoneReason = 'deleted' | 'disabled'

/**
 * Ends what a person has booked and can use no more: what is still to come is cancelled, what runs is ended early; who is deleted is no member of
 * others' open bookings either. To be called while people still know the name. What is over stays as it is. Idempotent.
 * The answer: how many of their own bookings were ended. Errors: `lane.store_unavailable`; then nothing of it is written. Source: SPEC 13, 14.
 */
export function releaseUser(desk: Desk, userId: string, why: GoneReason, by: Caller): number {
  const { deps, store, teller, settler } = desk
  for (const lane of store.mirror.lanes()) settler.catchUp(lane)
  const { over, withdrawn, left, asked } = store.write((table) => {
    const nowMs = deps.clock.nowMs()
    const note = `its owner was ${why} by ${nameOf(by)}`
    const open = table.openOf(userId)
    const active = open.filter(({ status }) => status === 'active')
    const ahead = open.filter(({ status }) => status !== 'active')
    const shared = why === 'deleted' ? table.openWithMember(userId) : []
    const value = {
      over: active.map((before) => endedEarly(before, note, nowMs)),
      withdrawn: ahead.map((before) => cancelled(before, note, nowMs)),
      left: shared.map((before) => {
        return revised(before, { memberIds: before.memberIds.filter((id) => id !== userId) }, nowMs)
      }),
      asked: new Set(ahead.filter(({ status }) => status === 'pending').map(({ id }) => id)),
    }
    for (const after of value.over) table.update(after, 'active')
    for (const [n, before] of ahead.entries()) table.update(value.withdrawn[n] ?? before, before.status)
    for (const after of value.left) table.update(after, after.status)
    return { value, changed: [...value.over, ...value.withdrawn, ...value.left] }
  })

  for (const reservation of over) teller.event('ended', reservation, by)
  for (const reservation of withdrawn) teller.event('cancelled', reservation, by)
  for (const reservation of left) teller.event('changed', reservation, by)
  const detail = `Its owner, ${personName(userId, deps.people)}, was ${why} by ${nameOf(by)}.`
  const facts = { occasion: '', by, detail }
  for (const reservation of over) teller.notice('ended', [reservation], facts)
  for (const series of bySeries(withdrawn)) {
    teller.notice('cancelled', series, { ...facts, wasPending: series.some(({ id }) => asked.has(id)) })
  }
  return over.length + withdrawn.length
}

/** Those that were booked together, each time in order. */
function bySeries(reservations: readonly Reservation[]): readonly (readonly Reservation[])[] {
  const groups = new Map<string, Reservation[]>()
  for (const reservation of reservations) {
    const key = reservation.seriesId ?? reservation.id
    groups.set(key, [...(groups.get(key) ?? []), reservation])
  }
  return [...groups.values()]
}
