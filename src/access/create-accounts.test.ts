import { statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type AccountsWorld, accountsWorld, fakeRequest, LOCAL } from '../../test/support/accounts-world.ts'
import { failure } from '../../test/support/failure.ts'
import { settle } from '../../test/support/manual-clock.ts'
import { Hal0Error } from '../kernel/errors.ts'
import type { Caller } from './caller.ts'
import type { AccountRooms } from './create-accounts.ts'

let world: AccountsWorld
beforeEach(() => {
  world = accountsWorld()
})
afterEach(() => world.remove())

const PASSWORD = 'correct horse battery'

async function callerOf(accounts: AccountRooms, name: string): Promise<Caller> {
  const { secret } = await accounts.createKey({ name: 'test', user: name }, LOCAL)
  const found = accounts.key(secret)
  if (!found.ok) throw new Error(found.error)
  return found.value
}

async function withAnn(): Promise<AccountRooms> {
  const { accounts } = await world.start()
  await accounts.createUser({ name: 'ann', role: 'admin' }, LOCAL)
  return accounts
}

describe('users', () => {
  it('the first is an admin, closes the doors, and is told once', async () => {
    const { accounts } = await world.start()
    expect(accounts.mode).toBe('open')
    expect(accounts.admins()).toMatchObject([{ id: 'local' }])
    expect(await failure(accounts.createUser({ name: 'bob', role: 'member' }, LOCAL))).toMatchObject({
      code: 'validation.invalid',
      param: 'role',
    })
    expect(world.isMarked()).toBe(false)
    const made = await accounts.createUser({ name: 'ann', role: 'admin', password: PASSWORD, key_name: 'first' }, LOCAL)
    await accounts.createUser({ name: 'bob', role: 'member' }, LOCAL)
    expect(made.user).toMatchObject({ name: 'ann', role: 'admin', has_password: true, disabled_at: null })
    expect(made.key?.secret).toMatch(/^hal0_[\w-]{43}$/)
    expect(made.key?.key.prefix).toBe(made.key?.secret.slice(0, 12))
    expect(accounts.mode).toBe('users')
    expect(world.firstUsers).toEqual([made.user.id])
    expect(statSync(world.markerPath).mode & 0o777).toBe(0o600)
    expect(accounts.users().map(({ name }) => name)).toEqual(['ann', 'bob'])
    expect(accounts.byName('ANN')?.id).toBe(made.user.id)
    expect(accounts.byId('local')).toMatchObject({ role: 'admin' })
    expect(accounts.admins().map(({ name }) => name)).toEqual(['ann'])
  })

  it('ten at once: all get in, one of each name, and the first is an admin', async () => {
    const { accounts } = await world.start()
    const work = ['a', 'b', 'a', 'b', 'a'].map((name) =>
      accounts.createUser({ name, role: 'admin', password: PASSWORD }, LOCAL),
    )
    const done = await Promise.allSettled(work)
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    expect(world.firstUsers).toHaveLength(1)
    expect(world.isMarked()).toBe(true)
  })

  it('are there again after a start, with all they had', async () => {
    const before = await withAnn()
    const { secret } = await before.createKey({ name: 'ci', user: 'ann' }, LOCAL)
    await before.changeUser('ann', { email: 'a@b.de', time_zone: 'Europe/Berlin' }, LOCAL)
    const token = await before.createCalendarToken(await callerOf(before, 'ann'))
    const rows = [before.users(), before.keys(LOCAL)]
    before.close()
    const { accounts } = await world.start()
    expect([accounts.users(), accounts.keys(LOCAL)]).toEqual(rows)
    expect(accounts.key(secret).ok).toBe(true)
    expect(accounts.byCalendarToken(token)).toMatchObject({ name: 'ann', timeZone: 'Europe/Berlin' })
  })

  it.each([
    ['role', { role: 'member' }],
    ['disabled', { disabled: true }],
  ] as const)('the last admin stays one: %s', async (param, change) => {
    const accounts = await withAnn()
    await accounts.createUser({ name: 'bob', role: 'member' }, LOCAL)
    const ann = await callerOf(accounts, 'ann')
    expect(await failure(accounts.changeUser('ann', change, ann))).toMatchObject({ code: 'validation.invalid', param })
    expect(await failure(accounts.removeUser('ann', ann))).toMatchObject({ code: 'validation.invalid' })
    expect(await failure(accounts.removeUser('ann', LOCAL))).toMatchObject({ code: 'validation.invalid' })
    await accounts.changeUser('bob', { role: 'admin' }, ann)
    await accounts.changeUser('ann', change, ann)
    expect(accounts.admins().map(({ name }) => name)).toEqual(['bob'])
  })

  it("the only user goes by this machine's own key alone; then hal0 is open, also after a start", async () => {
    const accounts = await withAnn()
    const ann = await callerOf(accounts, 'ann')
    expect(await failure(accounts.removeUser('ann', ann))).toMatchObject({ code: 'validation.invalid' })
    await accounts.removeUser('ann', LOCAL)
    expect([accounts.mode, world.isMarked(), accounts.setUpToken]).toEqual(['open', false, undefined])
    expect((await world.start()).accounts.mode).toBe('open')
  })

  it('a member changes themselves only, and nothing of their rank', async () => {
    const accounts = await withAnn()
    await accounts.createUser({ name: 'bob', role: 'member' }, LOCAL)
    const bob = await callerOf(accounts, 'bob')
    expect(await accounts.changeUser('bob', { email: 'b@c.de' }, bob)).toMatchObject({ email: 'b@c.de' })
    expect(await accounts.changeUser('BOB', { email: null }, bob)).toMatchObject({ email: null })
    for (const work of [
      () => accounts.changeUser('ann', { email: 'x@y.de' }, bob),
      () => accounts.changeUser('nobody', { email: 'x@y.de' }, bob),
      () => accounts.changeUser('bob', { role: 'admin' }, bob),
      () => accounts.changeUser('bob', { disabled: false }, bob),
      () => accounts.createUser({ name: 'eve', role: 'member' }, bob),
      () => accounts.removeUser('bob', bob),
      () => accounts.createKey({ name: 'x', user: 'ann' }, bob),
    ]) {
      expect(await failure(work())).toMatchObject({ code: 'auth.forbidden' })
    }
    expect(() => accounts.keys(bob, 'ann')).toThrow(/needs the role admin/)
    expect(accounts.keys(bob)).toHaveLength(1)
  })

  it('what is wrong is named', async () => {
    const accounts = await withAnn()
    expect(await failure(accounts.changeUser('nobody', {}, LOCAL))).toMatchObject({ param: 'user' })
    expect(await failure(accounts.changeUser('ann', { time_zone: 'Mars/X' }, LOCAL))).toMatchObject({
      param: 'time_zone',
    })
    expect(await failure(accounts.createKey({ name: 'x' }, LOCAL))).toMatchObject({ param: 'user' })
    expect(await failure(accounts.createCalendarToken(LOCAL))).toMatchObject({ param: 'user' })
  })
})

