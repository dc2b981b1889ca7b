import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type BookingsWorld, bookingsWorld, only, root } from '../../../test/support/bookings-world.ts'
import { silentLog } from '../../kernel/log.ts'
import { isoTime, MINUTE_MS } from '../../kernel/units.ts'

let world: BookingsWorld
beforeEach(() => {
  world = bookingsWorld()
})
afterEach(() => world.remove())

const T0 = Date.UTC(2026, 0, 1)
const at = (minutes: number) => isoTime(T0 + minutes * MINUTE_MS)
const NEVER = { afterMs: 0, readySinceMs: undefined }
const settle = (noShow: { afterMs: number; readySinceMs: number | undefined } = NEVER, book = world.book) => {
  const next = book.calendar.settle('gpu0', world.clock.nowMs(), noShow)
  return next === undefined ? undefined : (next - T0) / MINUTE_MS
}
const pass = (minutes: number) => world.clock.advance(minutes * MINUTE_MS)
const told = () => world.notices.map(({ event, occasion }) => (occasion === '' ? event : `${event} ${occasion}`))
const types = () => world.events.map(({ type }) => type.replace('reservation.', ''))
const statuses = () => world.db.prepare('SELECT status FROM reservations ORDER BY start_ms').pluck().all()

describe('a life', () => {
  it('by the clock alone, to the ms', async () => {
    await world.make(world.ask(60, 60))
    expect(settle()).toBe(50)
    await world.clock.advance(50 * MINUTE_MS - 1)
    expect([settle(), told().length]).toEqual([50, 1])
    await world.clock.advance(1)
    expect(settle()).toBe(60)
    await world.clock.advance(10 * MINUTE_MS - 1)
    expect([settle(), statuses()]).toEqual([60, ['approved']])
    await world.clock.advance(1)
    expect([settle(), statuses()]).toEqual([115, ['active']])
    await pass(55)
    expect([settle(), settle()]).toEqual([120, 120])
    await pass(5)
    expect([settle(), statuses()]).toEqual([undefined, ['completed']])
    expect(told()).toEqual(['approved', `starting_soon ${at(60)}`, 'started', `ending_soon ${at(120)}`, 'ended'])
    expect(types()).toEqual(['created', 'started', 'completed'])
    expect(world.events.at(-1)).toMatchObject({ source: 'lane:gpu0', data: { lane: 'gpu0', by: 'hal0' } })
  })

  it('short ones are not reminded of, nor those booked at short notice', async () => {
    await world.make(world.ask(10, 15))
    expect(settle()).toBe(10)
    await pass(10)
    expect(settle()).toBe(25)
    expect(told()).toEqual(['approved', 'started'])
  })

  it('an end that is moved is near again', async () => {
    const id = only(await world.make(world.ask(0, 60)))
    await pass(55)
    settle()
    await world.book.bookings.extend(id, 30, root)
    await pass(30)
    settle()
    expect(told().filter((one) => one.startsWith('ending'))).toEqual([`ending_soon ${at(60)}`, `ending_soon ${at(90)}`])
  })

  it('after a long sleep nothing stale is told, and all is settled', async () => {
    world.files.set('gpu0', { approval: 'required' })
    await world.make(world.ask(30, 60), root)
    await world.make(world.ask(90, 60))
    await world.make(world.ask(200, 60), root)
    await pass(205)
    const book = world.again()
    expect(settle(NEVER, book)).toBe(255)
    expect(statuses()).toEqual(['completed', 'rejected', 'active'])
    expect(told().slice(3)).toEqual(['ended', 'rejected', 'started'])
    expect(types().slice(3)).toEqual(['started', 'completed', 'expired', 'started'])
    expect(book.calendar.lastStartMs('gpu0', world.clock.nowMs())).toBe(T0 + 200 * MINUTE_MS)
  })

  it('a clock that is put back starts nothing twice', async () => {
    await world.make(world.ask(10, 60))
    await pass(10)
    settle()
    world.clock.jumpWallClock(-5 * MINUTE_MS)
    expect(settle()).toBe(10)
    world.clock.jumpWallClock(5 * MINUTE_MS)
    settle()
    expect(told().filter((one) => one === 'started')).toHaveLength(1)
    expect(statuses()).toEqual(['active'])
  })
})

describe('what is told', () => {
  it('has the status that it has from then on', async () => {
    world.files.set('gpu1', { approval: 'required' })
    await world.make(world.ask(1, 60))
    await world.make(world.ask(1, 60, { lane: 'gpu1' }))
    const look = (lane: string) => {
      world.book.calendar.settle(lane, world.clock.nowMs(), { afterMs: 0, readySinceMs: undefined })
    }
    for (const minutes of [1, 60]) {
      await pass(minutes)
      for (const lane of ['gpu0', 'gpu1']) look(lane)
    }
    const said = world.notices.map(({ event, booking }) => [event, booking.status])
    expect(said).toEqual(
      expect.arrayContaining([
        ['started', 'active'],
        ['ended', 'completed'],
        ['rejected', 'rejected'],
      ]),
    )
  })
})

