import type { Database } from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type AccountsWorld, accountsWorld, cookieOf, fakeRequest, LOCAL } from '../../test/support/accounts-world.ts'
import { failure } from '../../test/support/failure.ts'
import type { AccountRooms } from './create-accounts.ts'

const PASSWORD = 'correct horse battery'
const HOUR_MS = 3_600_000

let world: AccountsWorld
let accounts: AccountRooms
let db: Database
beforeEach(async () => {
  world = accountsWorld()
  ;({ accounts, db } = await world.start())
  await accounts.createUser({ name: 'ann', role: 'admin', password: PASSWORD }, LOCAL)
})
afterEach(() => world.remove())

const from = (address = '192.168.1.9', headers: Record<string, string> = {}) =>
  fakeRequest('POST /api/session', headers, address)
const signIn = (name = 'ann', password = PASSWORD, address?: string) =>
  accounts.signIn({ name, password }, from(address))
const tokenOf = (cookie: string) => cookieOf(cookie).slice('hal0_session='.length)

describe('signing in', () => {
  it('gives a cookie that stands for the user, and says who', async () => {
    const { cookie, info } = await signIn('ANN')
    expect(cookie).toMatch(
      /^hal0_session=hal0_session_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=34560000$/,
    )
    expect(info).toMatchObject({ kind: 'session', role: 'admin', user: { name: 'ann' }, needs_set_up: false })
    expect(info.expires_at).toBe(new Date(world.clock.nowMs() + 168 * HOUR_MS).toISOString())
    const found = accounts.session(tokenOf(cookie))
    expect(found).toMatchObject({ ok: true, value: { name: 'ann', keyId: undefined } })
    if (found.ok) expect(accounts.info(found.value, from('::1', { Cookie: cookieOf(cookie) }))).toEqual(info)
  })

  it.each([
    ['by http', '192.168.1.9', {}, false],
    ['by a trusted proxy with https', '10.0.0.1', { 'X-Forwarded-Proto': 'https' }, true],
    ['by somebody who says so', '192.168.1.9', { 'X-Forwarded-Proto': 'https' }, false],
  ])('the cookie is for https only where that is known: %s', async (_name, address, headers, isSecure) => {
    const request = from(address, headers)
    const { cookie } = await accounts.signIn({ name: 'ann', password: PASSWORD }, request)
    expect(cookie.includes('; Secure')).toBe(isSecure)
  })

  it.each([
    ['a wrong password', 'ann', 'wrong password', 'ann'],
    ['nobody', 'my secret typed as name', PASSWORD, null],
    ['no password at all', 'bob', PASSWORD, 'bob'],
    ['a disabled user', 'eve', PASSWORD, 'eve'],
  ])('refuses %s in the same words', async (_name, name, password, told) => {
    await accounts.createUser({ name: 'bob', role: 'member' }, LOCAL)
    await accounts.createUser({ name: 'eve', role: 'member', password: PASSWORD }, LOCAL)
    await accounts.changeUser('eve', { disabled: true }, LOCAL)
    const refused = await failure(signIn(name, password))
    expect(refused).toMatchObject({ code: 'auth.required', message: 'The name or the password is wrong.' })
    const event = world.events.at(-1)
    expect(event).toMatchObject({ type: 'access.sign_in_failed', severity: 'warning', data: { name: told } })
    expect(world.told()).not.toContain(password)
    if (told === null) expect(world.told()).not.toContain(name)
  })
})

