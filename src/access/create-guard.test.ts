import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type AccountsWorld, accountsWorld, cookieOf, fakeRequest, LOCAL } from '../../test/support/accounts-world.ts'
import type { AccountRooms } from './create-accounts.ts'
import { createGuard } from './create-guard.ts'
import { createLocalKey } from './local-key.ts'

const PASSWORD = 'correct horse battery'
const OWN = 'http://127.0.0.1:8080'
const STRANGER = '192.168.1.9'

let world: AccountsWorld
let accounts: AccountRooms
const localKey = createLocalKey()
beforeEach(async () => {
  world = accountsWorld()
  ;({ accounts } = await world.start())
})
afterEach(() => world.remove())

const doors = (insecure = false) =>
  createGuard({
    credentials: accounts,
    localKey,
    allowedHosts: () => [],
    trustedProxies: () => world.settings.trustedProxies,
    insecure,
  })

/** What the guard says: who comes in, or code, param and text of the refusal. */
function ask(line: string, headers: Record<string, string> = {}, address = STRANGER, insecure = false) {
  return seen(doors(insecure).guard(fakeRequest(line, headers, address)))
}

function seen(answer: ReturnType<ReturnType<typeof createGuard>['openDoor']>): string {
  if (!answer.ok) return `${answer.error.code} ${answer.error.param ?? '-'}: ${answer.error.message}`
  const caller = answer.value
  if (caller === undefined) return 'nobody known'
  return caller.kind === 'user'
    ? `${caller.name} ${caller.role} ${caller.keyId === undefined ? 'session' : 'key'}`
    : 'local admin'
}

async function keyOf(user: string): Promise<string> {
  return (await accounts.createKey({ name: 'k', user }, LOCAL)).secret
}

describe('while nobody is defined', () => {
  it.each([
    ['GET /api/slots', {}, '127.0.0.1', 'local admin'],
    ['GET /api/slots', { Authorization: 'Bearer anything' }, '127.0.0.1', 'local admin'],
    ['GET /api/slots', {}, STRANGER, 'auth.required'],
    ['GET /api/slots', { Host: 'evil.com' }, '127.0.0.1', 'auth.required host'],
    ['POST /api/session', { Origin: 'http://evil.com' }, '127.0.0.1', 'auth.required origin'],
    ['OPTIONS /v1/models', { Origin: 'http://localhost:3000' }, '127.0.0.1', 'local admin'],
  ] as const)('%s %j from %s: %s', (line, headers, address, expected) => {
    const request = fakeRequest(line, headers, address)
    expect(seen(doors().guard(request))).toContain(expected)
    expect(seen(doors().openDoor(request))).toContain(expected)
  })

  it.each([
    ['GET /api/slots', { Host: 'gpu.lan:8080' }, 'local admin'],
    ['POST /v1/chat/completions', { Host: 'gpu.lan', Origin: 'http://page.example' }, 'local admin'],
    ['POST /api/slots', { Host: 'gpu.lan', Origin: 'http://gpu.lan' }, 'local admin'],
    ['POST /api/slots', { Host: 'gpu.lan', Origin: 'https://gpu.lan' }, 'local admin'],
    ['POST /api/slots', { Host: 'gpu.lan', Origin: 'http://evil.com' }, 'auth.required origin'],
    ['GET /%61pi/slots', { Host: 'gpu.lan', Origin: 'http://evil.com' }, 'auth.required origin'],
    ['GET /metrics', { Host: 'gpu.lan', 'Sec-Fetch-Site': 'cross-site' }, 'auth.required sec-fetch-site'],
    ['GET http://evil.com/', {}, 'auth.required -'],
  ] as const)('--insecure: %s %j: %s', (line, headers, expected) => {
    expect(ask(line, headers, STRANGER, true)).toContain(expected)
    expect(seen(doors(true).openDoor(fakeRequest(line, headers, STRANGER)))).toContain(expected)
  })
})

