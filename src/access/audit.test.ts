import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type AccountsWorld, accountsWorld, cookieOf, fakeRequest, LOCAL } from '../../test/support/accounts-world.ts'
import { failure } from '../../test/support/failure.ts'
import { openAuditTable } from './accounts/audit-table.ts'
import { REFUSED_EVERY_MS } from './accounts/audit-trail.ts'
import type { AuditQuery } from './audit.ts'
import type { Caller } from './caller.ts'
import type { AccountRooms } from './create-accounts.ts'

let world: AccountsWorld
beforeEach(() => {
  world = accountsWorld()
})
afterEach(() => world.remove())

const PASSWORD = 'correct horse battery'
const WRONG = 'wrong horse battery'
const HOUR_MS = 3_600_000

function memberOf(accounts: AccountRooms, name: string): Caller {
  const user = accounts.byName(name)
  if (user === undefined) throw new Error(`no ${name}`)
  return { kind: 'user', userId: user.id, name, role: 'member', keyId: 'k' }
}

const typesOf = (accounts: AccountRooms, query: Partial<AuditQuery> = {}) =>
  accounts.audit.list({ limit: 100, ...query }).audit.map(({ type }) => type)

async function withPeople(): Promise<AccountRooms> {
  const { accounts } = await world.start()
  await accounts.createUser({ name: 'ann', role: 'admin', password: PASSWORD }, LOCAL)
  world.clock.jumpWallClock(HOUR_MS)
  await accounts.createUser({ name: 'bob', role: 'member' }, LOCAL)
  world.clock.jumpWallClock(HOUR_MS)
  await accounts.createKey({ name: 'ci', user: 'bob' }, memberOf(accounts, 'bob'))
  accounts.audit.did({ area: 'lanes', message: 'ann did PUT', data: {} }, memberOf(accounts, 'ann'))
  return accounts
}

describe('the audit', () => {
  it('is listed newest first, with who did it', async () => {
    const accounts = await withPeople()
    const { audit, next } = accounts.audit.list({ limit: 100 })
    expect(audit.map(({ type, actor }) => [type, actor?.name])).toEqual([
      ['admin.lanes', 'ann'],
      ['access.key_created', 'bob'],
      ['access.user_created', 'local'],
      ['access.user_created', 'local'],
    ])
    expect(next).toBeNull()
    expect(audit[1]).toMatchObject({
      at: new Date(world.clock.nowMs()).toISOString(),
      message: expect.stringMatching(/^bob made the key hal0_.*… of bob$/),
      data: { user: 'bob' },
    })
  })

  it.each<[string, (nowMs: number, bobId: string) => Partial<AuditQuery>, number]>([
    ['actor', () => ({ actor: 'BOB' }), 1],
    ['actor by id', (_now, id) => ({ actor: id }), 1],
    ['local', () => ({ actor: 'local' }), 2],
    ['nobody', () => ({ actor: 'x' }), 0],
    ['type', () => ({ type: 'access.user_created' }), 2],
    ['beginning', () => ({ type: 'access' }), 3],
    ['half a word', () => ({ type: 'acc' }), 0],
    ['a pattern', () => ({ type: 'access%' }), 0],
    ['since', (nowMs) => ({ sinceMs: nowMs }), 2],
    ['since, 1 ms later', (nowMs) => ({ sinceMs: nowMs + 1 }), 0],
    ['until', (nowMs) => ({ untilMs: nowMs }), 2],
    ['until, 1 ms later', (nowMs) => ({ untilMs: nowMs + 1 }), 4],
    ['a window', (nowMs) => ({ sinceMs: nowMs - HOUR_MS, untilMs: nowMs }), 1],
    ['all of it', (nowMs) => ({ actor: 'local', type: 'access', sinceMs: nowMs - HOUR_MS, untilMs: nowMs }), 1],
  ])('is filtered: %s', async (_name, query, count) => {
    const accounts = await withPeople()
    const bob = accounts.byName('bob')?.id ?? ''
    expect(typesOf(accounts, query(world.clock.nowMs(), bob))).toHaveLength(count)
  })

  it('is read piece by piece, nothing twice and nothing left out', async () => {
    const accounts = await withPeople()
    const whole = accounts.audit.list({ limit: 4 })
    expect(whole.next).toBeNull()
    const ids: number[] = []
    let before: number | undefined
    do {
      const { audit, next } = accounts.audit.list({ limit: 1, before })
      ids.push(...audit.map(({ id }) => id))
      before = next ?? undefined
    } while (before !== undefined)
    expect(ids).toEqual(whole.audit.map(({ id }) => id))
  })

  it('says that it cannot be read', async () => {
    const { accounts } = await world.start({ isOff: true })
    const read = async () => accounts.audit.list({ limit: 1 })
    expect(await failure(read())).toMatchObject({ code: 'lane.store_unavailable', retryAfterS: 60 })
    accounts.audit.did({ area: 'lanes', message: '', data: {} }, LOCAL)
    accounts.audit.refused('GET /api/events', LOCAL)
  })

  it('keeps so many rows, the newest, and no key in any', async () => {
    const { db } = await world.start()
    const table = openAuditTable(db)
    const row = { atMs: 1, byUserId: '', byName: '', message: '', data: {} }
    for (const nth of [1, 2, 3, 4]) table.add({ ...row, type: String(nth) }, { oldestMs: 0, maxRows: 3 })
    expect(table.select({ limit: 9 }).map(({ type }) => type)).toEqual(['4', '3', '2'])
    const key = 'hal0_abcdefghijklmnopqrstuvwxyz'
    table.add({ ...row, type: '5', message: key, data: { name: `"${key}` } }, { oldestMs: 0, maxRows: 3 })
    expect(table.select({ limit: 1 })).toMatchObject([{ message: 'hal0_abcdefg…', data: { name: '"hal0_abcdefg…' } }])
    db.prepare("UPDATE audit SET data = 'nonsense'").run()
    expect(table.select({ limit: 1 })).toMatchObject([{ data: {} }])
  })
})