describe('the limit', () => {
  it('of an address: as many as allowed, then it waits, to the millisecond', async () => {
    for (const name of ['a', 'b', 'c']) await failure(signIn(name, 'wrong'))
    await world.clock.advance(1_000)
    const refused = await failure(signIn())
    expect(refused).toMatchObject({ code: 'auth.rate_limited', retryAfterS: 299 })
    await world.clock.advance(298_999)
    expect(await failure(signIn())).toMatchObject({ code: 'auth.rate_limited', retryAfterS: 1 })
    await world.clock.advance(1)
    await signIn()
  })

  it('of a name: from anywhere; others may go on; success starts it anew', async () => {
    for (const n of [1, 2]) await failure(signIn('ann', 'wrong', `192.168.2.${n}`))
    await signIn('ann', PASSWORD, '192.168.3.1')
    for (const n of [1, 2, 3]) await failure(signIn('ANN', 'wrong', `192.168.4.${n}`))
    expect(await failure(signIn('ann', PASSWORD, '192.168.5.1'))).toMatchObject({ code: 'auth.rate_limited' })
    expect(await failure(signIn('zoe', PASSWORD, '192.168.5.1'))).toMatchObject({ code: 'auth.required' })
  })

  it('a hundred at once gain nothing', async () => {
    const work = Array.from({ length: 100 }, () => signIn('ann', 'wrong'))
    const codes = await Promise.all(work.map(async (one) => (await failure(one)).code))
    expect(codes.filter((code) => code === 'auth.required')).toHaveLength(3)
  })

  it('behind a trusted proxy the client counts, and of IPv6 its network', async () => {
    const through = (address: string) =>
      accounts.signIn({ name: 'x', password: 'wrong' }, from('10.0.0.1', { 'X-Forwarded-For': address }))
    for (const n of [1, 2, 3]) await failure(through(`2001:db8:0:1::${n}`))
    expect(await failure(through('2001:db8:0:1:abcd::1'))).toMatchObject({ code: 'auth.rate_limited' })
    expect(await failure(through('2001:db8:0:2::1'))).toMatchObject({ code: 'auth.rate_limited' })
    expect(
      await failure(
        accounts.signIn({ name: 'y', password: 'w' }, from('10.0.0.1', { 'X-Forwarded-For': '2001:db8:0:2::1' })),
      ),
    ).toMatchObject({ code: 'auth.required' })
  })
})

describe('a session', () => {
  it('ends when it is not used, to the millisecond', async () => {
    const { cookie } = await signIn()
    await world.clock.advance(168 * HOUR_MS - 1)
    expect(accounts.session(tokenOf(cookie)).ok).toBe(true)
    const other = await signIn()
    await world.clock.advance(168 * HOUR_MS)
    expect(accounts.session(tokenOf(other.cookie))).toEqual({ ok: false, error: 'this session has ended' })
  })

  it('moves on while it is used, at most once an hour, also over a start', async () => {
    const { cookie } = await signIn()
    const token = tokenOf(cookie)
    const caller = accounts.session(token)
    const until = () =>
      caller.ok ? accounts.info(caller.value, from('::1', { Cookie: cookieOf(cookie) })).expires_at : ''
    const first = until()
    await world.clock.advance(HOUR_MS - 1)
    accounts.session(token)
    expect(until()).toBe(first)
    await world.clock.advance(1)
    accounts.session(token)
    expect(until()).toBe(new Date(Date.parse(first ?? '') + HOUR_MS).toISOString())
    await world.clock.advance(1_000)
    const again = (await world.start()).accounts
    await world.clock.advance(168 * HOUR_MS - 1_001)
    expect(again.session(token).ok).toBe(true)
  })

  it.each([0.5, 1, 1.5])('of %s h does not end under somebody who uses it', async (hours) => {
    world.settings.sessionHours = hours
    const token = tokenOf((await signIn()).cookie)
    for (let uses = 0; uses < 30; uses++) {
      await world.clock.advance((hours * HOUR_MS) / 10)
      expect([uses, accounts.session(token).ok]).toEqual([uses, true])
    }
    await world.clock.advance(hours * HOUR_MS)
    expect(accounts.session(token).ok).toBe(false)
  })

  it('is cut at its next use where the setting is shorter by then', async () => {
    const token = tokenOf((await signIn()).cookie)
    world.settings.sessionHours = 2
    accounts.session(token)
    await world.clock.advance(2 * HOUR_MS)
    expect(accounts.session(token).ok).toBe(false)
  })

  it('ends by signing out, a new password, disabling, and removing', async () => {
    await accounts.createUser({ name: 'zoe', role: 'admin' }, LOCAL)
    const ends = [
      async (cookie: string) => {
        const cleared = await accounts.signOut(from('::1', { Cookie: cookieOf(cookie) }))
        expect(cleared).toMatch(/^hal0_session=; .*Max-Age=0/)
      },
      () => accounts.changeUser('ann', { password: PASSWORD }, LOCAL),
      () => accounts.changeUser('ann', { disabled: true }, LOCAL),
      () => accounts.removeUser('ann', LOCAL),
    ]
    for (const end of ends) {
      await accounts.changeUser('ann', { disabled: false }, LOCAL)
      const { cookie } = await signIn()
      expect(accounts.session(tokenOf(cookie)).ok).toBe(true)
      await end(cookie)
      expect(accounts.session(tokenOf(cookie)).ok).toBe(false)
      expect((await world.start()).accounts.session(tokenOf(cookie)).ok).toBe(false)
    }
  })

  it('a sign-out counts although the disk fails, and signing out of nothing is fine', async () => {
    const { cookie } = await signIn()
    await accounts.signOut(from())
    expect(accounts.session(tokenOf(cookie)).ok).toBe(true)
    db.close()
    await accounts.signOut(from('::1', { Cookie: cookieOf(cookie) }))
    expect(accounts.session(tokenOf(cookie)).ok).toBe(false)
  })

  it('the oldest of twenty goes', async () => {
    const cookies: string[] = []
    for (let n = 0; n < 21; n++) {
      cookies.push((await signIn()).cookie)
      await world.clock.advance(1)
    }
    const isGood = (store: AccountRooms) => cookies.map((cookie) => store.session(tokenOf(cookie)).ok)
    expect(isGood(accounts)).toEqual([false, ...Array.from({ length: 20 }, () => true)])
    expect(isGood((await world.start()).accounts)).toEqual(isGood(accounts))
  })

  it('tells no secret', async () => {
    const { cookie } = await signIn()
    await accounts.signOut(from('::1', { Cookie: cookieOf(cookie) }))
    expect(world.events.slice(-2).map(({ type }) => type)).toEqual(['access.signed_in', 'access.signed_out'])
    expect(world.told()).not.toContain(tokenOf(cookie))
    expect(world.told()).not.toContain(PASSWORD)
  })
})