describe('keys', () => {
  it('are good until they expire, to the millisecond', async () => {
    const accounts = await withAnn()
    const untilMs = world.clock.nowMs() + 60_000
    const expires_at = new Date(untilMs).toISOString()
    const { secret } = await accounts.createKey({ name: 'ci', user: 'ann', expires_at }, LOCAL)
    await world.clock.advance(59_999)
    expect(accounts.key(secret).ok).toBe(true)
    await world.clock.advance(1)
    expect(accounts.key(secret)).toEqual({ ok: false, error: `this key expired at ${expires_at}` })
    expect(await failure(accounts.createKey({ name: 'x', user: 'ann', expires_at }, LOCAL))).toMatchObject({
      param: 'expires_at',
    })
  })

  it('end at once when revoked, by id or prefix; twice is once', async () => {
    const accounts = await withAnn()
    const { key, secret } = await accounts.createKey({ name: 'ci', user: 'ann' }, LOCAL)
    expect(accounts.key(secret).ok).toBe(true)
    const row = await accounts.revokeKey(key.prefix, LOCAL)
    expect(accounts.key(secret)).toMatchObject({ ok: false, error: expect.stringContaining('revoked') })
    expect(await accounts.revokeKey(key.id, LOCAL)).toEqual(row)
    expect(world.events.filter(({ type }) => type === 'access.key_revoked')).toHaveLength(1)
  })

  it('of others are unknown to a member, and a whole key is not repeated', async () => {
    const accounts = await withAnn()
    await accounts.createUser({ name: 'bob', role: 'member' }, LOCAL)
    const { key, secret } = await accounts.createKey({ name: 'ci', user: 'ann' }, LOCAL)
    const bob = await callerOf(accounts, 'bob')
    expect(await failure(accounts.revokeKey(key.id, bob))).toMatchObject({ code: 'validation.invalid', param: 'key' })
    const refused = await failure(accounts.revokeKey(secret, bob))
    expect(refused.message).not.toContain(secret)
    expect(accounts.key(secret).ok).toBe(true)
  })

  it('of a disabled user do not count, and count again afterwards', async () => {
    const accounts = await withAnn()
    await accounts.createUser({ name: 'bob', role: 'member' }, LOCAL)
    const { secret } = await accounts.createKey({ name: 'ci', user: 'bob' }, LOCAL)
    expect(accounts.key(secret).ok).toBe(true)
    await accounts.changeUser('bob', { disabled: true }, LOCAL)
    expect(accounts.key(secret)).toEqual({ ok: false, error: 'the user of this key is disabled' })
    await accounts.changeUser('bob', { disabled: false, role: 'admin' }, LOCAL)
    expect(accounts.key(secret)).toMatchObject({ ok: true, value: { role: 'admin' } })
    await accounts.removeUser('bob', LOCAL)
    expect(accounts.key(secret)).toEqual({ ok: false, error: 'this key is not known' })
  })

  it('say when they were used last, to the minute, off the path of requests', async () => {
    const { accounts, db } = await world.start()
    await accounts.createUser({ name: 'ann', role: 'admin' }, LOCAL)
    const { secret } = await accounts.createKey({ name: 'ci', user: 'ann' }, LOCAL)
    const stored = () => db.prepare('SELECT last_used_at_ms FROM keys').pluck().get()
    const startMs = world.clock.nowMs()
    accounts.key(secret)
    await world.clock.advance(59_999)
    accounts.key(secret)
    expect(stored()).toBeNull()
    await world.clock.advance(1)
    expect(stored()).toBe(startMs)
    accounts.key(secret)
    await world.clock.advance(30_000)
    accounts.key(secret)
    expect(accounts.keys(LOCAL)[0]?.last_used_at).toBe(new Date(startMs + 60_000).toISOString())
    accounts.close()
    expect(stored()).toBe(startMs + 60_000)
    expect(world.clock.pendingTimers).toBe(0)
  })
})