describe('once users are defined', () => {
  let key: string
  let cookie: string
  beforeEach(async () => {
    await accounts.createUser({ name: 'ann', role: 'admin', password: PASSWORD }, LOCAL)
    await accounts.createUser({ name: 'bob', role: 'member' }, LOCAL)
    key = await keyOf('bob')
    const signedIn = await accounts.signIn({ name: 'ann', password: PASSWORD }, fakeRequest('POST /api/session'))
    cookie = cookieOf(signedIn.cookie)
  })

  it.each([['GET /api/slots'], ['POST /v1/chat/completions'], ['GET /'], ['GET /metrics'], ['GET /api/nothing']])(
    'nobody comes in without a key: %s',
    (line) => {
      for (const address of ['127.0.0.1', STRANGER]) {
        for (const insecure of [false, true]) {
          expect(ask(line, {}, address, insecure)).toBe(
            'auth.required -: This needs a key, and the request carries none.',
          )
        }
      }
    },
  )

  it('a key comes in from everywhere, under every Host, from every page', () => {
    const foreign = { Host: 'gpu.lan', Origin: 'http://evil.com', 'X-Forwarded-For': '1.1.1.1' }
    for (const sent of [
      { Authorization: `Bearer ${key}` },
      { 'x-api-key': key },
      { authorization: `bearer  ${key}`, 'X-Api-Key': key },
    ]) {
      // Twice: the second time it is remembered.
      expect([ask('POST /v1/x', sent), ask('POST /v1/x', { ...sent, ...foreign })]).toEqual([
        'bob member key',
        'bob member key',
      ])
    }
  })

  it('a key in the address is never looked at', () => {
    expect(ask(`GET /api/slots?api_key=${key}`)).toContain('carries none')
    expect(ask(`GET /v1/models?key=${key}&access_token=${key}`)).toContain('carries none')
  })

  it('two that differ are named', async () => {
    const other = await keyOf('ann')
    expect(ask('GET /v1/models', { Authorization: `Bearer ${key}`, 'x-api-key': other })).toMatch(
      /^auth.required x-api-key: .*differ: one as authorization, one as x-api-key/,
    )
    expect(ask('GET /v1/models', { 'x-api-key': key, Cookie: cookie })).toMatch(/^auth.required cookie: .*another/)
    expect(ask('GET /v1/models', { 'x-api-key': other, Cookie: cookie })).toBe('ann admin key')
    expect(ask('GET /v1/models', { 'x-api-key': key, Cookie: 'hal0_session=old' })).toBe('bob member key')
  })

  it('what is wrong with a key is said, and the key is not', async () => {
    const expires_at = new Date(world.clock.nowMs() + 1_000).toISOString()
    const expiring = (await accounts.createKey({ name: 'k', user: 'bob', expires_at }, LOCAL)).secret
    const revoked = await keyOf('bob')
    const tell = (secret: string) => {
      const said = ask('GET /v1/models', { Authorization: `Bearer ${secret}` })
      expect(said).not.toContain(secret)
      return said
    }
    expect([tell(expiring), tell(revoked)]).toEqual(['bob member key', 'bob member key'])
    await accounts.revokeKey(revoked.slice(0, 12), LOCAL)
    await world.clock.advance(1_000)
    expect(tell(revoked)).toMatch(/^auth.required -: The key is not accepted: this key was revoked at /)
    expect(tell(expiring)).toMatch(/this key expired at /)
    expect(tell('sk-made-up-key')).toMatch(/this key is not known/)
    expect(tell('hal0_local_of_yesterday')).toMatch(/daemon.json/)
    await accounts.changeUser('bob', { disabled: true }, LOCAL)
    expect(tell(key)).toMatch(/disabled/)
  })

  it('a new role counts at once', async () => {
    const sent = { 'x-api-key': key }
    expect(ask('GET /api/slots', sent)).toBe('bob member key')
    await accounts.changeUser('bob', { role: 'admin' }, LOCAL)
    expect(ask('GET /api/slots', sent)).toBe('bob admin key')
  })

  it("this machine's own key is the local admin's", () => {
    expect(localKey.secret).toMatch(/^hal0_local_[\w-]{43}$/)
    expect(createLocalKey().secret).not.toBe(localKey.secret)
    expect(ask('DELETE /api/slots/x', { Authorization: `Bearer ${localKey.secret}` })).toBe('local admin')
    expect(ask('DELETE /api/slots/x', { 'x-api-key': `${localKey.secret}x` })).toMatch(/^auth.required/)
  })

  it.each([
    ['GET /api/slots', {}, 'ann admin session'],
    ['POST /api/slots', { Origin: OWN }, 'ann admin session'],
    ['POST /v1/chat/completions', { 'Sec-Fetch-Site': 'same-origin' }, 'ann admin session'],
    ['POST /api/slots', {}, 'auth.forbidden origin'],
    ['POST /api/slots', { Origin: 'http://127.0.0.1:3000' }, 'auth.forbidden origin'],
    ['POST /v1/chat/completions', { Origin: 'http://localhost:3000' }, 'auth.forbidden origin'],
    ['GET /v1/models', { 'Sec-Fetch-Site': 'same-site' }, 'auth.forbidden sec-fetch-site'],
    // An engine's own page has the origin of hal0's.
    ['GET /upstream/agent/x', {}, 'auth.required cookie'],
  ] as const)('a session: %s %j: %s', (line, headers, expected) => {
    expect(ask(line, { ...headers, Cookie: `other=1; ${cookie}` })).toContain(expected)
  })

  it('a session through a proxy: its own name and https count where the proxy is trusted', () => {
    const headers = {
      Cookie: cookie,
      Origin: 'https://hal0.example',
      'X-Forwarded-Host': 'hal0.example',
      'X-Forwarded-Proto': 'https',
    }
    expect(ask('POST /api/slots', headers, '10.0.0.1')).toBe('ann admin session')
    expect(ask('POST /api/slots', headers, '10.0.0.2')).toContain('auth.forbidden origin')
  })

  it('of several sessions the one that counts', () => {
    expect(ask('GET /', { Cookie: `hal0_session=old; ${cookie}` })).toBe('ann admin session')
    expect(ask('GET /', { Cookie: 'hal0_session=old' })).toMatch(/^auth.required cookie: The session has ended/)
  })

  it.each([
    ['GET /api/health', {}, 'nobody known'],
    ['POST /api/session', { 'x-api-key': 'wrong', Cookie: 'hal0_session=old' }, 'nobody known'],
    ['POST /api/session', { Origin: OWN }, 'nobody known'],
    ['POST /api/session', { Origin: 'http://evil.com' }, 'auth.forbidden origin'],
    ['POST /api/session', { 'Sec-Fetch-Site': 'cross-site' }, 'auth.forbidden sec-fetch-site'],
    ['GET http://evil.com/', {}, 'auth.required -'],
  ] as const)('an open door: %s %j: %s', (line, headers, expected) => {
    expect(seen(doors().openDoor(fakeRequest(line, headers, STRANGER)))).toContain(expected)
  })

  it('an open door knows who comes, if they say', () => {
    expect(seen(doors().openDoor(fakeRequest('GET /api/health', { 'x-api-key': key }, STRANGER)))).toBe(
      'bob member key',
    )
  })

  it('hal0 is no proxy', () => {
    expect(ask('GET http://evil.com/v1/models', { 'x-api-key': key })).toMatch(/not a proxy/)
  })

  it('users that cannot be read lock it: this machine alone comes in', async () => {
    accounts = (await world.start({ isOff: true })).accounts
    for (const insecure of [false, true]) {
      expect(ask('GET /api/slots', {}, '127.0.0.1', insecure)).toMatch(/^auth.required -: .*cannot be read/)
      expect(ask('GET /api/slots', { 'x-api-key': key }, '127.0.0.1', insecure)).toMatch(/^auth.required/)
      expect(ask('GET /api/slots', { 'x-api-key': localKey.secret }, STRANGER, insecure)).toBe('local admin')
    }
  })
})
