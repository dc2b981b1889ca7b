import { renameSync, rmSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  anna,
  type BookingsWorld,
  ben,
  bookingsWorld,
  only,
  overlapping,
  root,
} from '../../../test/support/bookings-world.ts'
import { reservationChangeSchema } from '../../contract/reservation.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { HOUR_MS, isoTime, MINUTE_MS } from '../../kernel/units.ts'
import { openReservationTable } from './reservation-table.ts'

let world: BookingsWorld
beforeEach(() => {
  world = bookingsWorld()
})
afterEach(() => world.remove())

const NEVER = { afterMs: 0, readySinceMs: undefined }
const T0 = Date.UTC(2026, 0, 1)
const settle = (book = world.book) => book.calendar.settle('gpu0', world.clock.nowMs(), NEVER)
const types = () => world.events.map(({ type }) => type)

describe('a store that cannot be used', () => {
  it('for life: said once, writes are 503', async () => {
    const book = world.again({ db: undefined, dbProblem: 'no binding' })
    expect([book.calendar.problem, types()]).toEqual(['no binding', ['lanes.store_off']])
    await expect(book.bookings.create(world.ask(0, 60), anna)).rejects.toMatchObject({
      ...{ code: 'lane.store_unavailable', retryAfterS: 30 },
    })
    expect(() => book.bookings.list({}, anna)).toThrow('no binding')
    expect([settle(book), book.calendar.upcoming('gpu0', 0)]).toEqual([T0 + 30_000, []])
    book.calendar.used('r0', 0)
    book.close()
    expect(types()).toHaveLength(1)
  })

  it('for a while: the mirror stays, the clock counts, and all follows when it can be written', async () => {
    const id = only(await world.make(world.ask(1, 60)))
    const heard: string[] = []
    world.book.calendar.onChange((lane) => heard.push(lane))
    world.db.pragma('query_only = ON')
    await expect(world.make(world.ask(100, 60))).rejects.toMatchObject({
      code: 'lane.store_unavailable',
      retryAfterS: 30,
    })
    expect([world.book.calendar.problem, heard.toSorted()]).toEqual([
      expect.stringContaining('readonly'),
      ['gpu0', 'gpu1'],
    ])
    await world.clock.advance(MINUTE_MS)
    expect(settle()).toBe(T0 + 90_000)
    expect(world.book.calendar.upcoming('gpu0', T0 + MINUTE_MS)).toMatchObject([{ id, status: 'approved' }])
    expect(world.notices.map(({ event }) => event)).toEqual(['approved', 'started'])
    world.book.calendar.used(id, T0 + MINUTE_MS)
    world.db.pragma('query_only = OFF')
    // It was tried a moment ago.
    settle()
    expect(world.book.calendar.problem).toBeDefined()
    await world.clock.advance(30_000)
    settle()
    expect(world.book.calendar.problem).toBeUndefined()
    expect(world.book.bookings.show(id, anna)).toMatchObject({
      status: 'active',
      first_used_at: isoTime(T0 + MINUTE_MS),
    })
    expect(types()).toEqual(['reservation.created', 'lanes.store_off', 'lanes.store_on', 'reservation.started'])
    expect(world.notices.map(({ event }) => event)).toEqual(['approved', 'started'])
  })

  it('a full disk: nothing of a booking is written, and lanes go on by what is known', async () => {
    const before = only(await world.make(world.ask(1, 60)))
    const pages = Number(world.db.pragma('page_count', { simple: true }))
    world.db.pragma(`max_page_count = ${pages}`)
    const title = 'x'.repeat(200)
    const series = world.ask(24 * 60, 30, { title, repeat: { every: 'day', count: 20 } })
    const full = { code: 'lane.store_unavailable', retryAfterS: 30, message: expect.stringContaining('full') }
    await expect(world.make(series, root)).rejects.toMatchObject(full)
    const { problem, unread, upcoming } = world.book.calendar
    expect([problem, unread]).toEqual([expect.stringContaining('full'), undefined])
    expect(upcoming('gpu0', T0)).toMatchObject([{ id: before }])
    expect(world.book.bookings.list({}, root)).toHaveLength(1)
    expect(world.events.at(-1)?.message).toContain('lanes go on by those that are known')
    world.db.pragma('max_page_count = 1000000')
    expect(await world.make(series, root)).toHaveLength(20)
    expect(types().filter((type) => type.startsWith('lanes.'))).toEqual(['lanes.store_off', 'lanes.store_on'])
  })

  // What was booked after it went to a file without a name, and was lost at the next start.
  it('a file that was moved away is seen at the next look, once, and all goes on when it is back', async () => {
    const id = only(await world.make(world.ask(0, 60)))
    settle()
    renameSync(world.path, `${world.path}.away`)
    settle()
    await world.clock.advance(MINUTE_MS)
    settle()
    const { calendar } = world.book
    expect(calendar.unread).toContain('moved away')
    expect(calendar.upcoming('gpu0', world.clock.nowMs())).toMatchObject([{ id }])
    await expect(world.make(world.ask(100, 60))).rejects.toMatchObject({ code: 'lane.store_unavailable' })
    renameSync(`${world.path}.away`, world.path)
    await world.clock.advance(30_000)
    settle()
    expect([calendar.problem, calendar.unread]).toEqual([undefined, undefined])
    await world.make(world.ask(100, 60))
    expect(types().filter((type) => type.startsWith('lanes.'))).toEqual(['lanes.store_off', 'lanes.store_on'])
  })

  it('a full disk whose file is deleted too is another trouble, and told', async () => {
    world.db.pragma('query_only = ON')
    await expect(world.make(world.ask(0, 60))).rejects.toThrow('readonly')
    rmSync(world.path)
    await expect(world.make(world.ask(0, 60))).rejects.toThrow('deleted')
    expect([types(), world.book.calendar.unread]).toEqual([
      ['lanes.store_off', 'lanes.store_off'],
      expect.stringContaining('deleted'),
    ])
  })

  it('a write tries again at once', async () => {
    world.db.pragma('query_only = ON')
    await expect(world.make(world.ask(0, 60))).rejects.toThrow('readonly')
    world.db.pragma('query_only = OFF')
    await world.make(world.ask(0, 60))
    expect(world.book.calendar.problem).toBeUndefined()
  })

  it('one that was off at the start is read when it can be', async () => {
    await world.make(world.ask(60, 60))
    world.db.exec('ALTER TABLE reservations RENAME TO away')
    const book = world.again()
    expect(book.calendar.problem).toContain('no such table')
    world.db.exec('ALTER TABLE away RENAME TO reservations')
    await world.clock.advance(30_000)
    settle(book)
    expect([book.calendar.problem, book.calendar.upcoming('gpu0', T0).length]).toEqual([undefined, 1])
  })

  it('a file that is busy for a moment is no problem, one that stays busy is', async () => {
    const other = new Sqlite(world.path)
    world.db.pragma('busy_timeout = 0')
    try {
      other.exec('BEGIN IMMEDIATE')
      const wanted = world.ask(90, 60)
      const busy = { code: 'lane.store_unavailable', retryAfterS: 1 }
      await expect(world.make(wanted)).rejects.toMatchObject(busy)
      await world.clock.advance(MINUTE_MS - 1)
      await expect(world.make(wanted)).rejects.toMatchObject(busy)
      expect(world.book.calendar.problem).toBeUndefined()
      await world.clock.advance(1)
      await expect(world.make(wanted)).rejects.toMatchObject({ retryAfterS: 30 })
      expect(world.book.calendar.problem).toContain('locked')
      other.exec('ROLLBACK')
      await world.make(wanted)
      expect(types().slice(0, 2)).toEqual(['lanes.store_off', 'lanes.store_on'])
    } finally {
      other.close()
    }
  })

  it('what another process wrote is seen when it is in the way', async () => {
    const other = world.again()
    await world.make(world.ask(60, 60))
    await expect(other.bookings.create(world.ask(60, 60), ben)).rejects.toMatchObject({ code: 'reservation.overlap' })
    expect(other.calendar.upcoming('gpu0', 0)).toEqual(world.book.calendar.upcoming('gpu0', 0))
  })

  it('after a restart all is there', async () => {
    await world.make(world.ask(60, 60, { members: ['ben'], title: 'x' }))
    await world.make(world.ask(0, 60, { exclusive: true }), root)
    expect(world.again().calendar.upcoming('gpu0', 0)).toEqual(world.book.calendar.upcoming('gpu0', 0))
  })
})

