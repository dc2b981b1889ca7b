import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bookingOf, type NoticesWorld, noticeOf, noticesWorld, person } from '../../../test/support/notices-world.ts'
import { HOUR_MS } from '../../kernel/units.ts'
import { NOTICES_KEPT_MS, NOTICES_PER_USER } from './create-notices.ts'
import { STORE_RETRY_MS } from './delivery-worker.ts'
import type { Notices } from './notices.ts'
import { MAX_WAITING } from './waiting-notices.ts'

let world: NoticesWorld
beforeEach(() => {
  world = noticesWorld()
})
afterEach(() => world.remove())

const ALL = { unreadOnly: false, limit: 5_000 }
const told = (notices: Notices, userId: string) => notices.list(userId, ALL).map(({ event }) => event)

describe('in the app', () => {
  it('tells the holders, each in their own zone, newest first', () => {
    world.people.set('bob', person('bob', { timeZone: 'Asia/Tokyo' }))
    const { notices } = world.start()
    notices.tell(noticeOf({ event: 'approved' }))
    notices.tell(noticeOf({ event: 'started', detail: 'The model is ready.' }))
    expect(told(notices, 'alice')).toEqual(['started', 'approved'])
    expect(told(notices, 'root')).toEqual([])
    const [newest, oldest] = notices.list('bob', ALL)
    expect(newest).toEqual({
      id: 4,
      event: 'started',
      reservation_id: 'r1',
      lane: 'gpu0',
      title: 'Started: gpu0, Wed 2 Dec 2026, 03:00 to 05:00 (Asia/Tokyo)',
      body: 'The booking by alice of gpu0, Wed 2 Dec 2026, 03:00 to 05:00 (Asia/Tokyo), model qwen (profile chat), has started. The model is ready. See `hal0 reservation show r1`.',
      created_at: '2026-01-01T00:00:00.000Z',
      read_at: null,
    })
    expect(oldest?.id).toBe(2)
    expect(notices.list('bob', { ...ALL, limit: 1 })).toEqual([newest])
  })

  it('tells what a booking was before, in the zone of each', () => {
    world.people.set('bob', person('bob', { timeZone: 'Asia/Tokyo' }))
    const { notices } = world.start()
    const before = bookingOf()
    const booking = bookingOf({ endMs: before.endMs + HOUR_MS, status: 'pending' })
    notices.tell(noticeOf({ event: 'changed', booking, before }))
    const said = 'before. It waits for approval again.'
    expect(notices.list('alice', ALL)[0]?.body).toContain(`It was Tue 1 Dec 2026, 18:00 to 20:00 (UTC) ${said}`)
    expect(notices.list('bob', ALL)[0]?.body).toContain(`It was Wed 2 Dec 2026, 03:00 to 05:00 (Asia/Tokyo) ${said}`)
  })

  it('tells administrators alone what an engine said, holders among them too', () => {
    const { notices } = world.start()
    const booking = bookingOf({ ownerId: 'root' })
    notices.tell(noticeOf({ event: 'fallback', booking, detail: 'It failed.', adminDetail: 'No /x.' }))
    const bodies = ['root', 'bob'].map((id) => notices.list(id, ALL)[0]?.body ?? '')
    expect(bodies.map((body) => [body.includes('It failed.'), body.includes('/x')])).toEqual([
      [false, true],
      [true, false],
    ])
  })

  it('names an owner who is gone as that', () => {
    world.people.delete('alice')
    const { notices } = world.start()
    notices.tell(noticeOf({ event: 'ended' }))
    expect(notices.list('bob', ALL)[0]?.body).toMatch(/^The booking by deleted user of gpu0, /)
  })

  it('tells the same once per person, also in another life; another occasion is another thing', () => {
    const again = (notices: Notices) => {
      for (const occasion of ['', '', 'a', 'a']) notices.tell(noticeOf({ event: 'ending_soon', occasion }))
      notices.tell(noticeOf({ event: 'ended' }))
      notices.tell(noticeOf({ event: 'ended', booking: bookingOf({ id: 'r2', memberIds: [] }) }))
      return [told(notices, 'alice').length, told(notices, 'bob').length]
    }
    const first = world.start()
    expect(again(first.notices)).toEqual([4, 3])
    first.store.close()
    expect(again(world.start().notices)).toEqual([4, 3])
  })

  it('tells the local admin where nobody else can decide', () => {
    const { notices } = world.start()
    notices.tell(noticeOf({ event: 'requested' }))
    expect([told(notices, 'root'), told(notices, 'local')]).toEqual([['requested'], []])
    world.people.delete('root')
    notices.tell(noticeOf({ event: 'fallback', booking: bookingOf({ ownerId: 'local', memberIds: [] }) }))
    notices.tell(noticeOf({ event: 'requested', booking: bookingOf({ id: 'r2' }) }))
    expect(told(notices, 'local')).toEqual(['requested', 'fallback'])
    notices.tell(noticeOf({ event: 'requested', booking: bookingOf({ id: 'r3' }), byUserId: 'local' }))
    expect(told(notices, 'local')).toHaveLength(2)
  })

  it('is read up to an id, or all of it, by that person only', () => {
    const { notices } = world.start()
    for (const event of ['approved', 'started', 'ended'] as const) notices.tell(noticeOf({ event }))
    const ids = notices.list('alice', ALL).map(({ id }) => id)
    notices.markRead('alice', ids[1])
    expect([notices.unread('alice'), notices.unread('bob')]).toEqual([1, 3])
    expect(notices.list('alice', { ...ALL, unreadOnly: true }).map(({ event }) => event)).toEqual(['ended'])
    expect(notices.list('alice', ALL)[2]?.read_at).toBe('2026-01-01T00:00:00.000Z')
    notices.markRead('alice', undefined)
    expect(notices.unread('alice')).toBe(0)
  })
})