describe('when the store fails', () => {
  it('while it runs: keys and sessions go on, changes are 503, and nothing is half done', async () => {
    const { accounts, db } = await world.start()
    await accounts.createUser({ name: 'ann', role: 'admin' }, LOCAL)
    const { secret } = await accounts.createKey({ name: 'ci', user: 'ann' }, LOCAL)
    db.close()
    expect(accounts.key(secret).ok).toBe(true)
    for (const work of [
      () => accounts.createUser({ name: 'bob', role: 'member', password: PASSWORD }, LOCAL),
      () => accounts.changeUser('ann', { email: 'x@y.de' }, LOCAL),
      () => accounts.createKey({ name: 'x', user: 'ann' }, LOCAL),
      () => accounts.removeUser('ann', LOCAL),
    ]) {
      expect(await failure(work())).toMatchObject({ code: 'lane.store_unavailable', retryAfterS: 60 })
    }
    expect(accounts.users()).toMatchObject([{ name: 'ann', email: null }])
    expect(accounts.keys(LOCAL)).toHaveLength(1)
    expect(accounts.mode).toBe('users')
  })

  it('at the first user: no marker is left behind', async () => {
    const { accounts, db } = await world.start()
    db.close()
    await failure(accounts.createUser({ name: 'ann', role: 'admin' }, LOCAL))
    expect([accounts.mode, world.isMarked()]).toEqual(['open', false])
  })

  it.each(['off', 'empty', 'broken'] as const)('at the start, with users before: locked (%s)', async (how) => {
    const { db } = await world.start().then(async (first) => {
      await first.accounts.createUser({ name: 'ann', role: 'admin', password: PASSWORD }, LOCAL)
      return first
    })
    if (how === 'empty') db.exec('DELETE FROM users')
    if (how === 'broken') db.exec('ALTER TABLE keys RENAME COLUMN hash TO hush')
    const { accounts } = await world.start({ isOff: how === 'off' })
    expect(accounts.mode).toBe('locked')
    expect(accounts.setUpToken).toBeUndefined()
    const event = world.events.find(({ type }) => type === 'access.locked')
    expect(event).toMatchObject({ severity: 'error', message: expect.stringContaining(world.markerPath) })
    // No users are listed, and that must not look as if there were none.
    expect(accounts.users()).toEqual([])
    expect(accounts.info(LOCAL, fakeRequest('GET /api/session'))).toEqual({
      ...{ kind: 'local', role: 'admin', user: null, needs_set_up: false, expires_at: null },
      ...{ state: 'locked', lock: event?.message },
    })
    expect(accounts.lock).toBe(event?.message)
    const again = accounts.createUser({ name: 'zoe', role: 'admin' }, LOCAL)
    if (how === 'empty') {
      await again
      expect([accounts.mode, accounts.lock]).toEqual(['users', undefined])
      expect(accounts.info(LOCAL, fakeRequest('GET /api/session'))).toMatchObject({
        kind: 'local',
        state: 'users',
        lock: null,
      })
    } else {
      expect(await failure(again)).toMatchObject({ code: 'lane.store_unavailable' })
      expect([accounts.mode, world.isMarked()]).toEqual(['locked', true])
    }
  })

  it('broken and without a marker it is locked too; off without one it is open', async () => {
    const { db } = await world.start()
    expect((await world.start({ isOff: true })).accounts.mode).toBe('open')
    db.exec('ALTER TABLE users RENAME COLUMN role TO rule')
    expect((await world.start()).accounts.mode).toBe('locked')
  })

  it('a marker that is gone is written again', async () => {
    await withAnn()
    await rm(world.markerPath)
    await world.start()
    await expect.poll(() => world.isMarked()).toBe(true)
  })

  it('a marker of any kind counts', async () => {
    writeFileSync(world.markerPath, '')
    expect((await world.start()).accounts.mode).toBe('locked')
  })
})