describe('many', () => {
  it('a booking is looked for by the index', () => {
    const sql =
      "SELECT * FROM reservations WHERE lane = 'a' AND status IN ('pending', 'approved', 'active') AND end_ms > 5 ORDER BY end_ms"
    const plan = world.db.prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all()
    expect(plan.map(({ detail }) => detail)).toEqual([
      'SEARCH reservations USING INDEX reservations_open (lane=? AND end_ms>?)',
    ])
  })

  it('of 200 lanes with 50,000 only the lane in question is touched', async () => {
    const insert = world.db.prepare(`
      INSERT INTO reservations (id, lane, owner_id, title, start_ms, end_ms, booked_end_ms, status, time_zone, created_at_ms,
        changed_at_ms, revision)
      VALUES (?, ?, 'u-ben', '', ?, ?, ?, 'approved', 'UTC', 0, 0, 0)
    `)
    world.db.transaction(() => {
      for (let n = 0; n < 50_000; n++) {
        const startMs = T0 + HOUR_MS * (1 + Math.floor(n / 200))
        insert.run(`r${n}`, `lane${n % 200}`, startMs, startMs + HOUR_MS, startMs + HOUR_MS)
      }
    })()
    for (let n = 0; n < 200; n++) world.files.set(`lane${n}`, {})
    const book = world.again()
    const heard = new Set<string>()
    book.calendar.onChange((lane) => heard.add(lane))
    const before = book.calendar.upcoming('lane8', T0)
    expect(before).toHaveLength(250)
    await book.bookings.create(world.ask(0, 60, { lane: 'lane7' }), anna)
    expect([book.calendar.upcoming('lane7', T0).length, [...heard]]).toEqual([251, ['lane7']])
    expect(book.calendar.upcoming('lane8', T0)).toBe(before)
  })
})

