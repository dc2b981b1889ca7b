import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type HookReceiver, startHookReceiver, startSilentServer } from '../../../test/support/notice-receivers.ts'
import {
  bookingOf,
  type NoticesWorld,
  noticeOf,
  noticesWorld,
  person,
  until,
} from '../../../test/support/notices-world.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'
import { UNKNOWN_END } from './delivery-table.ts'
import { ATTEMPT_MS, CLOSE_WAIT_MS, MAX_SENDING, STORE_RETRY_MS } from './delivery-worker.ts'

let world: NoticesWorld
let hook: HookReceiver
beforeEach(async () => {
  world = noticesWorld()
  hook = await startHookReceiver()
  world.settings = { webhook: { url: hook.url, secret: 's3cret-of-the-hook' } }
})
afterEach(async () => {
  await world.remove()
  await hook.close()
})

const toAlice = (id = 'r1') => noticeOf({ booking: bookingOf({ id, memberIds: [] }) })
const look = () => world.place.clock.advance(0)
const isOver = () =>
  world.deliveries().every(({ done_at_ms, last_error }) => done_at_ms !== null || last_error !== UNKNOWN_END)

/** Lets what has been begun end. */
async function ended(count: number): Promise<void> {
  await until(() => hook.got.length >= count && isOver())
}