describe('set-up', () => {
  it('makes the first admin once, by the token', async () => {
    const fresh = accountsWorld()
    try {
      const { accounts: empty } = await fresh.start()
      const token = empty.setUpToken ?? ''
      expect(token).toMatch(/^hal0_setup_[\w-]{43}$/)
      const body = { name: 'ann', password: PASSWORD }
      expect(await failure(empty.setUp({ ...body, token: 'wrong' }, from()))).toMatchObject({ code: 'auth.required' })
      // A name that is no good does not use it up.
      expect(await failure(empty.setUp({ ...body, name: 'local', token }, from()))).toMatchObject({ param: 'name' })
      const both = await Promise.allSettled([
        empty.setUp({ ...body, token }, from()),
        empty.setUp({ ...body, name: 'eve', token }, from('192.168.7.7')),
      ])
      expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
      expect(empty.users()).toMatchObject([{ name: 'ann', role: 'admin', has_password: true }])
      expect(empty.setUpToken).toBeUndefined()
      expect(await failure(empty.setUp({ ...body, token }, from('192.168.8.8')))).toMatchObject({
        code: 'auth.required',
      })
      expect(fresh.told()).not.toContain(token)
      expect(fresh.events.map(({ type }) => type)).toContain('access.set_up')
    } finally {
      fresh.remove()
    }
  })

  it('is limited as signing in is', async () => {
    const fresh = accountsWorld()
    try {
      const { accounts: empty } = await fresh.start()
      const guess = () => failure(empty.setUp({ name: 'ann', password: PASSWORD, token: 'guess' }, from()))
      const codes = [await guess(), await guess(), await guess(), await guess()].map(({ code }) => code)
      expect(codes).toEqual(['auth.required', 'auth.required', 'auth.required', 'auth.rate_limited'])
    } finally {
      fresh.remove()
    }
  })

  it('who made a user otherwise ends it', async () => {
    expect(accounts.setUpToken).toBeUndefined()
  })
})