describe('always', () => {
  const lane = fc.constantFrom('gpu0', 'gpu1')
  const minutes = fc.integer({ min: 15, max: 180 })
  const nth = fc.nat({ max: 12 })
  const step = fc.oneof(
    fc.record({
      do: fc.constant('create' as const),
      lane,
      at: fc.nat({ max: 600 }),
      minutes,
      days: fc.integer({ min: 1, max: 3 }),
    }),
    fc.record({ do: fc.constant('move' as const), nth, at: fc.nat({ max: 600 }), minutes }),
    fc.record({ do: fc.constantFrom('extend' as const, 'pass' as const), nth, minutes }),
    fc.record({
      do: fc.constantFrom('cancel' as const, 'end' as const, 'approve' as const, 'used' as const),
      nth,
      series: fc.boolean(),
    }),
  )

  it('no two blocking bookings of a lane overlap, and the mirror says what the table says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const one = bookingsWorld()
        try {
          one.files.set('gpu1', { approval: 'required' })
          const table = openReservationTable(one.db)
          const { bookings, calendar } = one.book
          const ids: string[] = []
          const at = (offset: number) => isoTime(one.clock.nowMs() + offset * MINUTE_MS)
          const run = async (now: (typeof steps)[number]): Promise<unknown> => {
            const id = 'nth' in now ? (ids[now.nth % Math.max(1, ids.length)] ?? '') : ''
            switch (now.do) {
              case 'create': {
                const repeat = now.days > 1 ? { repeat: { every: 'day', count: now.days } } : {}
                return ids.push(...(await one.make(one.ask(now.at, now.minutes, { lane: now.lane, ...repeat }), anna)))
              }
              case 'move':
                return bookings.change(
                  id,
                  reservationChangeSchema.parse({ start: at(now.at), end: at(now.at + now.minutes) }),
                  anna,
                )
              case 'extend':
                return bookings.extend(id, now.minutes, anna)
              case 'cancel':
                return bookings.cancel(id, now, anna)
              case 'end':
                return bookings.end(id, anna)
              case 'approve':
                return bookings.approve(id, now, root)
              case 'used':
                return calendar.used(id, one.clock.nowMs())
              case 'pass': {
                await one.clock.advance(now.minutes * MINUTE_MS)
                for (const name of ['gpu0', 'gpu1']) {
                  const next = calendar.settle(name, one.clock.nowMs(), { afterMs: HOUR_MS, readySinceMs: T0 })
                  expect(next ?? Number.POSITIVE_INFINITY).toBeGreaterThan(one.clock.nowMs())
                }
                return undefined
              }
            }
          }
          for (const now of steps) {
            await run(now).catch((error: unknown) => {
              if (!(error instanceof Hal0Error) || error.code === 'internal') throw error
            })
            expect(overlapping(one.db)).toBe(0)
            for (const name of ['gpu0', 'gpu1']) {
              const inMemory = calendar.upcoming(name, 0)
              const owed = new Map(inMemory.map(({ id, firstUsedMs }) => [id, firstUsedMs]))
              // A first use is written a moment later.
              const written = table.blockingOf(name).map((row) => ({ ...row, firstUsedMs: owed.get(row.id) }))
              expect(inMemory).toEqual(written)
            }
          }
        } finally {
          one.remove()
        }
      }),
      { numRuns: 40 },
    )
  })
})
