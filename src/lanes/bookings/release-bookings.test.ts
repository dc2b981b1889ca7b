import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  anna,
  type BookingsWorld,
  ben,
  bookingsWorld,
  only,
  people,
  root,
} from '../../../test/support/bookings-world.ts'
import { HOUR_MS, isoTime, MINUTE_MS } from '../../kernel/units.ts'

let world: BookingsWorld
beforeEach(() => {
  world = bookingsWorld()
})
afterEach(() => world.remove())

const stands = (id: string) => world.book.bookings.show(id, root)
const settle = () => {
  return world.book.calendar.settle('gpu0', world.clock.nowMs(), { afterMs: 0, readySinceMs: undefined })
}
const members = (id: string) => stands(id).members.map(({ name }) => name)

describe('releaseUser', () => {
  it('ends what runs and cancels what is to come, of all lanes; others keep theirs', async () => {
    const over = only(await world.make(world.ask(0, 15)))
    const running = only(await world.make(world.ask(20, 60, { members: ['ben'] })))
    const ahead = only(await world.make(world.ask(120, 60)))
    const elsewhere = only(await world.make(world.ask(120, 60, { lane: 'gpu1' })))
    const other = only(await world.make(world.ask(200, 60, { members: ['anna'] }), ben))
    await world.clock.advance(30 * MINUTE_MS)
    settle()
    world.events.length = 0
    world.notices.length = 0
    const heard = new Set<string>()
    world.book.calendar.onChange((lane) => heard.add(lane))

    expect(world.book.releaseUser('u-anna', 'deleted', root)).toBe(3)
    const note = 'its owner was deleted by root'
    const now = isoTime(world.clock.nowMs())
    expect(stands(running)).toMatchObject({ status: 'ended_early', end: now, note, changed_at: now })
    for (const id of [ahead, elsewhere]) expect(stands(id)).toMatchObject({ status: 'cancelled', note, revision: 1 })
    expect(stands(over)).toMatchObject({ status: 'completed', owner: { id: 'u-anna' } })
    expect([stands(other).status, members(other)]).toEqual(['approved', []])
    expect(world.book.calendar.upcoming('gpu0', world.clock.nowMs())).toMatchObject([{ id: other, memberIds: [] }])
    expect([...heard].toSorted()).toEqual(['gpu0', 'gpu1'])
    expect(world.events.map(({ type, data }) => [type, data['reservation'], data['by']])).toEqual([
      ['reservation.ended', running, 'root'],
      ['reservation.cancelled', ahead, 'root'],
      ['reservation.cancelled', elsewhere, 'root'],
      ['reservation.changed', other, 'root'],
    ])
    expect(world.notices.map(({ event, booking, detail }) => [event, booking.id, detail])).toEqual([
      ['ended', running, 'Its owner, anna, was deleted by root.'],
      ['cancelled', ahead, 'Its owner, anna, was deleted by root.'],
      ['cancelled', elsewhere, 'Its owner, anna, was deleted by root.'],
    ])

    expect(world.book.releaseUser('u-anna', 'deleted', root)).toBe(0)
    expect(world.notices).toHaveLength(3)
    await world.make(world.ask(90, 60), ben)
  })

  it('of somebody who is disabled leaves the places in what others have booked', async () => {
    const own = only(await world.make(world.ask(60, 60)))
    const other = only(await world.make(world.ask(200, 60, { members: ['anna'] }), ben))
    expect(world.book.releaseUser('u-anna', 'disabled', root)).toBe(1)
    expect(stands(own)).toMatchObject({ status: 'cancelled', note: 'its owner was disabled by root' })
    expect(members(other)).toEqual(['anna'])
  })

  it('tells of a series once', async () => {
    await world.make(world.ask(60, 60, { repeat: { every: 'day', count: 3 } }))
    world.notices.length = 0
    expect(world.book.releaseUser('u-anna', 'deleted', root)).toBe(3)
    expect(world.notices.map(({ detail }) => detail)).toEqual([
      'Its owner, anna, was deleted by root. The same goes for 2 more of its series.',
    ])
  })

  it('lets nobody book for somebody who was released while it was planned', async () => {
    let isGone = false
    const byId: typeof people.byId = (id) => (isGone && id === 'u-anna' ? undefined : people.byId(id))
    const book = world.again({
      people: { ...people, byId },
      exceedsVram: async () => {
        isGone = true
        return false
      },
    })
    await expect(book.bookings.create(world.ask(60, 60), anna)).rejects.toMatchObject({ code: 'validation.invalid' })
    expect(world.db.prepare('SELECT count(*) FROM reservations').pluck().get()).toBe(0)
    isGone = false
    const made = await book.bookings.create(world.ask(60, 60, { members: ['anna'] }), ben)
    expect(made.reservations).toMatchObject([{ members: [] }])
  })

  it('names who is gone as that, in rows and in what is in the way', async () => {
    const id = only(await world.make(world.ask(60, 60, { members: ['ben'] })))
    const book = world.again({
      people: { ...people, byId: (who) => (who === 'u-root' ? people.byId(who) : undefined) },
    })
    expect(book.bookings.show(id, root)).toMatchObject({
      owner: { id: 'u-anna', name: 'deleted user' },
      members: [{ id: 'u-ben', name: 'deleted user' }],
    })
    const failed = book.bookings.create(world.ask(90, 60), root)
    await expect(failed).rejects.toThrow(`${id} of deleted user (`)
  })
})

describe('a row', () => {
  it('says how often and when it was last changed', async () => {
    const id = only(await world.make(world.ask(60, 60)))
    const madeMs = world.clock.nowMs()
    const seen = () => {
      const { revision, changed_at } = stands(id)
      return [revision, (Date.parse(changed_at) - madeMs) / MINUTE_MS]
    }
    expect(seen()).toEqual([0, 0])
    await world.clock.advance(5 * MINUTE_MS)
    const change = { end: isoTime(madeMs + 3 * HOUR_MS) }
    expect((await world.book.bookings.change(id, change, anna)).revision).toBe(1)
    expect(seen()).toEqual([1, 5])
    await world.clock.advance(60 * MINUTE_MS)
    settle()
    expect(seen()).toEqual([2, 65])
    // Who used it is no change of what is booked.
    world.book.calendar.used(id, world.clock.nowMs())
    settle()
    expect(stands(id)).toMatchObject({ revision: 2, first_used_at: isoTime(world.clock.nowMs()) })
    await world.book.bookings.end(id, anna)
    expect(seen()).toEqual([3, 65])
  })
})