describe('what is written down', () => {
  it('who was refused, once an hour for each thing', async () => {
    const accounts = await withPeople()
    const bob = memberOf(accounts, 'bob')
    const refused = () => accounts.audit.list({ limit: 100, type: 'access.refused' }).audit
    for (const what of ['GET /api/events', 'GET /api/events', 'GET /api/users']) accounts.audit.refused(what, bob)
    world.clock.jumpWallClock(REFUSED_EVERY_MS - 1)
    accounts.audit.refused('GET /api/events', bob)
    expect(refused()).toHaveLength(2)
    world.clock.jumpWallClock(1)
    accounts.audit.refused('GET /api/events', bob)
    expect(refused().map(({ message }) => message)).toEqual([
      'bob, a member, was refused GET /api/events',
      'bob, a member, was refused GET /api/users',
      'bob, a member, was refused GET /api/events',
    ])
    expect(world.events.filter(({ type }) => type === 'access.refused')).toHaveLength(3)
  })

  it('sign-ins: right, wrong, too many (told once), the end of sessions', async () => {
    const accounts = await withPeople()
    const from = fakeRequest('POST /api/session', {}, '10.1.1.1')
    const { cookie } = await accounts.signIn({ name: 'ann', password: PASSWORD }, from)
    for (let nth = 0; nth < 3; nth++) await failure(accounts.signIn({ name: 'ann', password: WRONG }, from))
    for (let nth = 0; nth < 5; nth++) await failure(accounts.signIn({ name: 'ann', password: WRONG }, from))
    await failure(accounts.signIn({ name: WRONG, password: WRONG }, from))
    await accounts.signOut(fakeRequest('DELETE /api/session', { cookie: cookieOf(cookie) }))
    const elsewhere = fakeRequest('POST /api/session', {}, '10.2.2.2')
    await failure(accounts.signIn({ name: 'ann', password: PASSWORD }, elsewhere))
    const rows = accounts.audit.list({ limit: 100 }).audit.slice(0, 7)
    expect(rows.map(({ type, actor }) => [type, actor?.name])).toEqual([
      ['access.sign_in_limited', 'ann'],
      ['access.signed_out', 'ann'],
      ['access.sign_in_limited', 'ann'],
      ['access.sign_in_failed', 'ann'],
      ['access.sign_in_failed', 'ann'],
      ['access.sign_in_failed', 'ann'],
      ['access.signed_in', 'ann'],
    ])
    expect([rows[0]?.message, rows[2]?.message]).toEqual([
      'Signing in as ann from 10.2.2.2 is refused for a while: too many attempts as this user',
      'Signing in as ann from 10.1.1.1 is refused for a while: too many attempts from this address',
    ])
    world.clock.jumpWallClock(300_000)
    await accounts.signIn({ name: 'ann', password: PASSWORD }, elsewhere)
    await accounts.changeUser('ann', { password: 'another long one' }, LOCAL)
    expect(accounts.audit.list({ limit: 1 }).audit).toMatchObject([
      { data: { changed: ['password'], ended_sessions: 1 } },
    ])
  })

  it('the set-up token that is none, and the one that is', async () => {
    const { accounts } = await world.start()
    const from = fakeRequest('POST /api/session/set-up')
    const token = accounts.setUpToken ?? ''
    await failure(accounts.setUp({ token: 'hal0_setup_wrong', name: 'ann', password: PASSWORD }, from))
    await accounts.setUp({ token, name: 'ann', password: PASSWORD }, from)
    expect(typesOf(accounts)).toEqual([
      'access.signed_in',
      'access.user_created',
      'access.set_up',
      'access.set_up_failed',
    ])
    expect(accounts.audit.list({ limit: 1, type: 'access.set_up_failed' }).audit).toMatchObject([{ actor: null }])
  })

  it('is no key, password or token', async () => {
    const { accounts } = await world.start()
    const from = fakeRequest('POST /api/session')
    const token = accounts.setUpToken ?? 'none'
    const wrongToken = 'hal0_setup_aTokenThatNobodyHas'
    await failure(accounts.setUp({ token: wrongToken, name: 'ann', password: PASSWORD }, from))
    const { cookie } = await accounts.setUp({ token, name: 'ann', password: PASSWORD }, from)
    const ann = memberOf(accounts, 'ann')
    const { secret } = await accounts.createKey({ name: 'ci', user: 'ann' }, LOCAL)
    const feed = await accounts.createCalendarToken(ann)
    // Somebody types the password where the name belongs, until it is too much.
    for (let nth = 0; nth < 6; nth++) await failure(accounts.signIn({ name: 'hunter2horse', password: WRONG }, from))
    await accounts.changeUser('ann', { password: 'another long one' }, LOCAL)
    await accounts.revokeKey(secret.slice(0, 12), LOCAL)
    const session = cookieOf(cookie).replace('hal0_session=', '')
    const text = JSON.stringify(accounts.audit.list({ limit: 100 }))
    expect(text).toContain('access.sign_in_limited')
    expect(text).toContain('access.calendar_token_created')
    for (const hidden of [
      token,
      wrongToken,
      PASSWORD,
      WRONG,
      secret,
      feed,
      session,
      'hunter2horse',
      'another long one',
    ]) {
      expect(text).not.toContain(hidden)
    }
    expect(text).not.toContain('scrypt')
  })
})
