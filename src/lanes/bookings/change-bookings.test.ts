import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  anna,
  type BookingsWorld,
  ben,
  bookingsWorld,
  local,
  only,
  root,
} from '../../../test/support/bookings-world.ts'
import type { ReservationChange } from '../../contract/reservation.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
import { isoTime, MINUTE_MS } from '../../kernel/units.ts'

let world: BookingsWorld
beforeEach(() => {
  world = bookingsWorld()
})
afterEach(() => world.remove())

const at = (minutes: number) => isoTime(T0 + minutes * MINUTE_MS)
const T0 = Date.UTC(2026, 0, 1)
const pass = (minutes: number) => world.clock.advance(minutes * MINUTE_MS)
const settle = () => {
  return world.book.calendar.settle('gpu0', world.clock.nowMs(), { afterMs: 0, readySinceMs: undefined })
}
const statuses = () => world.db.prepare('SELECT status FROM reservations ORDER BY start_ms').pluck().all()
const told = () => world.notices.map(({ event }) => event)

async function booked(start: number, minutes: number, more: Record<string, unknown> = {}): Promise<string> {
  return only(await world.make(world.ask(start, minutes, more)))
}

describe('change', () => {
  it('moves, retargets, renames; what is absent stays', async () => {
    const id = await booked(60, 60, { members: ['ben'], title: 'a' })
    const { bookings } = world.book
    const moved = await bookings.change(id, { start: at(90), end: at(180) }, anna)
    expect(moved).toMatchObject({
      start: at(90),
      end: at(180),
      booked_end: at(180),
      title: 'a',
      members: [{ name: 'ben' }],
    })
    const other = await bookings.change(id, { model: 'org/b', title: 'b', members: [] }, anna)
    expect(other).toMatchObject({ start: at(90), target: { model: 'org/b' }, title: 'b', members: [] })
    expect((await bookings.change(id, { profile: 'fast' }, anna)).target).toEqual({
      kind: 'model',
      model: 'org/b',
      profile: 'fast',
    })
    expect((await bookings.change(id, { exclusive: true }, root)).target).toBeNull()
    expect((await bookings.change(id, { exclusive: false }, anna)).target).toMatchObject({ model: 'org/a' })
    expect(world.book.calendar.upcoming('gpu0', T0)).toMatchObject([{ id, startMs: T0 + 90 * MINUTE_MS }])
  })

  it('says where else it would fit, if it can be moved', async () => {
    const id = await booked(60, 60)
    await booked(120, 60)
    const { bookings } = world.book
    const details = await bookings.change(id, { end: at(130) }, anna).catch((cause: Hal0Error) => cause.details)
    expect(details).toMatchObject({ next_free: { start: at(180), end: at(250) } })
    await pass(61)
    settle()
    const running = await bookings.extend(id, 10, anna).catch((cause: Hal0Error) => cause.details)
    expect(running).not.toHaveProperty('next_free')
  })

  it('tells what was before', async () => {
    const id = await booked(60, 60)
    await world.book.bookings.change(id, { end: at(180) }, root)
    expect(world.notices.at(-1)).toMatchObject({
      event: 'changed',
      detail: 'It was changed by root.',
      booking: { endMs: T0 + 180 * MINUTE_MS },
      before: { endMs: T0 + 120 * MINUTE_MS },
    })
  })

  it('wall times are those of the zone', async () => {
    const id = await booked(60, 60)
    const row = await world.book.bookings.change(id, { start: '2026-01-02T10:00', end: '2026-01-02T11:00' }, anna)
    expect([row.start, row.end]).toEqual(['2026-01-02T09:00:00.000Z', '2026-01-02T10:00:00.000Z'])
  })

  it.each<[string, ReservationChange, string, string]>([
    ['overlap', { end: at(121) }, 'reservation.overlap', 'ben'],
    ['a limit: too short', { end: at(70) }, 'reservation.limit', 'min_minutes'],
    [
      'a limit: too far',
      { start: at(31 * 24 * 60), end: at(31 * 24 * 60 + 60) },
      'reservation.limit',
      'max_days_ahead',
    ],
    ['a limit: exclusive', { exclusive: true }, 'reservation.limit', 'allow_exclusive'],
    ['the past', { start: at(-2) }, 'validation.invalid', 'in the past'],
    ['the end before the start', { start: at(130) }, 'validation.invalid', 'not after the start'],
    ['model and exclusive', { exclusive: true, model: 'org/b' }, 'validation.invalid', 'loads no model'],
    ['no such model', { model: 'org/missing' }, 'model.not_found', 'org/missing'],
    ['no such user', { members: ['who'] }, 'validation.invalid', '"who"'],
  ])('is refused: %s, and nothing has changed', async (_, change, code, text) => {
    const id = await booked(60, 60)
    await world.make(world.ask(120, 60), ben)
    const before = world.book.bookings.show(id, anna)
    await expect(world.book.bookings.change(id, change, anna)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(text),
    })
    expect(world.book.bookings.show(id, anna)).toEqual(before)
  })

  it('only its owner and admins may; others are told', async () => {
    const id = await booked(60, 60, { members: ['ben'] })
    for (const by of [ben]) {
      await expect(world.book.bookings.change(id, { title: 'x' }, by)).rejects.toMatchObject({ code: 'auth.forbidden' })
      await expect(world.book.bookings.extend(id, 1, by)).rejects.toMatchObject({ code: 'auth.forbidden' })
      await expect(world.book.bookings.cancel(id, { series: false }, by)).rejects.toMatchObject({
        code: 'auth.forbidden',
      })
      await expect(world.book.bookings.approve(id, { series: false }, by)).rejects.toMatchObject({
        code: 'auth.forbidden',
      })
    }
    await world.book.bookings.change(id, { title: 'x' }, root)
    await world.book.bookings.extend(id, 30, local)
    expect(world.notices.at(-1)).toMatchObject({ event: 'changed', byUserId: 'local', occasion: 'revision 2' })
    expect(told()).toEqual(['approved', 'changed'])
  })

  it('of an active one only end, title and members move', async () => {
    const id = await booked(0, 60)
    await pass(1)
    const { bookings } = world.book
    for (const change of [{ start: at(5) }, { model: 'org/b' }, { exclusive: true }]) {
      await expect(bookings.change(id, change, root)).rejects.toMatchObject({ code: 'reservation.state' })
    }
    const row = await bookings.change(
      id,
      { start: at(0), model: 'org/a', title: 't', members: ['ben'], end: at(30) },
      anna,
    )
    expect(row).toMatchObject({ status: 'active', end: at(30), title: 't', members: [{ name: 'ben' }] })
    await pass(20)
    await expect(bookings.change(id, { end: at(21) }, root)).rejects.toMatchObject({ code: 'validation.invalid' })
    expect((await bookings.change(id, { end: isoTime(T0 + 21 * MINUTE_MS + 1) }, root)).status).toBe('active')
  })

  it('while it starts nothing changes, and cancel works', async () => {
    const [id, next] = [await booked(0, 60), await booked(60, 60)]
    world.starting.add(id).add(next)
    settle()
    const { bookings } = world.book
    await expect(bookings.change(id, { title: 'x' }, anna)).rejects.toMatchObject({ code: 'reservation.state' })
    await expect(bookings.extend(next, 5, root)).rejects.toMatchObject({ code: 'reservation.state' })
    expect((await bookings.cancel(id, { series: false }, anna)).status).toBe('ended_early')
    expect((await bookings.cancel(next, { series: false }, anna)).status).toBe('cancelled')
  })

  it('what was approved is asked anew when it becomes something else', async () => {
    world.files.set('gpu0', { approval: 'required' })
    const id = await booked(60, 120)
    const { bookings } = world.book
    await bookings.approve(id, { series: false }, root)
    expect((await bookings.change(id, { end: at(150), title: 'shorter' }, anna)).status).toBe('approved')
    expect((await bookings.extend(id, 1, root)).status).toBe('approved')
    expect((await bookings.extend(id, 1, anna)).status).toBe('pending')
    expect(told()).toEqual(['requested', 'approved', 'changed', 'changed', 'changed', 'requested'])
  })
})