describe('within a transaction of the caller', () => {
  it('is part of it', () => {
    const { notices, store } = world.start()
    const change = store.db?.transaction((isWell: boolean) => {
      notices.tell(noticeOf())
      if (!isWell) throw new Error('no')
    })
    expect(() => change?.(false)).toThrow('no')
    expect(told(notices, 'alice')).toEqual([])
    change?.(true)
    expect(told(notices, 'alice')).toEqual(['approved'])
  })
})

describe('while the store cannot be written', () => {
  it('waits, is told in the app, and is written when it can be', async () => {
    const { notices, store } = world.start()
    notices.tell(noticeOf({ event: 'approved' }))
    store.db?.pragma('query_only = 1')
    for (const event of ['approved', 'started', 'started', 'ended'] as const) notices.tell(noticeOf({ event }))
    expect(told(notices, 'alice')).toEqual(['ended', 'started', 'approved'])
    expect(notices.unread('alice')).toBe(3)
    await world.place.clock.advance(STORE_RETRY_MS * 3)
    store.db?.pragma('query_only = 0')
    await world.place.clock.advance(STORE_RETRY_MS)
    expect(store.db?.prepare("SELECT count(*) FROM notifications WHERE user_id = 'alice'").pluck().get()).toBe(3)
    expect(told(notices, 'alice')).toEqual(['ended', 'started', 'approved'])
    expect(world.logged.filter((line) => line.includes('cannot be written'))).toHaveLength(1)
    expect(world.place.clock.pendingTimers).toBe(0)
  })

  it('says so when what is there cannot be read', () => {
    const { notices, store } = world.start()
    store.close()
    expect(() => notices.list('alice', ALL)).toThrow(expect.objectContaining({ code: 'lane.store_unavailable' }))
    expect(() => notices.tell(noticeOf())).not.toThrow()
  })

  it('lives in memory without a store: once each, readable, bounded, and nothing is sent', () => {
    world.settings = { webhook: { url: 'http://127.0.0.1:9/' } }
    const { notices } = world.start({ noStore: true })
    for (let look = 0; look < 2; look++) notices.tell(noticeOf({ event: 'started' }))
    notices.markRead('bob', undefined)
    expect([notices.unread('alice'), notices.unread('bob')]).toEqual([1, 0])
    for (let n = 0; n < MAX_WAITING; n++) notices.tell(noticeOf({ booking: bookingOf({ id: `x${n}` }) }))
    expect(notices.list('alice', ALL).length + notices.list('bob', ALL).length).toBe(MAX_WAITING)
    expect(notices.list('alice', ALL)[0]?.reservation_id).toBe(`x${MAX_WAITING - 1}`)
    expect(world.place.clock.pendingTimers).toBe(0)
  })
})

describe('what is kept', () => {
  it('is so many per person', () => {
    const { notices, store } = world.start()
    const many = store.db?.transaction((count: number) => {
      for (let n = 0; n < count; n++) notices.tell(noticeOf({ booking: bookingOf({ id: `n${n}`, memberIds: [] }) }))
    })
    notices.tell(noticeOf({ event: 'ended' }))
    many?.(NOTICES_PER_USER)
    const kept = notices.list('alice', ALL)
    expect([kept.length, kept.at(-1)?.reservation_id]).toEqual([NOTICES_PER_USER, 'n0'])
    expect(told(notices, 'bob')).toEqual(['ended'])
  })

  it.each([
    ['to the millisecond', 0, ['ended', 'approved']],
    ['and not longer', 1, ['ended']],
  ])('is so old at most, %s', async (_, laterMs, events) => {
    const { notices } = world.start()
    notices.tell(noticeOf({ event: 'approved' }))
    world.place.clock.jumpWallClock(NOTICES_KEPT_MS - HOUR_MS + laterMs)
    await world.place.clock.advance(HOUR_MS)
    notices.tell(noticeOf({ event: 'ended' }))
    expect(told(notices, 'alice')).toEqual(events)
  })
})