describe('no show', () => {
  const rule = (ready: number | undefined) => ({
    afterMs: 10 * MINUTE_MS,
    readySinceMs: ready === undefined ? undefined : T0 + ready * MINUTE_MS,
  })

  it.each<[string, number | undefined, number, number | undefined]>([
    ['10 minutes after its start, if the lane was ready before', -5, 0, 10],
    ['10 minutes after the lane was ready', 3, 0, 13],
    ['never while the lane is not ready', undefined, 0, undefined],
  ])('%s', async (_, ready, start, released) => {
    const id = only(await world.make(world.ask(start, 60)))
    settle(rule(ready))
    await world.clock.advance((released ?? 50) * MINUTE_MS - 1)
    settle(rule(ready))
    expect(statuses()).toEqual(['active'])
    await world.clock.advance(1)
    settle(rule(ready))
    if (released === undefined) {
      expect(statuses()).toEqual(['active'])
      return
    }
    expect(world.book.bookings.show(id, root)).toMatchObject({
      ...{ status: 'ended_early', end: at(released), booked_end: at(60), note: 'no request within 10 minutes' },
    })
    expect([types().at(-1), told().at(-1)]).toEqual(['released', 'ended'])
    await world.make(world.ask(0, 15))
  })

  it('not once it was used, nor the whole card', async () => {
    const id = only(await world.make(world.ask(0, 60)))
    await world.make(world.ask(60, 60, { exclusive: true, lane: 'gpu0' }), root)
    expect(settle(rule(0))).toBe(10)
    await pass(5)
    world.book.calendar.used(id, world.clock.nowMs())
    world.book.calendar.used(id, world.clock.nowMs() + 1)
    world.book.calendar.used('r0', world.clock.nowMs())
    expect(world.book.calendar.upcoming('gpu0', T0)[0]?.firstUsedMs).toBe(T0 + 5 * MINUTE_MS)
    expect(settle(rule(0))).toBe(50)
    expect(world.book.bookings.show(id, root).first_used_at).toBe(at(5))
    await pass(55)
    settle(rule(0))
    await pass(55)
    settle(rule(0))
    expect(statuses()).toEqual(['completed', 'active'])
  })
})

describe('a write that fails for long', () => {
  it('is tried at each look, and warned of once', async () => {
    const warn = vi.spyOn(silentLog, 'warn')
    onTestFinished(() => warn.mockRestore())
    await world.make(world.ask(1, 60))
    world.db.exec("CREATE TRIGGER bad BEFORE UPDATE ON reservations BEGIN SELECT RAISE(ABORT, 'it is bad'); END")
    await pass(1)
    settle()
    settle()
    expect(warn.mock.calls.map(([facts]) => facts)).toEqual([{ lane: 'gpu0', reason: 'it is bad' }])
    world.db.exec('DROP TRIGGER bad')
    settle()
    expect(statuses()).toEqual(['active'])
  })
})

describe('what the lanes read', () => {
  it('is the same array until something changes', async () => {
    const [id] = await world.make(world.ask(1, 60))
    await world.make(world.ask(120, 60))
    const { calendar } = world.book
    const heard: string[] = []
    const stop = calendar.onChange((lane) => heard.push(lane))
    const first = calendar.upcoming('gpu0', T0)
    expect(calendar.upcoming('gpu0', T0 + 61 * MINUTE_MS - 1)).toBe(first)
    expect(calendar.upcoming('gpu0', T0 + 61 * MINUTE_MS)).toHaveLength(1)
    expect(calendar.upcoming('gpu9', T0)).toEqual([])
    await world.make(world.ask(0, 60, { lane: 'gpu1' }))
    await pass(1)
    expect([calendar.upcoming('gpu0', T0), heard]).toEqual([first, ['gpu1']])
    settle()
    expect([calendar.upcoming('gpu0', T0)[0], heard]).toMatchObject([{ id, status: 'active' }, ['gpu1', 'gpu0']])
    stop()
    settle()
    await world.make(world.ask(200, 60))
    expect(heard).toHaveLength(2)
  })

  it('the last start: what was cancelled before does not count', async () => {
    const [a, b] = [only(await world.make(world.ask(10, 20))), only(await world.make(world.ask(40, 20)))]
    const { calendar, bookings } = world.book
    const last = (minutes: number, from = calendar) =>
      (from.lastStartMs('gpu0', T0 + minutes * MINUTE_MS) - T0) / MINUTE_MS
    expect([last(9), last(10), last(39), last(40)]).toEqual([-Infinity, 10, 10, 40])
    await bookings.cancel(b, { series: false }, root)
    expect(last(50)).toBe(10)
    await pass(12)
    settle()
    await bookings.end(a, root)
    expect([last(50), last(50, world.again().calendar), last(9, world.again().calendar)]).toEqual([10, 10, 10])
  })
})