describe('extend', () => {
  it('by minutes, within limits, not into the next one', async () => {
    world.files.set('gpu0', { limits: { max_hours: 2 } })
    const id = await booked(0, 60)
    await world.make(world.ask(130, 60), ben)
    await pass(30)
    const { bookings } = world.book
    expect((await bookings.extend(id, 60, anna)).end).toBe(at(120))
    await expect(bookings.extend(id, 1, anna)).rejects.toMatchObject({ code: 'reservation.limit' })
    await expect(bookings.extend(id, 11, root)).rejects.toMatchObject({ code: 'reservation.overlap' })
    expect((await bookings.extend(id, 10, root)).end).toBe(at(130))
    await expect(bookings.extend(id, 0, root)).rejects.toMatchObject({ code: 'validation.invalid' })
    await expect(bookings.extend(id, Number.NaN, root)).rejects.toMatchObject({ code: 'validation.invalid' })
    await expect(bookings.extend(id, 1e300, root)).rejects.toMatchObject({ code: 'validation.invalid' })
  })
})

describe('the end', () => {
  it('early: what is left is free, and it says what was booked', async () => {
    const id = await booked(0, 60)
    await expect(world.book.bookings.end(await booked(60, 15), anna)).rejects.toMatchObject({
      code: 'reservation.state',
    })
    await pass(10)
    expect(await world.book.bookings.end(id, anna)).toMatchObject({
      status: 'ended_early',
      end: at(10),
      booked_end: at(60),
    })
    await expect(world.book.bookings.end(id, anna)).rejects.toMatchObject({ code: 'reservation.state' })
    expect(await world.book.bookings.cancel(id, { series: false }, anna)).toMatchObject({
      status: 'ended_early',
      end: at(10),
    })
    await world.make(world.ask(0, 50), ben)
    expect(world.events.map(({ type }) => type.replace('reservation.', ''))).toEqual([
      ...['created', 'started', 'created', 'ended', 'created'],
    ])
  })

  it.each([
    [35, 'It was ended by root, 25 minutes before the end that was booked.'],
    [59, 'It was ended by root, 1 minute before the end that was booked.'],
    [59.9, 'It was ended by root.'],
  ])('says who did it, and how early: after %d minutes', async (minutes, detail) => {
    const id = await booked(0, 60)
    settle()
    await pass(minutes)
    await world.book.bookings.end(id, root)
    expect(world.notices.at(-1)).toMatchObject({ event: 'ended', detail, booking: { status: 'ended_early' } })
  })

  it('in the ms of its start', async () => {
    const id = await booked(0, 60)
    settle()
    expect(await world.book.bookings.end(id, anna)).toMatchObject({ status: 'ended_early', end: at(0) })
    expect(world.book.calendar.lastStartMs('gpu0', T0)).toBe(T0)
  })

  it('after the clock was put back', async () => {
    const id = await booked(10, 60)
    await pass(11)
    settle()
    world.clock.jumpWallClock(-5 * MINUTE_MS)
    expect(await world.book.bookings.end(id, anna)).toMatchObject({ start: at(10), end: at(10) })
  })

  it('of a series: those that are still to come', async () => {
    const repeat = { every: 'day', count: 4 }
    const ids = await world.make(world.ask(0, 60, { repeat }))
    await pass(24 * 60 + 5)
    settle()
    await world.book.bookings.cancel(ids[2] ?? '', { series: true }, anna)
    expect(statuses()).toEqual(['completed', 'active', 'cancelled', 'cancelled'])
    expect(told().filter((event) => event === 'cancelled')).toHaveLength(1)
    expect(world.notices.at(-1)?.detail).toContain('1 more of its series')
  })
})