describe('a webhook', () => {
  it('is sent once per person, with what was told', async () => {
    const { notices } = world.start()
    notices.tell(noticeOf({ event: 'started', detail: 'It is ready.' }))
    await look()
    await ended(2)
    const [first, second] = hook.got.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
    const [row] = notices.list('alice', { unreadOnly: false, limit: 1 })
    expect(first).toEqual({
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/) as string,
      event: 'started',
      reservation: {
        id: 'r1',
        lane: 'gpu0',
        status: 'approved',
        start: '2026-12-01T18:00:00.000Z',
        end: '2026-12-01T20:00:00.000Z',
        target: { kind: 'model', model: 'qwen', profile: 'chat' },
        owner: { id: 'alice', name: 'alice' },
      },
      lane: 'gpu0',
      recipient: { name: 'alice' },
      title: row?.title,
      body: row?.body,
      created_at: row?.created_at,
    })
    expect(second).toMatchObject({ recipient: { name: 'bob' } })
    expect(second?.['id']).not.toBe(first?.['id'])
    expect(world.deliveries()).toMatchObject([{ attempts: 1, next_at_ms: null, last_error: null }, { attempts: 1 }])
    expect(world.place.clock.pendingTimers).toBe(0)
  })

  it.each([
    ['a plain secret', 's3cret', Buffer.from('s3cret')],
    ['one handed out by a service', `whsec_${Buffer.from([1, 2, 255]).toString('base64')}`, Buffer.from([1, 2, 255])],
  ])('is signed with %s', async (_, secret, key) => {
    world.settings = { webhook: { url: hook.url, secret } }
    world.start().notices.tell(toAlice())
    await look()
    await ended(1)
    const none: IncomingHttpHeaders = {}
    const { headers = none, body = '' } = hook.got[0] ?? {}
    expect(headers['webhook-timestamp']).toBe(String(Date.UTC(2026, 0, 1) / SECOND_MS))
    expect(headers['webhook-id']).toBe((JSON.parse(body) as { id: string }).id)
    const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
    expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
    expect(headers['content-type']).toBe('application/json')
  })

  it('without a secret is not signed', async () => {
    world.settings = { webhook: { url: hook.url } }
    world.start().notices.tell(toAlice())
    await look()
    await ended(1)
    expect(hook.got[0]?.headers).not.toHaveProperty('webhook-signature')
  })

  it('is tried again under the same id until it is taken', async () => {
    hook.answer = 500
    world.start().notices.tell(toAlice())
    await look()
    await ended(1)
    const delaysMs = [10 * SECOND_MS, 30 * SECOND_MS, MINUTE_MS]
    for (const [n, delayMs] of delaysMs.entries()) {
      await world.place.clock.advance(delayMs - 1)
      expect(hook.got).toHaveLength(n + 1)
      await world.place.clock.advance(1)
      await ended(n + 2)
    }
    hook.answer = 200
    await world.place.clock.advance(5 * MINUTE_MS)
    await ended(5)
    expect(new Set(hook.got.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(hook.got.map(({ body }) => body)).size).toBe(1)
    expect(new Set(hook.got.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(5)
    expect(world.deliveries()).toMatchObject([{ attempts: 5, next_at_ms: null, last_error: null }])
    expect(world.events).toEqual([])
    await world.place.clock.advance(2 * HOUR_MS)
    expect(hook.got).toHaveLength(5)
  })

  it('that is dead is a problem from the third attempt on, until one goes out', async () => {
    hook.answer = 500
    const { notices } = world.start()
    notices.tell(toAlice())
    await look()
    await ended(1)
    await world.place.clock.advance(10 * SECOND_MS)
    await ended(2)
    expect(notices.problem).toBeUndefined()
    await world.place.clock.advance(30 * SECOND_MS)
    await ended(3)
    expect(notices.problem).toBe(
      'by webhook: a notice (approved) is tried again after 3 attempts, at 2026-01-01T00:00:40.000Z: the webhook answered 500',
    )
    const { settings } = world
    world.settings = {}
    expect(notices.problem).toBeUndefined()
    world.settings = settings
    hook.answer = 404
    notices.tell(toAlice('r2'))
    await look()
    await ended(4)
    expect(notices.problem).toMatch(/ was given up after 1 attempt, at .*: the webhook answered 404$/)
    hook.answer = 204
    notices.tell(toAlice('r3'))
    await look()
    await ended(5)
    expect(notices.problem).toBeUndefined()
  })

  it('is given up after a day, and that is told once', async () => {
    hook.answer = 503
    world.start().notices.tell(toAlice())
    await look()
    await ended(1)
    for (let hour = 0; hour < 30 * 60; hour++) {
      await world.place.clock.advance(MINUTE_MS)
      await until(isOver)
    }
    const [one] = world.deliveries()
    expect(one).toMatchObject({ next_at_ms: null, done_at_ms: null, last_error: 'the webhook answered 503' })
    expect(hook.got).toHaveLength(one?.attempts ?? 0)
    expect(world.events).toMatchObject([{ type: 'notify.failed', severity: 'warning', data: { channel: 'webhook' } }])
    expect(world.place.clock.pendingTimers).toBe(0)
  }, 30_000)

  it.each([400, 404, 410])('that is refused with %i is given up at once', async (status) => {
    hook.answer = status
    world.start().notices.tell(toAlice())
    await look()
    await ended(1)
    expect(world.deliveries()).toMatchObject([
      { attempts: 1, next_at_ms: null, last_error: `the webhook answered ${status}` },
    ])
    expect(world.events).toHaveLength(1)
  })

  it('does not follow a redirect', async () => {
    hook.answer = 307
    world.start().notices.tell(toAlice())
    await look()
    await ended(1)
    expect(hook.got.map(({ path }) => path)).toEqual(['/hooks/t0ken-in-path'])
    expect(world.deliveries()[0]?.next_at_ms).not.toBeNull()
  })

  it('that is not answered is cut off, and tried again', async () => {
    hook.answer = 'never'
    world.start().notices.tell(toAlice())
    await look()
    await until(() => hook.got.length === 1)
    await world.place.clock.advance(ATTEMPT_MS - 1)
    expect(world.deliveries()).toMatchObject([{ last_error: UNKNOWN_END }])
    await world.place.clock.advance(1)
    await until(isOver)
    expect(world.deliveries()).toMatchObject([{ last_error: 'no answer came within 10 s' }])
    expect(world.deliveries()[0]?.next_at_ms).toBe(world.place.clock.nowMs() + 10 * SECOND_MS)
  })

  it('is sent to nobody who may not come in by then, nor where none is set up', async () => {
    hook.answer = 500
    const { notices } = world.start()
    notices.tell(noticeOf())
    await look()
    await ended(2)
    world.people.set('alice', person('alice', { isDisabled: true }))
    world.settings = {}
    await world.place.clock.advance(10 * SECOND_MS)
    expect(world.deliveries().map(({ last_error }) => last_error)).toEqual([
      'the person may not come in any more',
      'no webhook is set up any more',
    ])
    expect([hook.got.length, world.events.length]).toEqual([2, 0])
  })

  it('keeps its secrets', async () => {
    world.settings = { webhook: { url: hook.url.replace('//', '//joe:pa55@'), secret: 's3cret-of-the-hook' } }
    hook.answer = 404
    const { notices } = world.start()
    notices.tell(toAlice())
    await look()
    await ended(1)
    expect(hook.got[0]?.headers.authorization).toBe(`Basic ${Buffer.from('joe:pa55').toString('base64')}`)
    await hook.close()
    notices.tell(toAlice('r2'))
    await look()
    await until(isOver)
    const words = JSON.stringify([world.logged, world.events, world.deliveries()])
    expect(words).toContain('ECONNREFUSED')
    expect(words).not.toMatch(/s3cret|t0ken|pa55|words of the receiver/)
  })
})

describe('the worker', () => {
  it(`sends ${MAX_SENDING} at once, oldest first`, async () => {
    hook.answer = 'never'
    const { notices } = world.start()
    for (const id of ['r1', 'r2', 'r3', 'r4']) notices.tell(toAlice(id))
    await look()
    await until(() => hook.got.length === MAX_SENDING)
    hook.answer = 200
    await world.place.clock.advance(ATTEMPT_MS)
    await until(() => hook.got.length >= 4)
    const ids = hook.got
      .slice(0, 4)
      .map(({ body }) => (JSON.parse(body) as { reservation: { id: string } }).reservation.id)
    expect([ids.slice(0, 2).toSorted(), ids.slice(2).toSorted()]).toEqual([
      ['r1', 'r2'],
      ['r3', 'r4'],
    ])
  })

  it('a mail server that says nothing holds up no webhook', async () => {
    const silent = await startSilentServer()
    world.people.set('alice', person('alice', { email: 'alice@example.org' }))
    const smtp = { host: '127.0.0.1', port: silent.port, from: 'hal0@example.org', tls: 'off' } as const
    world.settings = { ...world.settings, smtp }
    const { notices } = world.start()
    for (const id of ['r1', 'r2', 'r3', 'r4', 'r5']) notices.tell(toAlice(id))
    await look()
    // No time goes by: all five are there while the first mails still wait.
    await until(() => hook.got.length === 5)
    expect(world.deliveries().filter(({ channel, done_at_ms }) => channel === 'smtp' && done_at_ms !== null)).toEqual(
      [],
    )
    await silent.close()
  })

  it('sends what waits although the clock was set back', async () => {
    hook.answer = 500
    world.start().notices.tell(toAlice())
    await look()
    await ended(1)
    world.place.clock.jumpWallClock(-30 * 24 * HOUR_MS)
    await world.place.clock.advance(MINUTE_MS)
    await ended(2)
    expect(hook.got.length).toBeGreaterThan(1)
  })

  it('sends nothing that it could not write down before, and what it could not write after is not sent again', async () => {
    const { notices, store } = world.start()
    notices.tell(toAlice('r1'))
    store.db?.pragma('query_only = 1')
    await look()
    expect(hook.got).toEqual([])
    store.db?.pragma('query_only = 0')
    hook.answer = 'never'
    await world.place.clock.advance(STORE_RETRY_MS)
    await until(() => hook.got.length === 1)
    store.db?.pragma('query_only = 1')
    await world.place.clock.advance(ATTEMPT_MS)
    expect(world.deliveries()).toMatchObject([{ last_error: UNKNOWN_END }])
    store.db?.pragma('query_only = 0')
    hook.answer = 200
    await world.place.clock.advance(STORE_RETRY_MS)
    await ended(2)
    expect(world.deliveries()).toMatchObject([{ attempts: 2, last_error: null }])
  })
})

describe('across a crash', () => {
  it('what was told and not begun is sent by the next life, once', async () => {
    const first = world.start()
    first.notices.tell(toAlice())
    first.store.close()
    const { notices } = world.start()
    notices.tell(toAlice())
    await look()
    await ended(1)
    await world.place.clock.advance(HOUR_MS)
    expect(hook.got).toHaveLength(1)
  })

  it('what was begun and whose end is unknown is not sent again, and says so', async () => {
    hook.answer = 'never'
    const first = world.start()
    first.notices.tell(toAlice())
    await look()
    await until(() => hook.got.length === 1)
    first.store.close()
    hook.answer = 200
    world.start().notices.tell(toAlice())
    await world.place.clock.advance(25 * HOUR_MS)
    expect(hook.got).toHaveLength(1)
    expect(world.deliveries()).toMatchObject([
      { attempts: 1, next_at_ms: null, done_at_ms: null, last_error: UNKNOWN_END },
    ])
  })

  it('what had failed is tried again under the same id, what was taken is not', async () => {
    const first = world.start()
    first.notices.tell(toAlice('r1'))
    await look()
    await ended(1)
    hook.answer = 500
    first.notices.tell(toAlice('r2'))
    await look()
    await ended(2)
    first.store.close()
    hook.answer = 200
    world.start()
    await world.place.clock.advance(10 * SECOND_MS)
    await ended(3)
    expect(hook.got[2]?.headers['webhook-id']).toBe(hook.got[1]?.headers['webhook-id'])
    await world.place.clock.advance(HOUR_MS)
    expect(hook.got).toHaveLength(3)
  })
})

describe('close', () => {
  it('waits for what is being sent, and sends nothing more', async () => {
    hook.answer = 'never'
    const { notices } = world.start()
    notices.tell(noticeOf())
    notices.tell(toAlice('r2'))
    await look()
    await until(() => hook.got.length === 2)
    let isClosed = false
    const closed = notices.close().then(() => {
      isClosed = true
    })
    await world.place.clock.advance(CLOSE_WAIT_MS - 1)
    expect(isClosed).toBe(false)
    await world.place.clock.advance(1)
    await closed
    expect(world.place.clock.pendingTimers).toBeLessThanOrEqual(2)
    await world.place.clock.advance(HOUR_MS)
    expect(hook.got).toHaveLength(2)
    expect(world.deliveries().map(({ attempts }) => attempts)).toEqual([1, 1, 0])
    expect(world.place.clock.pendingTimers).toBe(0)
  })

  it('ends at once when nothing is being sent, and what is told afterwards is kept for the next life', async () => {
    const { notices } = world.start()
    await notices.close()
    await notices.close()
    notices.tell(toAlice())
    await look()
    expect([hook.got.length, world.place.clock.pendingTimers]).toEqual([0, 0])
    world.start()
    await look()
    await ended(1)
  })
})