describe('what is told', () => {
  it('every change is an event and a row of the audit, kept 400 days', async () => {
    const { accounts, db } = await world.start()
    await accounts.createUser({ name: 'ann', role: 'admin', key_name: 'k' }, LOCAL)
    const types = () => db.prepare('SELECT type FROM audit ORDER BY id').pluck().all()
    expect(types()).toEqual(['access.user_created', 'access.key_created'])
    expect(world.events.map(({ type, source }) => [type, source])).toEqual([
      ['access.user_created', 'access'],
      ['access.key_created', 'access'],
    ])
    world.clock.jumpWallClock(400 * 86_400_000)
    await accounts.changeUser('ann', { email: 'a@b.de' }, LOCAL)
    expect(types()).toHaveLength(3)
    world.clock.jumpWallClock(1)
    await accounts.changeUser('ann', { email: 'a@c.de' }, LOCAL)
    expect(types()).toEqual(['access.user_changed', 'access.user_changed'])
  })

  it('holds no secret, and neither does the database', async () => {
    const { accounts, db } = await world.start()
    const made = await accounts.createUser({ name: 'ann', role: 'admin', password: PASSWORD, key_name: 'k' }, LOCAL)
    const { secret } = await accounts.createKey({ name: 'ci', user: 'ann' }, LOCAL)
    const token = await accounts.createCalendarToken(await callerOf(accounts, 'ann'))
    await accounts.changeUser('ann', { password: 'another long one' }, LOCAL)
    await accounts.revokeKey(secret.slice(0, 12), LOCAL)
    await settle()
    const stored = JSON.stringify(
      ['users', 'keys', 'sessions', 'audit', 'calendar_tokens'].map((name) =>
        db.prepare(`SELECT * FROM ${name}`).all(),
      ),
    )
    for (const hidden of [PASSWORD, 'another long one', secret, made.key?.secret ?? 'none', token]) {
      expect(world.told()).not.toContain(hidden)
      expect(stored).not.toContain(hidden)
    }
    expect(world.told()).not.toContain('scrypt')
  })

  it('a new calendar token ends the last one; in open mode there is one for this machine', async () => {
    const { accounts } = await world.start()
    const first = await accounts.createCalendarToken(LOCAL)
    expect(accounts.byCalendarToken(first)?.id).toBe('local')
    const second = await accounts.createCalendarToken(LOCAL)
    expect([accounts.byCalendarToken(first), accounts.byCalendarToken(second)?.id]).toEqual([undefined, 'local'])
    await accounts.createUser({ name: 'ann', role: 'admin' }, LOCAL)
    expect(accounts.byCalendarToken(second)).toBeUndefined()
    expect(accounts.byCalendarToken('')).toBeUndefined()
  })
})