describe('approval', () => {
  beforeEach(() => void world.files.set('gpu0', { approval: 'required' }))

  it('is asked of admins, who decide', async () => {
    const [a, b] = [await booked(60, 60), await booked(120, 60)]
    const { bookings, calendar } = world.book
    expect(statuses()).toEqual(['pending', 'pending'])
    await expect(world.make(world.ask(60, 60), ben)).rejects.toMatchObject({ code: 'reservation.overlap' })
    expect((await bookings.approve(a, { series: false }, root)).status).toBe('approved')
    expect(await bookings.reject(b, { series: false, reason: 'not now' }, root)).toMatchObject({ note: 'not now' })
    await expect(bookings.approve(b, { series: false }, root)).rejects.toMatchObject({ code: 'reservation.state' })
    expect(told()).toEqual(['requested', 'requested', 'approved', 'rejected'])
    expect(world.notices.at(-1)?.detail).toBe('It was rejected by root. Reason: Not now.')
    expect(calendar.upcoming('gpu0', T0).map(({ id }) => id)).toEqual([a])
    await world.make(world.ask(120, 60), root)
    expect(statuses()).toEqual(['approved', 'rejected', 'approved'])
  })

  it('is asked for anew by each change of window or model, with what was before', async () => {
    const id = await booked(60, 60)
    const { bookings } = world.book
    await bookings.change(id, { start: at(120), end: at(600) }, anna)
    await bookings.extend(id, 30, anna)
    await bookings.change(id, { title: 'x' }, anna)
    const asked = world.notices.filter(({ event }) => event === 'requested')
    expect(asked.map(({ occasion, before, booking }) => [occasion, before?.endMs, booking.endMs])).toEqual([
      ['', undefined, T0 + 120 * MINUTE_MS],
      ['revision 1', T0 + 120 * MINUTE_MS, T0 + 600 * MINUTE_MS],
      ['revision 2', T0 + 600 * MINUTE_MS, T0 + 630 * MINUTE_MS],
    ])
  })

  it('that is not needed any more is told to those who were asked', async () => {
    const [a, b] = [await booked(60, 60), await booked(120, 60)]
    const { bookings } = world.book
    await bookings.cancel(a, { series: false }, anna)
    await bookings.approve(b, { series: false }, root)
    await bookings.cancel(b, { series: false }, root)
    const cancelled = world.notices.filter(({ event }) => event === 'cancelled')
    expect(cancelled.map(({ wasPending, detail }) => [wasPending, detail])).toEqual([
      [true, 'It was cancelled by anna.'],
      [false, 'It was cancelled by root.'],
    ])
  })

  it('of a series is one decision', async () => {
    const ids = await world.make(world.ask(60, 60, { repeat: { every: 'week', count: 3 } }))
    await world.book.bookings.approve(ids[1] ?? '', { series: true }, root)
    expect(statuses()).toEqual(['approved', 'approved', 'approved'])
    expect(told()).toEqual(['requested', 'approved'])
  })

  it('comes too late at the start', async () => {
    const id = await booked(60, 60)
    await pass(60)
    await expect(world.book.bookings.approve(id, { series: false }, root)).rejects.toThrow('rejected')
    expect(world.book.bookings.show(id, anna)).toMatchObject({ status: 'rejected', note: 'not approved in time' })
    await world.make(world.ask(0, 60), root)
  })
})