describe('who is deleted or disabled', () => {
  it('has their bookings ended before, and the audit says how many', async () => {
    const accounts = await withAnn()
    const bob = (await accounts.createUser({ name: 'bob', role: 'member' }, LOCAL)).user.id
    world.onUserGone = () => 2
    await accounts.changeUser('bob', { email: 'b@example.org' }, LOCAL)
    expect(world.goneUsers).toEqual([])
    await accounts.changeUser('bob', { disabled: true }, LOCAL)
    await accounts.changeUser('bob', { disabled: true }, LOCAL)
    await accounts.removeUser('bob', LOCAL)
    expect(world.goneUsers).toEqual([
      [bob, 'disabled', 2],
      [bob, 'deleted', 2],
    ])
    const told = world.events.filter(({ data }) => data['released_reservations'] === 2)
    expect(told.map(({ message }) => message)).toEqual([
      'local changed disabled of bob; 2 open reservations of theirs were cancelled or ended',
      'local removed the user bob; 2 open reservations of theirs were cancelled or ended',
    ])
  })

  it('stays while their bookings cannot be ended; the last admin stays with theirs', async () => {
    const accounts = await withAnn()
    await accounts.createUser({ name: 'bob', role: 'member' }, LOCAL)
    world.onUserGone = () => {
      throw Hal0Error.of('lane.store_unavailable', 'not now', { retryAfterS: 1 })
    }
    for (const work of [accounts.removeUser('bob', LOCAL), accounts.changeUser('bob', { disabled: true }, LOCAL)]) {
      expect(await failure(work)).toMatchObject({ code: 'lane.store_unavailable' })
    }
    expect(accounts.byName('bob')).toMatchObject({ isDisabled: false })
    world.goneUsers.length = 0
    expect(await failure(accounts.removeUser('ann', LOCAL))).toMatchObject({ code: 'validation.invalid' })
    expect(world.goneUsers).toEqual([])
  })
})
